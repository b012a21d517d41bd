\set r random(0, 330000)
\set ms random(1, 50)
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT look_by_cursor(:r, :ms);
COMMIT;
