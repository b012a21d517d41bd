-- Tests that compare an index with a sequential scan begin so.
\getenv seed RENCODER_SEED
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
\set compare :abs_srcdir '/sql/include/compare.sql'
\i :compare
SELECT setseed(mod(:'seed'::numeric, 1000003) / 1000003) \gset ignored_
