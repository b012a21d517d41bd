-- One at a time: two at once wait for each other, and only one gets through.
\set r random(0, 9)
SELECT pg_try_advisory_lock(1)::int AS alone \gset
-- After a deadlock all of this is tried again, and REINDEX would warn of what it left.
\if :alone = 1
SELECT drop_invalid_indexes();
\endif
\if :alone = 0
\sleep 1 ms
\elif :r = 0
REINDEX TABLE t;
\elif :r = 1
REINDEX INDEX t_v;
\elif :r = 2
REINDEX TABLE CONCURRENTLY t;
\elif :r < 5
REINDEX INDEX CONCURRENTLY t_v;
\elif :r = 5
REINDEX INDEX CONCURRENTLY t_p;
\elif :r = 6
REINDEX INDEX CONCURRENTLY t_half;
\elif :r = 7
REINDEX INDEX CONCURRENTLY t_s;
\else
REINDEX INDEX CONCURRENTLY t_few_v;
\endif
SELECT pg_advisory_unlock_all();
