-- The oldest rows, so that the table stays of one size, and some others.
\set k random(0, 29999)
DELETE FROM t WHERE v = v_of(:k) OR id < (SELECT last_value FROM t_id) - 16000;
