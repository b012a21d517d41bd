-- pgbench -n -f between.sql -D table=T -D column=C -D min=0 -D max=999999 -D length=100 -T 60
-- An interval of "length" values of an integer column, placed evenly between min and max.
\set lo random(:min, :max)
\set hi :lo + :length - 1
SELECT * FROM :table WHERE :column BETWEEN :lo AND :hi;
