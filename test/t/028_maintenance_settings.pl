# Settings under which others must not stop what keeps an index: timeouts of a database,
# and parallel VACUUM.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderTest;
use Test::More;

my $node = new_node('main', conf => q{
	min_parallel_index_scan_size = 0
	max_parallel_maintenance_workers = 4
});

sub sql
{
	my ($sql, %params) = @_;

	return $node->safe_psql('postgres', $sql, %params);
}

sub unindexed
{
	my ($index) = @_;

	return "SELECT greatest(pg_relation_size(indrelid) / current_setting('block_size')::int"
	  . " - frontier, 0) FROM pg_index, rencoder_metapage('$index')"
	  . " WHERE indexrelid = '$index'::regclass";
}

#
# Timeouts: a slice takes the worker 0.1 s, which is more than any of them.
#
my @timeouts = split /\n/, sql(q{SELECT name FROM pg_settings
	WHERE name IN ('statement_timeout', 'transaction_timeout',
	'lock_timeout', 'idle_in_transaction_session_timeout', 'idle_session_timeout') ORDER BY name});
cmp_ok(scalar @timeouts, '>=', 4, "timeouts: @timeouts");
sql(q{CREATE TABLE t (v int8, filler text) WITH (fillfactor = 10);
	ALTER TABLE t ALTER filler SET STORAGE plain;
	CREATE FUNCTION slow_in_worker(v int8) RETURNS int8 LANGUAGE plpgsql IMMUTABLE AS $$
	BEGIN
		IF current_setting('rencodertest.session', true) IS DISTINCT FROM 'on' THEN
			PERFORM pg_sleep(0.0125);
		END IF;
		RETURN v;
	END $$;
	CREATE INDEX t_slow ON t USING rencoder (slow_in_worker(v))
		WITH (pages_per_range = 1)});
my $log = -s $node->logfile;
# In one session, which began without them.
sql(join "\n", (map { "ALTER DATABASE postgres SET $_ = '50ms';" } @timeouts),
	q{SET rencodertest.session = on;
	INSERT INTO t SELECT g, repeat('x', 1000) FROM generate_series(1, 100) g;
	DO $$ BEGIN
		FOR i IN 1 .. 1800 LOOP
			IF (SELECT frontier >= pg_relation_size('t') / current_setting('block_size')::int
				FROM rencoder_metapage('t_slow')) THEN
				RETURN;
			END IF;
			PERFORM pg_sleep(0.1);
		END LOOP;
	END $$;},
	(map { "ALTER DATABASE postgres RESET $_;" } @timeouts));
is(sql(unindexed('t_slow')), '0', 'the worker has done its work');
my $messages = slurp_file($node->logfile, $log);
unlike($messages,
	qr/(?:terminating connection|canceling statement) due to|exited with exit code [1-9]/,
	'no timeout has ended it');
sql('DROP TABLE t');

#
# A function with an EXCEPTION block cannot run in parallel mode.  VACUUM leaves such an
# index to the worker.
#
sql(q{CREATE FUNCTION number(x text) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS
	$$ BEGIN RETURN x::bigint; EXCEPTION WHEN OTHERS THEN RETURN NULL; END $$;
	CREATE TABLE e (a text, b bigint, filler text);
	INSERT INTO e SELECT g::text, g, repeat('x', 500) FROM generate_series(1, 3000) g;
	CREATE INDEX e_number ON e USING rencoder (number(a))
		WITH (pages_per_range = 1, autosummarize = off);
	CREATE INDEX e_part ON e USING rencoder (b)
		WITH (pages_per_range = 1, autosummarize = off)
		WHERE number(a) > 10;
	CREATE INDEX e_safe ON e USING rencoder ((b + 1))
		WITH (pages_per_range = 1, autosummarize = off);
	CREATE INDEX e_b ON e USING rencoder (b)
		WITH (pages_per_range = 1, autosummarize = off);
	INSERT INTO e SELECT g::text, g, repeat('x', 500) FROM generate_series(3001, 6000) g});
my ($out, $err);
$node->psql('postgres', 'VACUUM (PARALLEL 4, VERBOSE) e', stdout => \$out,
	stderr => \$err, on_error_stop => 1);
like($err, qr/launched \d+ parallel vacuum workers? for index (?:vacuuming|cleanup)/,
	'VACUUM was parallel');
unlike($err, qr/ERROR/, 'and without an error');
like($err, qr/index "e_number" is not maintained by a parallel VACUUM/,
	'a notice says what is left out');
is(sql(unindexed('e_b')), '0', 'plain columns are indexed');
is(sql(unindexed('e_safe')), '0', 'so are expressions that are parallel safe');
cmp_ok(sql(unindexed($_)), '>', 100, "$_ is left out") foreach 'e_number', 'e_part';
sql('VACUUM (PARALLEL 0) e');
is(sql(unindexed($_)), '0', "$_: VACUUM that is not parallel") foreach 'e_number', 'e_part';

sql(q{INSERT INTO e SELECT g::text, g, repeat('x', 500) FROM generate_series(6001, 9000) g;
	ALTER INDEX e_number SET (autosummarize = on)});
$node->psql('postgres', 'VACUUM (PARALLEL 4, VERBOSE) e', stdout => \$out,
	stderr => \$err, on_error_stop => 1);
unlike($err, qr/ERROR|"e_number" is not maintained/, 'another parallel VACUUM');
ok($node->poll_query_until('postgres', unindexed('e_number'), '0'),
	'where it may, the worker does it');
compare_many_with_seqscan($node, 'postgres',
	[ map {
			("SELECT * FROM e WHERE number(a) = $_",
				"SELECT * FROM e WHERE b = $_ AND number(a) > 10",
				"SELECT * FROM e WHERE b + 1 = $_") }
		1, 11, 2999, 5000, 8999 ], 'rows');
sql("SELECT rencoder_index_check('$_', true)") foreach 'e_number', 'e_part', 'e_safe', 'e_b';

$node->stop;
done_testing();
