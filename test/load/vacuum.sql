\set r random(0, 2)
\if :r = 0
VACUUM (INDEX_CLEANUP on) t;
\else
VACUUM t;
\endif
