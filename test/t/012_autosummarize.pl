# Automatic summarization: the worker, and what it must not disturb.
#
# What a session does itself is in sql/autosummarize.sql.
use strict;
use warnings;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderTest;
use Test::More;
use Time::HiRes qw(usleep);

# Two batches of 8 block ranges.
my $LIMIT = 16;

my $node = new_node('main');
my $seed = rnd(1_000_000);

sub sql
{
	my ($sql, $dbname) = @_;

	return $node->safe_psql($dbname // 'postgres', $sql);
}

sub unsummarized
{
	my ($index) = @_;

	return sql("SELECT unsummarized FROM rencoder_candidates('$index', 0::int8, 0::int8)");
}

sub ranges
{
	my ($index) = @_;

	return sql("SELECT ranges FROM rencoder_candidates('$index', 0::int8, 0::int8)");
}

my $WORKERS = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'rencoder worker'";

# Until the query gives the result.
sub wait_until
{
	my ($query, $expected, $name) = @_;

	ok($node->poll_query_until('postgres', $query, $expected), $name);
	return;
}

sub wait_for_tail
{
	my ($index, $name) = @_;

	return wait_until("SELECT unsummarized < $LIMIT FROM rencoder_candidates('$index', 0::int8, 0::int8)",
		't', $name);
}

sub start_sql
{
	my ($sql, $dbname) = @_;
	my ($in, $out, $err) = ('', '', '');

	return {
		err    => \$err,
		handle => IPC::Run::start(
			[ 'psql', '-XqAt', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr($dbname // 'postgres'), '-c', $sql ],
			'<', \$in, '>', \$out, '2>', \$err)
	};
}

sub finish_sql
{
	my ($client, $name) = @_;

	$client->{handle}->finish;
	is(${ $client->{err} }, '', $name);
	return;
}

# In every database: tables of one row a page, so that n rows fill n pages.
my $SCHEMA = q{
	CREATE TABLE t (id bigserial, v int8, filler text) WITH (fillfactor = 10);
	ALTER TABLE t ALTER filler SET STORAGE plain;
	CREATE OR REPLACE FUNCTION grow(n int, seed int) RETURNS void LANGUAGE sql AS $$
		INSERT INTO t (v, filler)
		SELECT hashint8extended(i, seed), repeat('x', 1000) FROM generate_series(1, n) i
	$$;
	-- Whatever the worker evaluates it for: an error, or delay.
	CREATE OR REPLACE FUNCTION of_sessions(v int8) RETURNS int8 LANGUAGE plpgsql IMMUTABLE AS $$
	BEGIN
		IF current_setting('rencodertest.session', true) IS DISTINCT FROM 'on' THEN
			RAISE EXCEPTION 'not in a session of the test';
		END IF;
		RETURN v;
	END $$;
	CREATE OR REPLACE FUNCTION slow_in_worker(v int8) RETURNS int8 LANGUAGE plpgsql IMMUTABLE AS $$
	BEGIN
		IF current_setting('rencodertest.session', true) IS DISTINCT FROM 'on' THEN
			PERFORM pg_sleep(0.0125);
			PERFORM nextval('public.slow_calls');
		END IF;
		RETURN v;
	END $$;
	-- Unlogged: no transaction gets an id by it.
	CREATE UNLOGGED SEQUENCE IF NOT EXISTS slow_calls;
};
my $SESSION = 'SET rencodertest.session = on;';
sql($SCHEMA);

#
# Steady load from several sessions, in small transactions.
#
sql('CREATE INDEX t_v ON t USING rencoder (v) WITH (pages_per_range = 8)');
# For as long as it takes to look at it often enough.
sql('CREATE TABLE go (x int); INSERT INTO go VALUES (1)');
my @inserters = map {
	start_sql(qq{DO \$\$ BEGIN
		FOR i IN 1 .. 100000 LOOP
			EXIT WHEN i > 700 AND NOT EXISTS (SELECT FROM go);
			PERFORM grow(1 + i % 3, $seed + $_ * 1000 + i);
			COMMIT;
			PERFORM pg_sleep(0.005);
		END LOOP; END \$\$})
} 1 .. 3;
wait_until("SELECT count(*) > 0 FROM pg_stat_activity WHERE query ~ '^DO'", 't', 'the load has begun');
my ($most, $most_workers, $looks, $sum) = (0, 0, 0, 0);
for (my $inserting = 1; $inserting;)
{
	sql('DELETE FROM go') if $looks == 30;
	(my $left, my $workers, $inserting) = split /\|/,
	  sql("SELECT unsummarized, ($WORKERS),
			(SELECT count(*) FROM pg_stat_activity WHERE query ~ '^DO')
		FROM rencoder_candidates('t_v', 0::int8, 0::int8)");
	$most = $left if $left > $most;
	$most_workers = $workers if $workers > $most_workers;
	$sum += $left;
	$looks++;
}
finish_sql($_, 'inserting session') foreach @inserters;
cmp_ok(ranges('t_v'), '>', 500, 'there was a load');

# Who holds the maintainer lock may lose the CPU, and the others go on meanwhile.
cmp_ok($sum / $looks, '<', $LIMIT, sprintf 'not two batches are unsummarized, on average of many looks: %.1f ranges', $sum / $looks);
cmp_ok($most, '<', 128, "never a group: at most $most ranges");
is($most_workers, 1, 'one worker');
my $sealed = sql("SELECT count(*) FROM rencoder_groups('t_v') WHERE sealed AND storage = 'matrix'");
cmp_ok($sealed, '>=', int((ranges('t_v') - $LIMIT) / 128), "full groups are matrices: $sealed");
sql("SELECT rencoder_index_check('t_v', true)");
compare_many_with_seqscan($node, 'postgres',
	[ map { "SELECT * FROM t WHERE v = hashint8extended(1, $seed + 1000 + $_ * 17)" } 1 .. 20 ],
	'rows of the steady load');
wait_until($WORKERS, '0', 'the worker ends when idle');

#
# One large statement, over before a worker that has just started is done.
#
sql('DROP INDEX t_v; CREATE INDEX t_v ON t USING rencoder (v) WITH (pages_per_range = 1)');
sql("SELECT grow(3000, $seed)");
wait_for_tail('t_v', 'after one large statement');
sql("SELECT rencoder_index_check('t_v', true)");

#
# The option.
#
sql('TRUNCATE t; ALTER INDEX t_v SET (autosummarize = off)');
wait_until($WORKERS, '0', 'no worker');
sql("SELECT grow(100, $seed)");
usleep(500_000);
is(sql($WORKERS), '0', 'autosummarize off: no worker');
is(unsummarized('t_v'), ranges('t_v'), 'autosummarize off: nothing is summarized');
sql('ALTER INDEX t_v SET (autosummarize = on)');
sql("SELECT grow(1, $seed)");
wait_for_tail('t_v', 'autosummarize on: the worker makes up for what was left');
sql("SELECT rencoder_index_check('t_v', true)");

#
# A function that fails.
#
sql(q{TRUNCATE t; CREATE INDEX t_fails ON t USING rencoder (of_sessions(v)) WITH (pages_per_range = 1);
	DROP INDEX t_v});
my $log = -s $node->logfile;
sql("$SESSION SELECT grow(30, $seed)");
# The log has this statement too.
ok($node->poll_query_until('postgres',
		"SELECT pg_read_file('" . $node->logfile . "', $log, 100000000) LIKE '%ERROR:  not in a ' || 'session of the test%'"),
	'the worker logs the failure');
sql('CREATE INDEX t_v ON t USING rencoder (v) WITH (pages_per_range = 1)');
sql("$SESSION SELECT grow(30, $seed + $_)") foreach 1 .. 5;
wait_for_tail('t_v', 'other indexes are served');
is(unsummarized('t_fails'), ranges('t_fails'), 'nothing was summarized of the one that fails');
my $messages = slurp_file($node->logfile, $log);
is(scalar(() = $messages =~ /ERROR:  not in a session of the test/g), 1, 'it is not tried again at once');
like($messages, qr/CONTEXT:.*automatic summarization of index with OID/s, 'context of the error');
is(sql('SELECT count(*) FROM t'), '180', 'all rows were inserted');
sql("$SESSION VACUUM t");
is(unsummarized('t_fails'), '0', 'VACUUM in a session summarizes');
sql("$SESSION SELECT rencoder_index_check('t_fails', true)");
sql('DROP INDEX t_fails');

#
# Cancel, terminate.  A slice of 8 rows takes the worker 0.1 s.
#
my $BUSY = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'rencoder worker' AND state = 'active' AND wait_event = 'PgSleep'";
my $WORKER_PID = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'rencoder worker'";

sub make_busy
{
	my ($name) = @_;

	sql("$SESSION TRUNCATE t; DROP INDEX IF EXISTS t_slow;
		CREATE INDEX t_slow ON t USING rencoder (slow_in_worker(v)) WITH (pages_per_range = 1)");
	sql("$SESSION SELECT grow(400, $seed)");
	wait_until($BUSY, '1', "$name: the worker is busy");
	return;
}

# It would stay for another try of the index that fails.
sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'rencoder worker'");
wait_until($WORKERS, '0', 'no worker');
make_busy('cancel');
my $pid = sql($WORKER_PID);
$log = -s $node->logfile;
sql("SELECT pg_cancel_backend($pid)");
wait_until($BUSY, '0', 'canceled');
like(slurp_file($node->logfile, $log), qr/ERROR:  canceling statement due to user request/, 'the log says so');
is(sql($WORKER_PID), $pid, 'it is the same worker');
wait_until($BUSY, '1', 'it stays, and tries again after a minute');
is(sql($WORKER_PID), $pid, 'it is the same worker still');
sql("SELECT pg_terminate_backend($pid)");
wait_until($WORKERS, '0', 'terminated');
make_busy('after a termination');
isnt(sql($WORKER_PID), $pid, 'it is another worker');

#
# DDL meanwhile waits for a turn of the worker at most, two slices or a group of
# 128 rows, and is not in the way of the others.  VACUUM does not wait at all.
# The worker counts the 400 rows.
#
my $ROWS = 'SELECT last_value FROM slow_calls';
foreach my $ddl ('ALTER INDEX t_slow SET (autosummarize = off)',
	'VACUUM (TRUNCATE off, INDEX_CLEANUP off) t',
	'TRUNCATE t', 'REINDEX INDEX t_slow', 'DROP INDEX t_slow', 'DROP TABLE t CASCADE')
{
	make_busy($ddl);
	$log = -s $node->logfile;
	my $before = sql($ROWS);
	my $rows = sql($ddl =~ /VACUUM/ ? "$ddl;\n$ROWS" :
		  "$SESSION SET deadlock_timeout = '10ms'; BEGIN; $ddl; $ROWS; COMMIT") - $before;
	cmp_ok($rows, '<', $ddl =~ /VACUUM/ ? 350 : 200, "$ddl: the worker went on for $rows rows");
	sql("$SESSION SELECT grow(1, $seed)") if $ddl !~ /DROP TABLE/;
	wait_until($BUSY, '0', "$ddl: the worker leaves it alone") if $ddl !~ /VACUUM/;
	unlike(slurp_file($node->logfile, $log), qr/ERROR|FATAL|PANIC|WARNING/, "$ddl: no errors");
}
is(sql('SELECT count(*) FROM pg_class WHERE relname ~ \'^t_\''), '0', 'all are gone');

#
# DROP EXTENSION and DROP DATABASE, while the worker is idle and while it works.
#
foreach my $how ('idle', 'busy')
{
	sql('CREATE DATABASE other');
	sql("CREATE EXTENSION rencoder; $SCHEMA", 'other');
	sql('CREATE INDEX t_v ON t USING rencoder (slow_in_worker(v)) WITH (pages_per_range = 1)', 'other');
	sql("$SESSION SELECT grow(" . ($how eq 'idle' ? 80 : 400) . ", $seed)", 'other');
	wait_until($BUSY, '1', "$how: there is a worker");
	wait_until($BUSY, '0', "$how: it has nothing to do") if $how eq 'idle';
	is(sql("SELECT count(*) FROM pg_stat_activity WHERE datname = 'other' AND backend_type = 'rencoder worker'"),
		'1', "$how: it is connected");
	$log = -s $node->logfile;
	if ($how eq 'idle')
	{
		sql("DROP EXTENSION rencoder CASCADE; INSERT INTO t VALUES (1)", 'other');
		is(sql('SELECT count(*) FROM pg_indexes WHERE tablename = \'t\'', 'other'), '0', 'DROP EXTENSION');
	}
	# Fails after 5 seconds with somebody connected.
	sql('DROP DATABASE other');
	unlike(slurp_file($node->logfile, $log), qr/ERROR|FATAL|PANIC|WARNING/, "$how: no errors");
}

#
# Many tables: more than there is room for requests.
#
sql($SCHEMA);
sql(q{CREATE TABLE p (part int, v int8, filler text) PARTITION BY LIST (part);
	CREATE INDEX p_v ON p USING rencoder (v) WITH (pages_per_range = 1);
	DO $$ BEGIN
		FOR i IN 1 .. 300 LOOP
			EXECUTE format('CREATE TABLE p%s PARTITION OF p FOR VALUES IN (%s)', i, i);
			EXECUTE format('ALTER TABLE p%s ALTER filler SET STORAGE plain', i);
		END LOOP; END $$});
my $small = sql(q{SELECT sum(pg_relation_size(indexrelid)) FROM pg_index WHERE indrelid::regclass::text ~ '^p[0-9]'});
sql(q{INSERT INTO p SELECT i, n, repeat('x', 7000) FROM generate_series(1, 7) n, generate_series(1, 300) i});
is(sql(q{SELECT sum(pg_relation_size(indexrelid)) FROM pg_index WHERE indrelid::regclass::text ~ '^p[0-9]'}),
	$small, 'tables that are too small for a batch have nothing in their indexes');
sql(q{INSERT INTO p SELECT i, n, repeat('x', 7000) FROM generate_series(1, 13) n, generate_series(1, 300) i});
wait_until(q{SELECT count(*) FROM pg_index, rencoder_candidates(indexrelid, 0::int8, 0::int8)
	WHERE indrelid::regclass::text ~ '^p[0-9]' AND unsummarized > 0},
	'0', 'all of 300 partitions are summarized');
sql('DROP TABLE p');

#
# Crashes while the worker works.
#
sql(q{CREATE INDEX t_v ON t USING rencoder (v) WITH (pages_per_range = 1)});
foreach my $round (1 .. 4)
{
	my $client = start_sql("DO \$\$ BEGIN FOR i IN 1 .. 100000 LOOP PERFORM grow(10, $seed + $round * 100 + i); COMMIT; END LOOP; END \$\$");
	wait_until($WORKERS, '1', "round $round: there is a worker");
	usleep(rnd(300_000));
	$node->stop('immediate');
	$client->{handle}->finish;
	$node->start;
	sql("SELECT rencoder_index_check('t_v', true)");
	compare_with_seqscan($node, 'postgres', "SELECT * FROM t WHERE v = hashint8extended(1, $seed + $round * 100 + 1)",
		index => 't_v');
}
sql("SELECT grow(60, $seed)");
wait_for_tail('t_v', 'the ranges of the crash are made up for');

#
# No worker to be had: sessions do it.  A page that cannot be read in another
# range is not the INSERT's concern.
#
my $path = sql(q{CREATE TABLE d (v int8, filler text); ALTER TABLE d ALTER filler SET STORAGE plain;
	CREATE INDEX d_v ON d USING rencoder (v) WITH (pages_per_range = 1, autosummarize = off);
	INSERT INTO d SELECT i, repeat('x', 7000) FROM generate_series(1, 11) i;
	CHECKPOINT;
	SELECT pg_relation_filepath('d')});
$node->stop('immediate');
$node->append_conf('postgresql.conf', 'max_worker_processes = 0');
open my $file, '+<', $node->data_dir . "/$path" or die "$path: $!";
sysseek $file, 3 * 8192, 0;
syswrite $file, "\xAA" x 8192 or die "$path: $!";
close $file;
$node->start;
sql('TRUNCATE t');
sql(join ';', map { "SELECT grow(1, $seed + $_)" } 1 .. 300);
is(sql($WORKERS), '0', 'no worker can be had');
cmp_ok(ranges('t_v'), '>=', 40, 'the table has grown');
cmp_ok(unsummarized('t_v'), '<', $LIMIT, 'the sessions have summarized');
sql("SELECT rencoder_index_check('t_v', true)");
sql(q{ALTER INDEX d_v SET (autosummarize = on)});
$log = -s $node->logfile;
sql(q{DO $$ BEGIN FOR i IN 1 .. 30 LOOP INSERT INTO d VALUES (1000, repeat('x', 7000)); END LOOP; END $$});
is(sql('SELECT count(*) FROM d WHERE v = 1000 AND ctid >= \'(11,1)\''), '30', 'a damaged page elsewhere: the rows are inserted');
$messages = slurp_file($node->logfile, $log);
is(scalar(() = $messages =~ /LOG:  could not summarize block ranges of index "d_v": invalid page in block 3/g), 1,
	'the failure is logged, and not tried again at once');
sql("$SESSION DROP INDEX t_v; TRUNCATE t; CREATE INDEX t_fails ON t USING rencoder (of_sessions(v)) WITH (pages_per_range = 1)");
sql(join ';', $SESSION, map { "SELECT grow(1, $seed + $_)" } 1 .. 150);
is(unsummarized('t_fails'), ranges('t_fails'), 'no session calls functions for rows of others');

$node->stop;
done_testing();
