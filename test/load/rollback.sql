\set k random(0, 1000000)
BEGIN;
SELECT put(40, :k);
SAVEPOINT a;
UPDATE t SET v = v + 1, few = 40 WHERE v = v_of(:k % 30000);
ROLLBACK TO a;
SELECT put(3, :k + 1);
ROLLBACK;
