\set r random(0, 9)
\if :r = 0
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
SELECT drop_invalid_indexes();
