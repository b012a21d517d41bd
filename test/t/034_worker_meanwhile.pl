# What others do while the worker works: it is never in the way of DDL, VACUUM, DROP EXTENSION and
# DROP DATABASE.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderTest;
use RencoderWorker;
use Test::More;
use Time::HiRes qw(usleep);

my $node = start_node();
my $seed = seed();

#
# DDL meanwhile waits for a turn of the worker at most, which is 64 pages that it reads, of a row
# each, and is not in the way of the others.  VACUUM does not wait at all.  The worker stands still
# until the others wait for it.
#
my $gate = $node->background_psql('postgres');
my $ROWS = 'SELECT last_value FROM slow_calls';
foreach my $ddl ('ALTER INDEX t_slow SET (autosummarize = off)',
	'TRUNCATE t', 'REINDEX INDEX t_slow', 'DROP INDEX t_slow', 'DROP TABLE t CASCADE')
{
	make_busy($ddl, $gate);
	my $log = -s $node->logfile;
	sql('CREATE TABLE rows_then (n bigint)');
	my $session = start_sql($node, "$SESSION SET deadlock_timeout = '10ms';
		BEGIN; $ddl; INSERT INTO rows_then $ROWS; COMMIT");
	wait_until("SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'relation'
			AND pid <> ($WORKER_PID)", '1', "$ddl: waits for the worker");
	my $before = sql($ROWS);
	$gate->query_safe('SELECT pg_advisory_unlock(1)');
	finish_sql($session, "$ddl: is done");
	my $rows = sql('SELECT n FROM rows_then; DROP TABLE rows_then') - $before;
	cmp_ok($rows, '<=', 128, "$ddl: the worker went on for $rows rows");
	sql("$SESSION SELECT grow(1, $seed)") if $ddl !~ /DROP TABLE/;
	wait_until($BUSY, '0', "$ddl: the worker leaves it alone");
	unlike(slurp_file($node->logfile, $log), qr/ERROR|FATAL|PANIC|WARNING/, "$ddl: no errors");
	next if $ddl !~ /ALTER/;

	make_busy('VACUUM', $gate);
	sql('VACUUM (TRUNCATE off, INDEX_CLEANUP off) t');
	is(sql("$WORKERS AND wait_event = 'advisory'"), '1', 'VACUUM: it still does');
	$gate->query_safe('SELECT pg_advisory_unlock(1)');
}
$gate->quit;
is(sql('SELECT count(*) FROM pg_class WHERE relname ~ \'^t_\''), '0', 'all are gone');

#
# DROP EXTENSION and DROP DATABASE, while the worker is idle and while it works.
#
# Until the worker of the other database is busy; or idle, with nothing left to do.  It leaves
# some seconds later: if nobody has looked meanwhile, it gets more.
sub meet_worker
{
	my ($how) = @_;
	my $left = q{SELECT unindexed FROM rencoder_candidates('t_v', 0::int8, 0::int8)};

	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		my $done = sql($left, 'other') == 0;
		my $state = sql("SELECT state FROM pg_stat_activity WHERE datname = 'other' "
		  . "AND backend_type = 'rencoder worker'");

		return 1 if $how eq 'idle' ? $done && $state eq 'idle' : !$done && $state eq 'active';
		sql("$SESSION SELECT grow(80, $seed)", 'other') if $done && $state eq '';
		usleep(100_000);
	}
	return 0;
}

foreach my $how ('idle', 'busy')
{
	sql('CREATE DATABASE other');
	sql("CREATE EXTENSION rencoder; $SCHEMA", 'other');
	sql('CREATE INDEX t_v ON t USING rencoder (slow_in_worker(v))
		WITH (pages_per_range = 1)',
		'other');
	# Of the latter it has a minute's work.
	sql("$SESSION SELECT grow(" . ($how eq 'idle' ? 80 : 4000) . ", $seed)", 'other');
	ok(meet_worker($how), "$how: the worker is connected");
	my $log = -s $node->logfile;
	if ($how eq 'idle')
	{
		sql("DROP EXTENSION rencoder CASCADE; INSERT INTO t VALUES (1)", 'other');
		is(sql('SELECT count(*) FROM pg_indexes WHERE tablename = \'t\'', 'other'), '0',
			'DROP EXTENSION');
	}
	without_others($node, 'DROP DATABASE other');
	my $messages = slurp_file($node->logfile, $log);
	$messages =~ s/^.*ERROR:  database "other" is being accessed by other users$//mg;
	unlike($messages, qr/ERROR|FATAL|PANIC|WARNING/, "$how: no errors");
}

#
# Somebody else maintains an index for long: the worker serves another meanwhile, though only it
# can (an inserter evaluates no expression), and then this one.
#
sql("$SCHEMA CREATE TABLE t2 (LIKE t INCLUDING ALL) WITH (fillfactor = 10)");
sql("$SESSION SELECT grow(80, $seed); CREATE INDEX t_slow ON t USING rencoder (slow_in_worker(v))
	WITH (pages_per_range = 1)");
sql('CREATE INDEX t2_v ON t2 USING rencoder ((v + 0))
	WITH (pages_per_range = 1)');
$gate = $node->background_psql('postgres');
$gate->query_safe('SELECT pg_advisory_lock(1)');
my $maintainer = start_sql($node, "SELECT rencoder_compact('t_slow', 0, 1)");
my $waits = q{SELECT count(*) FROM pg_stat_activity
	WHERE wait_event = 'advisory' AND backend_type = 'client backend'};
wait_until($waits, '1', 'maintained: it stands still');
sql("$SESSION SELECT grow(40, $seed)");
wait_until($WORKERS, '1', 'maintained: the worker is there');
foreach my $turn (1 .. 2)
{
	sql("INSERT INTO t2 (v, filler) SELECT i, repeat('x', 1000) FROM generate_series(1, 80) i");
	wait_until("SELECT unindexed FROM rencoder_candidates('t2_v', 0::int8, 0::int8)", '0',
		"maintained: another index is served, turn $turn");
}
is(sql($waits), '1', 'maintained: it stood still until now');
$gate->query_safe('SELECT pg_advisory_unlock(1)');
finish_sql($maintainer, 'maintained: it goes on');
wait_until("SELECT unindexed FROM rencoder_candidates('t_slow', 0::int8, 0::int8)", '0',
	'maintained: the worker comes back to it');
sql("$SESSION SELECT rencoder_index_check('t_slow', true), rencoder_index_check('t2_v', true)");
$gate->quit;

$node->stop;
done_testing();
