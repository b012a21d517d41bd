-- Taking the lock to truncate the table may take VACUUM five seconds.
\set r random(0, 5)
\if :r = 0
VACUUM t;
\elif :r = 1
VACUUM (INDEX_CLEANUP on, TRUNCATE off) t;
\else
VACUUM (TRUNCATE off) t;
\endif
