# What others do while the worker works: it is cancelled, terminated, and never in the way
# of DDL, VACUUM, DROP EXTENSION and DROP DATABASE.
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
# Cancel, terminate.  A slice of 8 rows takes the worker 0.1 s.
#
make_busy('cancel');
my $pid = sql($WORKER_PID);
my $log = -s $node->logfile;
sql("SELECT pg_cancel_backend($pid)");
wait_until($BUSY, '0', 'canceled');
like(slurp_file($node->logfile, $log), qr/ERROR:  canceling statement due to user request/,
	'the log says so');
is(sql($WORKER_PID), $pid, 'it is the same worker');
wait_until($BUSY, '1', 'it stays, and tries again after a minute');
is(sql($WORKER_PID), $pid, 'it is the same worker still');
sql("SELECT pg_terminate_backend($pid)");
wait_until($WORKERS, '0', 'terminated');
make_busy('after a termination');
isnt(sql($WORKER_PID), $pid, 'it is another worker');

#
# DDL meanwhile waits for a turn of the worker at most, which is the slices that it begins
# within 0.2 s or a group of 128 rows, and is not in the way of the others.  VACUUM does not
# wait at all.  The worker stands still until the others wait for it.
#
my $ROWS = 'SELECT last_value FROM slow_calls';
my $gate = $node->background_psql('postgres');
foreach my $ddl ('ALTER INDEX t_slow SET (autosummarize = off)',
	'TRUNCATE t', 'REINDEX INDEX t_slow', 'DROP INDEX t_slow', 'DROP TABLE t CASCADE')
{
	make_busy($ddl);
	$log = -s $node->logfile;
	$gate->query_safe('SELECT pg_advisory_lock(1)');
	wait_until("$WORKERS AND wait_event = 'advisory'", '1', "$ddl: the worker stands still");
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

	make_busy('VACUUM');
	$gate->query_safe('SELECT pg_advisory_lock(1)');
	wait_until("$WORKERS AND wait_event = 'advisory'", '1', 'VACUUM: the worker stands still');
	sql('VACUUM (TRUNCATE off, INDEX_CLEANUP off) t');
	is(sql("$WORKERS AND wait_event = 'advisory'"), '1', 'VACUUM: it still does');
	$gate->query_safe('SELECT pg_advisory_unlock(1)');
}
$gate->quit;
is(sql('SELECT count(*) FROM pg_class WHERE relname ~ \'^t_\''), '0', 'all are gone');

#
# DROP EXTENSION and DROP DATABASE, while the worker is idle and while it works.
#
foreach my $how ('idle', 'busy')
{
	sql('CREATE DATABASE other');
	sql("CREATE EXTENSION rencoder; $SCHEMA", 'other');
	sql('CREATE INDEX t_v ON t USING rencoder (slow_in_worker(v))
		WITH (pages_per_range = 1, storage = filter)',
		'other');
	sql("$SESSION SELECT grow(" . ($how eq 'idle' ? 80 : 400) . ", $seed)", 'other');
	wait_until($BUSY, '1', "$how: there is a worker");
	wait_until($BUSY, '0', "$how: it has nothing to do") if $how eq 'idle';
	is(sql("SELECT count(*) FROM pg_stat_activity WHERE datname = 'other' "
	  . "AND backend_type = 'rencoder worker'"),
		'1', "$how: it is connected");
	$log = -s $node->logfile;
	if ($how eq 'idle')
	{
		sql("DROP EXTENSION rencoder CASCADE; INSERT INTO t VALUES (1)", 'other');
		is(sql('SELECT count(*) FROM pg_indexes WHERE tablename = \'t\'', 'other'), '0',
			'DROP EXTENSION');
	}
	# Fails after 5 seconds with somebody connected.
	sql('DROP DATABASE other');
	unlike(slurp_file($node->logfile, $log), qr/ERROR|FATAL|PANIC|WARNING/, "$how: no errors");
}

$node->stop;
done_testing();
