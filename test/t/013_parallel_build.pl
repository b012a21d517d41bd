# CREATE INDEX by several processes: the index is what a serial build makes, and
# nothing is left when it is cancelled or one of the processes fails.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderTest;
use List::Util qw(max sum);
use Test::More;
use Time::HiRes qw(time);

my $node = new_node('main',
	conf => "max_worker_processes = 8\nmax_parallel_workers = 8\nlog_min_messages = warning\n");

# 8 rows a page.  Four groups and three ranges of a fifth, which is the leader's.
# What slow() does is said by a setting, which workers are handed on.  Of the
# narrow table's groups of 23,000 keys the last one is made of slices.
$node->safe_psql(
	'postgres', q{
	CREATE TABLE t (id int, v int8, few int4, word text, filler text)
	WITH (fillfactor = 80, parallel_workers = 2, autovacuum_enabled = off);
	ALTER TABLE t ALTER filler SET STORAGE plain;
	INSERT INTO t SELECT i, hashint8extended(i, 1) >> 20,
		nullif(abs(hashint4extended(i, 1)) % 30, 7), md5(i::text), repeat('x', 700)
	FROM generate_series(1, 4120) i;
	CREATE TABLE narrow (v int8, n int4) WITH (parallel_workers = 2, autovacuum_enabled = off);
	INSERT INTO narrow SELECT hashint8extended(i, 2) >> 10, i FROM generate_series(1, 60000) i;
	CREATE FUNCTION is_worker() RETURNS bool LANGUAGE sql AS
		'SELECT backend_type = ''parallel worker'' FROM pg_stat_activity WHERE pid = pg_backend_pid()';
	CREATE FUNCTION slow(id int, v int8) RETURNS int8 LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
	SET search_path = public AS $$
	DECLARE
		mode text := current_setting('test.mode', true);
	BEGIN
		IF id % 8 = 0 AND mode = 'slow leader' AND NOT is_worker() THEN
			PERFORM pg_sleep(0.002);
		ELSIF id % 8 = 0 AND (mode = 'slow' OR mode = 'slow workers' AND is_worker()) THEN
			PERFORM pg_sleep(0.1);
		ELSIF id % 8 = 0 AND mode = 'all a little slow' THEN
			PERFORM pg_sleep(0.02);
		ELSIF id % 8 = 0 AND mode = 'workers fail' THEN
			IF is_worker() THEN
				RETURN v / (id - id);
			END IF;
			PERFORM pg_sleep(0.002);
		END IF;
		RETURN v;
	END $$;
	VACUUM ANALYZE t, narrow;
});
is( $node->safe_psql('postgres', "SELECT pg_relation_size('t') / 8192"),
	4 * 128 + 3, 'pages of the table');

# Searches for a shape by all processes of the last build.
my $searches;

# Runs a command with "workers" workers; returns the groups that each process
# has built, as it says itself.
sub build
{
	my ($workers, $command, $mode) = @_;
	my ($ret, $out, $err) = $node->psql(
		'postgres', "
		SET client_min_messages = debug1;
		SET max_parallel_maintenance_workers = $workers;
		SET test.mode = '" . ($mode // '') . "';
		$command");

	is($ret, 0, "$workers workers: $command") or diag($err);
	my @groups = $err =~ /built (\d+) groups/g;
	$searches = sum($err =~ /; (\d+) searches/g);
	return @groups;
}

# What stands in an index that does not depend on the shapes of filters.
sub contents
{
	my ($index) = @_;

	return $node->safe_psql('postgres', "
		SELECT md5(string_agg(r::text, ' ' ORDER BY range_no, attnum)), count(*),
			count(*) FILTER (WHERE state <> 'summarized')
		FROM (SELECT range_no, attnum, state, always, has_null, has_value, min_key, max_key, distinct_keys
			FROM rencoder_ranges('$index')) AS r");
}

my $LIMITS = 'autosummarize = off, pages_per_range = 1';
my @definitions = (
	[ 't', '(v)' ],
	[ 't', '(v, few, word)' ],
	[ 't', '(word)' ],
	[ 't', '(few)', 'WHERE few > 10' ],
	[ 't', '(slow(id, v))' ],
	[ 'narrow', '(v, n)' ]);
my %groups = (t => 5, narrow => 3);

# Conditions of each, seeded, about half of them with rows.
sub queries
{
	my ($table, $columns, $where) = @_;
	my @queries;

	for (1 .. 25)
	{
		my $id = rnd_between(1, $table eq 't' ? 4120 : 60000);
		my $value =
		  $table eq 'narrow'
		  ? "(hashint8extended($id, 2) >> 10)"
		  : "(hashint8extended($id, 1) >> 20)";
		my $few  = rnd(33);
		my $word = "md5('" . ($id + rnd(2) * 5000) . "')";
		my $off  = rnd(2) * 12345;
		my $condition =
		    $columns eq '(v)'      ? "v = $value + $off"
		  : $columns eq '(word)'   ? rnd_pick("word = $word", "word LIKE left($word, 3) || '%'")
		  : $columns eq '(few)'    ? "few = $few AND few > 10"
		  : $columns =~ /^\(slow/  ? "slow(id, v) BETWEEN $value AND $value + $off"
		  : $columns eq '(v, few, word)'
		  ? rnd_pick("v BETWEEN $value - $off AND $value", "few = $few AND word > 'f'",
			"few IS NULL AND word = $word", "word = $word")
		  : rnd_pick("v = $value", "v BETWEEN $value AND $value + $off AND n < 30000",
			"n BETWEEN $id AND $id + 10");
		push @queries, "SELECT * FROM $table WHERE $condition";
	}
	return \@queries;
}

foreach my $definition (@definitions)
{
	my ($table, $columns, $where) = @$definition;
	my $create = "ON $table USING rencoder $columns WITH ($LIMITS) " . ($where // '');
	my $memory = $table eq 'narrow' ? "SET maintenance_work_mem = '1MB';" : '';
	my @serial = build(0, "$memory CREATE INDEX serial $create");
	my @parallel;
	my $truth = contents('serial');

	is_deeply(\@serial, [ $groups{$table} ], 'one process built all groups');
	$node->safe_psql('postgres', 'DROP INDEX serial');
	@parallel = build(2, "$memory CREATE INDEX parallel $create", 'slow leader');
	is(scalar @parallel, 3, 'three processes built the groups');
	is(sum(@parallel), $groups{$table}, 'all of them');
	if ($columns =~ /slow/)
	{
		cmp_ok(max(@parallel), '<', $groups{$table}, 'not one process alone');
	}
	is(contents('parallel'), $truth, 'the same keys and states of all ranges');
	like($truth, qr/\|0$/, 'no range was left out');
	$node->safe_psql('postgres', "SELECT rencoder_index_check('parallel', true)");
	compare_many_with_seqscan($node, 'postgres', queries(@$definition), "$table $columns");
	ok( uses_index($node, 'postgres', queries(@$definition)->[0], 'parallel'),
		'by the index') if $columns ne '(v, few, word)';
	@parallel = build(2, "$memory REINDEX INDEX parallel");
	is(scalar @parallel, 3, 'three processes built the groups again');
	is(contents('parallel'), $truth, 'the same ranges');
	$node->safe_psql('postgres', "SELECT rencoder_index_check('parallel', true); DROP INDEX parallel");
}

# Random keys are alike in all groups: the first search does for all processes,
# although all need a shape at about the same time.
my @searched = build(2, "CREATE INDEX searched ON narrow USING rencoder
	(slow(CASE WHEN n % 1000 = 0 THEN 8 ELSE 1 END, v)) WITH ($LIMITS)", 'all a little slow');
is_deeply(\@searched, [ 1, 1, 1 ], 'each process builds a group');
is($searches, 1, 'one search for all of them');
$node->safe_psql('postgres', "SELECT rencoder_index_check('searched', true); DROP INDEX searched");

# No workers: a temporary table; an expression that must not run there.
is( scalar build(2, "CREATE TEMP TABLE tmp WITH (parallel_workers = 2) AS SELECT * FROM t;
	CREATE INDEX ON tmp USING rencoder (v) WITH ($LIMITS);"), 1, 'a temporary table');
$node->safe_psql('postgres', 'ALTER FUNCTION slow PARALLEL RESTRICTED');
is( scalar build(2, "CREATE INDEX x ON t USING rencoder (slow(id, v)) WITH ($LIMITS); DROP INDEX x"),
	1, 'an expression that is not parallel safe');
$node->safe_psql('postgres', 'ALTER FUNCTION slow PARALLEL SAFE');

# Files of the database to which no relation belongs.
sub orphans
{
	return $node->safe_psql('postgres', "
		SELECT string_agg(f, ' ') FROM pg_ls_dir((SELECT 'base/' || oid FROM pg_database WHERE datname = 'postgres')) f
		WHERE f ~ '^[0-9]+\$' AND pg_filenode_relation(0, f::oid) IS NULL AND
			EXISTS (SELECT FROM pg_stat_file((SELECT 'base/' || oid FROM pg_database WHERE datname = 'postgres') || '/' || f, true)
					WHERE size > 0)");
}

# Something happens while both workers sleep; the index must not be there, and
# nobody goes on.  Returns what was seen of the progress.
sub disturb
{
	my ($name, $mode, $what, $error) = @_;
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	my @done;

	$session->query_safe("SET client_min_messages = error");
	$session->query_safe("SET test.mode = '$mode'");
	$session->query_until(qr/started/, "\\echo started
		CREATE INDEX disturbed ON t USING rencoder (slow(id, v)) WITH ($LIMITS);\n");
	$node->poll_query_until('postgres', "SELECT count(*) = 2 FROM pg_stat_activity
		WHERE backend_type = 'parallel worker' AND wait_event = 'PgSleep'")
	  or die 'the workers do not sleep';
	if ($mode eq 'slow workers')
	{
		$node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_activity
			WHERE query LIKE '%CREATE INDEX disturbed%' AND wait_event = 'ParallelCreateIndexScan'")
		  or die 'the leader does not wait';
	}
	for (1 .. 2)
	{
		my ($blocks, $total) = split /\|/, $node->safe_psql('postgres',
			'SELECT blocks_done, blocks_total FROM pg_stat_progress_create_index');
		is($total, 4 * 128 + 3, "$name: blocks to be read");
		push @done, $blocks;
		$node->poll_query_until('postgres',
			"SELECT blocks_done > $blocks FROM pg_stat_progress_create_index")
		  or die 'no progress';
	}
	cmp_ok($done[1], '<=', 4 * 128 + 3, "$name: the progress is shown");

	my $start = time;
	$node->safe_psql('postgres', $what);
	$node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity
		WHERE backend_type = 'parallel worker' OR query LIKE '%CREATE INDEX disturbed%' AND state = 'active' AND pid <> pg_backend_pid()")
	  or die 'it goes on';
	# Each of three processes would read on for 0.1 s a block.
	my $rest = (4 * 128 + 3 - $done[1]) * 0.1 / 3;
	cmp_ok(time - $start, '<', $rest / 2, sprintf '%s: ends soon, not after %.1f s', $name, $rest);
	$session->quit;
	is($node->safe_psql('postgres', "SELECT count(*) FROM pg_class WHERE relname = 'disturbed'"),
		0, "$name: no index");
	is(orphans(), '', "$name: no file");
	return;
}

disturb('cancelled', 'slow', "SELECT pg_cancel_backend(pid) FROM pg_stat_progress_create_index");
disturb('cancelled while waiting',
	'slow workers', "SELECT pg_cancel_backend(pid) FROM pg_stat_progress_create_index");
disturb('a worker is terminated', 'slow',
	"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'parallel worker' LIMIT 1");

my ($ret, $out, $err) = $node->psql('postgres', "SET test.mode = 'workers fail';
	CREATE INDEX disturbed ON t USING rencoder (slow(id, v)) WITH ($LIMITS);");
isnt($ret, 0, 'a worker fails');
like($err, qr/ERROR:  division by zero/, 'with its own error');
like($err, qr/parallel worker/, 'in a worker');
is(orphans(), '', 'a worker fails: no file');

# CONCURRENTLY, with rows that come while it builds.
my $session = $node->background_psql('postgres', on_error_stop => 0);
$session->query_safe("SET test.mode = 'all a little slow'");
$session->query_safe('SET max_parallel_maintenance_workers = 2');
$session->query_until(qr/started/, "\\echo started
	CREATE INDEX CONCURRENTLY concurrent ON t USING rencoder (slow(id, v)) WITH ($LIMITS);\n");
$node->poll_query_until('postgres',
	"SELECT count(*) = 2 FROM pg_stat_activity WHERE backend_type = 'parallel worker' AND wait_event = 'PgSleep'")
  or die 'no workers';
$node->safe_psql('postgres', "
	INSERT INTO t SELECT i, hashint8extended(i, 1) >> 20, 1, 'new', repeat('x', 700) FROM generate_series(4121, 4140) i;
	UPDATE t SET v = v + 1 WHERE id % 100 = 1;
	DELETE FROM t WHERE id % 100 = 2;");
$session->query_until(qr/finished/, "\\echo finished\n");
$session->quit;
is($node->safe_psql('postgres', "SELECT indisvalid FROM pg_index WHERE indexrelid = 'concurrent'::regclass"),
	't', 'built concurrently');
$node->safe_psql('postgres', "SELECT rencoder_index_check('concurrent', true)");
compare_many_with_seqscan($node, 'postgres', queries('t', '(slow(id, v))'), 'concurrently');
my @concurrently = build(2, 'REINDEX INDEX CONCURRENTLY concurrent', 'slow leader');
is(scalar @concurrently, 3, 'by three processes');
$node->safe_psql('postgres', "SELECT rencoder_index_check('concurrent', true); DROP INDEX concurrent");

# An old snapshot needs row versions that the build leaves out: members of HOT
# chains that differ in the column.
sub old_snapshot
{
	my ($name, $update, $command) = @_;
	my $writer = $node->background_psql('postgres');
	my $reader = $node->background_psql('postgres');
	my $rows   = 'SELECT count(*), sum(id) FROM t WHERE few = 3';

	# The oldest transaction holds back the xmin of the build as it does the
	# reader's; so it is not that which tells them apart.
	$writer->query_safe('BEGIN');
	$writer->query_safe('SELECT pg_current_xact_id()');
	$reader->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
	$reader->query_safe('SELECT 1');

	# Not asked by the reader, whose lock on the index REINDEX would wait for.
	my $truth = $node->safe_psql('postgres', $rows);
	$node->safe_psql('postgres', $update);
	is(scalar build(2, $command, 'slow leader'), 3, "$name: by three processes");
	$reader->query_safe('SET enable_seqscan = off');
	is($reader->query_safe($rows), $truth, "$name: the old snapshot has its rows");
	$reader->query_safe('COMMIT');
	$writer->query_safe('COMMIT');
	$_->quit foreach $reader, $writer;
	compare_many_with_seqscan($node, 'postgres',
		[ map { "SELECT id, few FROM t WHERE few = $_" } 0 .. 35 ], $name);
	return;
}

$node->safe_psql('postgres', 'VACUUM t');
old_snapshot('broken HOT chains', 'UPDATE t SET few = 34 WHERE few = 3',
	"CREATE INDEX old ON t USING rencoder (few, slow(id, v)) WITH ($LIMITS)");
is( $node->safe_psql('postgres', "SELECT indcheckxmin FROM pg_index WHERE indexrelid = 'old'::regclass"),
	't', 'broken HOT chains: noticed');
is( $node->safe_psql('postgres', "
	SELECT count(DISTINCT group_no) FROM rencoder_groups('old') g
	WHERE horizon::text::int8 >= (SELECT max(xmin::text::int8) FROM t)"),
	5, 'broken HOT chains: the horizon of all groups');
$node->safe_psql('postgres', 'UPDATE t SET few = 3 WHERE few = 34; VACUUM t;');
old_snapshot('reindexed', 'UPDATE t SET few = 33 WHERE few = 3', 'REINDEX INDEX old');
$node->safe_psql('postgres', "SELECT rencoder_index_check('old', true)");

$node->stop;
done_testing();
