# Automatic summarization by the worker: load, large statements, the option, functions
# that fail, many tables.
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
# Steady load from several sessions, in small transactions.  Each goes on when not two
# batches are left to do, which somebody must have seen to: however slow the machine is.  Who waits
# asks for a value, or the worker would take its time for what nobody reads.
#
sql('CREATE INDEX t_v ON t USING rencoder (v) WITH (pages_per_range = 8)');
sql(qq{CREATE PROCEDURE load(n int, seed int) LANGUAGE plpgsql AS \$\$
	DECLARE
		patience timestamptz;
	BEGIN
		SET enable_seqscan = off;
		FOR i IN 1 .. n LOOP
			PERFORM grow(1 + i % 3, seed + i);
			COMMIT;
			patience := clock_timestamp()
				+ $PostgreSQL::Test::Utils::timeout_default * interval '1 s';
			WHILE (SELECT unindexed >= $LIMIT
				FROM rencoder_candidates('t_v', 0::int8, 0::int8)) LOOP
				IF clock_timestamp() > patience THEN
					RAISE EXCEPTION 'nobody indexes';
				END IF;
				PERFORM FROM t WHERE v = i;
				PERFORM pg_sleep(0.005);
				COMMIT;
			END LOOP;
		END LOOP;
	END \$\$});
my @inserters = map { start_sql($node, "CALL load(700, $seed + $_ * 1000)") } 1 .. 3;
wait_until($WORKERS, '1', 'the load has a worker');
my $most_workers = 0;
my $loads = 1;
while ($loads > 0)
{
	(my $workers, $loads) = split /\|/,
	  sql("SELECT ($WORKERS), count(*) FROM pg_stat_activity WHERE query ~ '^CALL'");
	$most_workers = $workers if $workers > $most_workers;
}
finish_sql($_, 'inserting session') foreach @inserters;
cmp_ok(pages('t_v'), '>', 500, 'there was a load');
cmp_ok($most_workers, '<=', 1, 'never two workers');
wait_for_tail('t_v', 'after the load');
wait_until("SELECT count(*) < 30 FROM rencoder_runs('t_v') WHERE kind = 'base'", 't',
	'the worker merges what it has made');
sql("SELECT rencoder_index_check('t_v', true)");
compare_many_with_seqscan($node, 'postgres',
	[ map { "SELECT * FROM t WHERE v = hashint8extended(1, $seed + 1000 + $_ * 17)" } 1 .. 20 ],
	'rows of the steady load');
wait_until($WORKERS, '0', 'the worker ends when idle');

#
# One large statement, over before a worker that has just started is done.
#
sql('DROP INDEX t_v; CREATE INDEX t_v ON t USING rencoder (v)
	WITH (pages_per_range = 1)');
sql("SELECT grow(3000, $seed)");
wait_for_tail('t_v', 'after one large statement');
sql("SELECT rencoder_index_check('t_v', true)");

#
# The option.
#
sql('TRUNCATE t; ALTER INDEX t_v SET (autosummarize = off)');
wait_until($WORKERS, '0', 'no worker');
sql("SELECT grow(100, $seed)");
# A worker that comes for something else takes requests in their order.
sql(q{CREATE TABLE other (v int8, filler text) WITH (fillfactor = 10);
	ALTER TABLE other ALTER filler SET STORAGE plain;
	CREATE INDEX other_v ON other USING rencoder (v) WITH (pages_per_range = 1)});
sql("INSERT INTO other SELECT v, filler FROM t");
wait_for_tail('other_v', 'another table is indexed');
wait_until($WORKERS, '0', 'the worker ends when nothing is left');
is(unindexed('t_v'), pages('t_v'), 'autosummarize off: nothing is indexed');
sql('ALTER INDEX t_v SET (autosummarize = on)');
sql("SELECT grow(1, $seed)");
wait_for_tail('t_v', 'autosummarize on: the worker makes up for what was left');
sql("SELECT rencoder_index_check('t_v', true)");

#
# A function that fails.
#
sql(q{TRUNCATE t; CREATE INDEX t_fails ON t USING rencoder (of_sessions(v))
	WITH (pages_per_range = 1);
	DROP INDEX t_v});
my $log = -s $node->logfile;
sql("$SESSION SELECT grow(30, $seed)");
# The log has this statement too.
ok($node->poll_query_until('postgres',
		"SELECT pg_read_file('" . $node->logfile
		  . "', $log, 100000000) LIKE '%ERROR:  not in a ' || 'session of the test%'"),
	'the worker logs the failure');
sql('CREATE INDEX t_v ON t USING rencoder (v) WITH (pages_per_range = 1)');
sql("$SESSION SELECT grow(30, $seed + $_)") foreach 1 .. 5;
wait_for_tail('t_v', 'other indexes are served');
is(unindexed('t_fails'), pages('t_fails'), 'nothing was indexed of the one that fails');
my $messages = slurp_file($node->logfile, $log);
# Next time it is after a minute, if the test is still here then.
my @seconds = map { my ($h, $m, $s) = split /:/; 3600 * $h + 60 * $m + $s }
  $messages =~ /^\S+ ([\d:.]+) .*ERROR:  not in a session of the test/mg;
cmp_ok(scalar @seconds, '>', 0, 'the error is in the log');
is(scalar(grep { ($seconds[$_] - $seconds[$_ - 1]) % 86400 < 30 } 1 .. $#seconds), 0,
	'it is not tried again at once');
like($messages, qr/CONTEXT:.*automatic maintenance of index "postgres\.public\.t_fails"/s,
	'context of the error');
is(sql('SELECT count(*) FROM t'), '180', 'all rows were inserted');
sql("$SESSION VACUUM t");
is(unindexed('t_fails'), '0', 'VACUUM in a session indexes');
sql("$SESSION SELECT rencoder_index_check('t_fails', true)");
sql('DROP INDEX t_fails');

#
# Many tables: more than there is room for requests.
#
sql(q{CREATE TABLE p (part int, v int8, filler text) PARTITION BY LIST (part);
	CREATE INDEX p_v ON p USING rencoder (v) WITH (pages_per_range = 1);
	DO $$ BEGIN
		FOR i IN 1 .. 300 LOOP
			EXECUTE format('CREATE TABLE p%s PARTITION OF p FOR VALUES IN (%s)', i, i);
			EXECUTE format('ALTER TABLE p%s ALTER filler SET STORAGE plain', i);
		END LOOP; END $$});
my $small = sql(q{SELECT sum(pg_relation_size(indexrelid)) FROM pg_index
	WHERE indrelid::regclass::text ~ '^p[0-9]'});
sql(q{INSERT INTO p SELECT i, n, repeat('x', 7000)
	FROM generate_series(1, 7) n, generate_series(1, 300) i});
is(sql(q{SELECT sum(pg_relation_size(indexrelid)) FROM pg_index
	WHERE indrelid::regclass::text ~ '^p[0-9]'}),
	$small, 'tables that are too small for a batch have nothing in their indexes');
sql(q{INSERT INTO p SELECT i, n, repeat('x', 7000)
	FROM generate_series(1, 13) n, generate_series(1, 300) i});
wait_until(q{SELECT count(*) FROM pg_index, rencoder_candidates(indexrelid, 0::int8, 0::int8)
	WHERE indrelid::regclass::text ~ '^p[0-9]' AND unindexed > 0},
	'0', 'all of 300 partitions are indexed');
sql('DROP TABLE p');

$node->stop;
done_testing();
