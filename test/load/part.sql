-- A part of the table is read again.
\set r random(0, 1000000)
\set from random(0, 300)
\set n random(1, 60)
BEGIN;
LOCK TABLE t IN SHARE UPDATE EXCLUSIVE MODE;
SELECT rencoder_compact(some_index(:r), :from, :from + :n)
FROM rencoder_metapage(some_index(:r)) WHERE frontier >= :from;
COMMIT;
