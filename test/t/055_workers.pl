# Workers of many databases: never more than rencoder.max_workers, all databases have their turn,
# and nothing is lost by it.
#
# The index has an expression, which no session evaluates for rows of others: what is indexed
# was indexed by a worker.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderTest;
use RencoderWorker;
use Test::More;

my $node = start_node();
my $seed = seed();
my $PUT_OFF = qr/LOG:  put off automatic maintenance of index "\w+\.public\.\w+"/;
my $PARALLEL = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'parallel worker'";
my @databases = map { "d$_" } 1 .. 12;

# All sessions of the test, but no worker.
$ENV{PGOPTIONS} = '-c rencodertest.session=on';

# Places of its own for each worker, of which another statement can take all; and what the queue
# counts when a worker comes.
$node->append_conf('postgresql.conf', "max_worker_processes = 5
max_logical_replication_workers = 0
max_parallel_workers = 5
log_min_messages = debug1
rencoder.max_workers = 2");
$node->restart;
sql('CREATE DATABASE base');
sql("CREATE EXTENSION rencoder; $SCHEMA
	CREATE INDEX t_slow ON t USING rencoder (slow_in_worker(v))
		WITH (pages_per_range = 1)", 'base');
without_others($node, "CREATE DATABASE $_ TEMPLATE base") foreach @databases;

# The setting, for workers that start from now on.
sub set_max_workers
{
	my ($n) = @_;

	$node->append_conf('postgresql.conf', "rencoder.max_workers = $n");
	$node->reload;
	until (sql(q{LOAD 'rencoder'; SHOW rencoder.max_workers}) eq $n) { }
	return;
}

sub left
{
	my ($dbname) = @_;

	return sql(q{SELECT unindexed FROM rencoder_candidates('t_slow', 0::int8, 0::int8)},
		$dbname);
}

sub wait_until_served
{
	my ($name, @waiting) = @_;
	my $served = grep {
		$node->poll_query_until($_, 'SELECT unindexed = 0 AND table_pages > 0
			FROM rencoder_candidates(\'t_slow\', 0::int8, 0::int8)')
	} @waiting;

	is($served, scalar @waiting, $name);
	return;
}

# The worker of a database stands still, until the session lets it go on.
sub stop_worker_of
{
	my ($dbname) = @_;
	my $gate = $node->background_psql($dbname);

	$gate->query_safe('SELECT pg_advisory_lock(1)');
	sql("SELECT grow(40, $seed)", $dbname);
	wait_until("$WORKERS AND wait_event = 'advisory' AND datname = '$dbname'", '1',
		"the worker of $dbname is busy");
	return $gate;
}

sub let_go_on
{
	my ($gate) = @_;

	$gate->query_safe('SELECT pg_advisory_unlock(1)');
	$gate->quit;
	return;
}

# The most workers that the queue has counted in the log, and how many came.
sub workers_in_log
{
	my ($log) = @_;
	my $most = 0;
	my @came = slurp_file($node->logfile, $log) =~ /rencoder worker (\d+) of at most/g;

	foreach (@came)
	{
		$most = $_ if $_ > $most;
	}
	return ($most, scalar @came);
}

#
# Load in all databases.
#
my $log = -s $node->logfile;
my @sessions = map { start_sql($node, "DO \$\$ BEGIN FOR i IN 1 .. 10 LOOP
	PERFORM grow(8, $seed + i); COMMIT; END LOOP; END \$\$", $_) } @databases;
my %left = map { $_ => 1 } @databases;
my $most = 0;
my $looks = $PostgreSQL::Test::Utils::timeout_default;
while (%left && $looks-- > 0)
{
	foreach (keys %left)
	{
		my $workers = sql($WORKERS);

		$most = $workers if $workers > $most;
		delete $left{$_}
		  if sql(q{SELECT unindexed = 0 AND table_pages = 80
			FROM rencoder_candidates('t_slow', 0::int8, 0::int8)}, $_) eq 't';
	}
}
finish_sql($_, 'inserting session') foreach @sessions;
is(join(' ', sort keys %left), '', 'all databases are served');
is($most, 2, 'never more than two workers to be seen');
my ($most_in_log, $came) = workers_in_log($log);
is($most_in_log, 2, 'never more than two workers that the queue has counted');
cmp_ok($came, '>=', 12, 'each database had a worker');
sql(q{SELECT rencoder_index_check('t_slow', true)}, $_) foreach @databases;

#
# Jobs that never end, in as many databases as there may be workers.
#
$log = -s $node->logfile;
my $first  = stop_worker_of('d1');
my $second = stop_worker_of('d2');
sql("SELECT grow(40, $seed)", $_) foreach qw(d3 d4);
wait_until_served('others are served', qw(d3 d4));
like(slurp_file($node->logfile, $log), $PUT_OFF, 'the jobs were put off');
cmp_ok(left($_), '>', 0, "$_ waits") foreach qw(d1 d2);

let_go_on($_) foreach $first, $second;
wait_until_served('those that were put off are served after that', qw(d1 d2));

#
# Another setting.
#
set_max_workers(3);
my @gates = map { stop_worker_of($_) } qw(d3 d4 d5);
wait_until("$WORKERS AND wait_event = 'advisory'", '3', 'raised: three workers at the same time');
set_max_workers(1);
$log = -s $node->logfile;
sql("SELECT grow(40, $seed)", 'd6');
wait_until_served('lowered: another database is served', 'd6');
wait_until("SELECT ($WORKERS) <= 1", 't', 'lowered: one worker');
is((workers_in_log($log))[0], 1, 'lowered: one worker that the queue has counted');
let_go_on($_) foreach @gates;
wait_until_served('those that were put off are served', qw(d3 d4 d5));

#
# No workers, then databases that wait, one of which is dropped.
#
set_max_workers(0);
wait_until($WORKERS, '0', 'no workers');
sql("SELECT grow(40, $seed)", $_) foreach qw(d5 d6);
is(sql($WORKERS), '0', 'there is still none');
cmp_ok(left('d6'), '>', 0, 'd6 waits');
without_others($node, 'DROP DATABASE d5');
set_max_workers(1);
$log = -s $node->logfile;
sql("SELECT grow(40, $seed)", 'd7');
wait_until_served('the dropped database is in nobody\'s way', qw(d6 d7));
my @fatal = slurp_file($node->logfile, $log) =~ /FATAL: .*/g;
is(scalar(grep { !/database \S+ does not exist/ } @fatal), 0, 'no other worker has failed')
  or diag(join "\n", @fatal);

#
# The server has no place for another worker: who has one keeps it.
#
my $hold = $node->background_psql('postgres');
sql(q{CREATE FUNCTION hold(v int8) RETURNS boolean LANGUAGE plpgsql PARALLEL SAFE AS $$
	BEGIN
		PERFORM pg_advisory_lock_shared(2), pg_advisory_unlock_shared(2);
		RETURN true;
	END $$;
	CREATE TABLE par (v int8, filler text) WITH (fillfactor = 10, parallel_workers = 5);
	ALTER TABLE par ALTER filler SET STORAGE plain;
	INSERT INTO par SELECT i, repeat('x', 1000) FROM generate_series(1, 1000) i});

# A statement of so many processes, which ends when the session lets it.
sub take_places
{
	my ($places) = @_;

	$hold->query_safe('SELECT pg_advisory_lock(2)');
	my $session = start_sql($node, q{SET max_parallel_workers_per_gather = 5;
		SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;
		SET parallel_leader_participation = off; SELECT count(*) FROM par WHERE hold(v)});
	wait_until("$PARALLEL AND wait_event = 'advisory'", $places, "$places places are taken");
	return $session;
}

sub free_places
{
	my ($session) = @_;

	$hold->query_safe('SELECT pg_advisory_unlock(2)');
	finish_sql($session, 'the statement ends');
	return;
}

my $gate = stop_worker_of('d8');
my $pid = sql($WORKER_PID);
$log = -s $node->logfile;
my $statement = take_places(4);
sql("SELECT grow(40, $seed)", 'd9');
ok($node->poll_query_until('postgres', "SELECT pg_read_file('" . $node->logfile
	  . "', $log, 100000000) LIKE '%put off automatic maint' || 'enance%'"),
	'the worker would leave');
is(sql($WORKER_PID), $pid, 'but it stays');
free_places($statement);
wait_until_served('it leaves when another one may come', 'd9');
let_go_on($gate);
wait_until_served('and its database is served', 'd8');

# Nobody has one: whoever inserts next asks for all that wait.
wait_until($WORKERS, '0', 'no worker');
$statement = take_places(5);
sql("SELECT grow(40, $seed)", 'd10');
is(sql($WORKERS), '0', 'no worker can be had');
free_places($statement);
sql("SELECT grow(40, $seed)", 'd11');
wait_until_served('both are served', qw(d10 d11));

sql(q{SELECT rencoder_index_check('t_slow', true)}, $_) foreach grep { $_ ne 'd5' } @databases;
$hold->quit;
$node->stop;
done_testing();
