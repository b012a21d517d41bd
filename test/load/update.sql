-- Of indexed columns, to values of other rows and to new ones; and of none (HOT).
\set k random(0, 29999)
\set r random(0, 1000000)
\set n :r % 3
\if :n = 0
UPDATE t SET v = v_of(:r % 30000), p = p_of(:r % 30000) WHERE v = v_of(:k);
\elif :n = 1
UPDATE t SET s = 'new ' || :r, few = nullif(:r % 60, 50) WHERE v = v_of(:k);
\else
UPDATE t SET filler = 'y' WHERE v = v_of(:k);
\endif
