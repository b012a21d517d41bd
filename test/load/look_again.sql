-- An old snapshot.
\set r random(0, 330000)
\set ms random(1, 200)
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT look(:r);
\sleep :ms ms
SELECT look(:r), look(:r + 1), look(:r + 2), look(:r + 3);
COMMIT;
