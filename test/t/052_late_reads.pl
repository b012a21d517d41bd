# The range that a table ends in, while the table grows and scans read it: the worker indexes
# it when they have read much of the tail in vain.  Without that it would wait until the table is
# quiet, which it never is here.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderTest;
use RencoderWorker;
use Test::More;

my $node = start_node();
my $seed = seed();

#
# The load grows by a page and asks for values that are not there, until it has grown by 64, and
# hardly any is left unindexed (the last one always is), twice: so what comes after the first time
# has been seen to as well.
#
# The index is made of nothing, so the worker is also who has its scans counted.  Without autovacuum
# nobody else does.
#
sql('ALTER TABLE t SET (autovacuum_enabled = off)');
sql('CREATE INDEX t_v ON t USING rencoder (v) WITH (pages_per_range = 32)');
sql("SELECT grow(1100, $seed)");
sql(qq{CREATE PROCEDURE load_and_read(seed int) LANGUAGE plpgsql AS \$\$
	DECLARE
		patience timestamptz := clock_timestamp()
			+ $PostgreSQL::Test::Utils::timeout_default * interval '1 s';
		first bigint := (SELECT table_pages FROM rencoder_candidates('t_v', 0::int8, 0::int8));
		i int := 0;
		found bigint;
		c record;
	BEGIN
		PERFORM set_config('enable_seqscan', 'off', false),
			set_config('enable_indexscan', 'off', false);
		LOOP
			i := i + 1;
			PERFORM grow(1, seed + i);
			FOR q IN 1 .. 20 LOOP
				SELECT count(*) INTO found FROM t WHERE v = -q - i * 100;
			END LOOP;
			COMMIT;
			SELECT table_pages, unindexed INTO c
				FROM rencoder_candidates('t_v', 0::int8, 0::int8);
			EXIT WHEN c.table_pages >= first + 64 AND c.unindexed <= 4;
			IF clock_timestamp() > patience THEN
				RAISE EXCEPTION 'nobody indexes the tail: % of % pages are left',
					c.unindexed, c.table_pages;
			END IF;
			PERFORM pg_sleep(0.01);
			COMMIT;
		END LOOP;
	END \$\$});
foreach my $turn (1 .. 2)
{
	finish_sql(start_sql($node, "CALL load_and_read($seed + $turn * 10000)"),
		"turn $turn: the tail is indexed while it grows");
}
cmp_ok(sql("SELECT scans FROM rencoder_index_stats('t_v')"), '>', 0, 'scans are counted');
sql("SELECT rencoder_index_check('t_v', true)");
compare_many_with_seqscan($node, 'postgres',
	[ map { "SELECT * FROM t WHERE v = hashint8extended(1, $seed + 10000 + $_)" } 1 .. 20 ],
	'rows of the load');

$node->stop;
done_testing();
