# Filters of groups are made anew while rows come and queries run, on the primary and on a standby,
# and the server crashes, or the standby is promoted, in the middle of it: nothing is lost (INV-2,
# INV-7, INV-13).
use strict;
use warnings;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderTest;
use Test::More;
use Time::HiRes qw(usleep);

my $ROUNDS = 6;

# Two columns, so that one is switched after the other.  Rows up to 12000 keep
# their v for ever, the others do not; the last group is not full.
my $TABLE = q{
	CREATE EXTENSION pageinspect;
	CREATE TABLE go (x int);
	CREATE TABLE t (id int, v int8, few int4, filler text) WITH (fillfactor = 60);
	ALTER TABLE t ALTER filler SET STORAGE plain;
	CREATE FUNCTION fill(first int, last int) RETURNS void LANGUAGE sql AS $$
		INSERT INTO t SELECT i, hashint8extended(i, 1) >> 20,
			nullif(abs(hashint4extended(i, 1)) % 30, 7), repeat('x', 60)
		FROM generate_series(first, last) i
	$$;
	SELECT fill(1, 14000);
	CREATE INDEX t_idx ON t USING rencoder (v, few)
		WITH (autosummarize = off, pages_per_range = 1);
	CREATE SEQUENCE s START 20001;
	-- All groups outgrow their filters, or other queries are asked.
	CREATE FUNCTION change(k int) RETURNS void LANGUAGE sql AS $$
		UPDATE t SET few = abs(hashint4extended(id, k)) % 3000 WHERE id % 5 = k % 5;
		SELECT rencoder_add_query_sample('t_idx', v + k % 2 * 5, v + k % 2 * 12)
		FROM t WHERE id % 10 = k % 10
	$$;
	-- More than half of the rows are late, and none is dead, so VACUUM makes all groups anew.
	CREATE FUNCTION put_late() RETURNS void LANGUAGE sql AS $$
		INSERT INTO t SELECT i, hashint8extended(i, 1) >> 20, (hashint4extended(i, 2) >> 33)::int,
			repeat('x', 60)
		FROM generate_series(100001, 108400) i
	$$;
	-- Columns of the groups: their matrix, and, of the first, whether the group is flushing
	-- (src/store/group.h).
	CREATE VIEW columns AS
		SELECT group_no, attnum, substr(p, 24 + 40 + 1, 8) AS matrix,
			attnum = 1 AND substr(p, 24 + 96 + 1, 16) <> decode(repeat('00', 16), 'hex') AS flushing
		FROM rencoder_groups('t_idx'), get_raw_page('t_idx', header_block::int) p;
	CREATE TABLE columns_before AS SELECT * FROM columns;
	-- "read": a group's keys are being read.  "half": one of its columns has its new matrix.
	CREATE FUNCTION stage() RETURNS text LANGUAGE sql AS $$
		SELECT coalesce(max(CASE WHEN flushing AND n = 2 THEN 'half' WHEN flushing THEN 'read' END),
			'none')
		FROM (SELECT bool_or(c.flushing) AS flushing, count(DISTINCT c.matrix = b.matrix) AS n
			FROM columns c JOIN columns_before b USING (group_no, attnum) GROUP BY group_no) g
	$$;
	-- Waits until VACUUM pauses at the stage, and returns its process; null if it ends before.
	CREATE FUNCTION wait_for_stage(wanted text) RETURNS int LANGUAGE plpgsql AS $$
	DECLARE
		vacuum record;
	BEGIN
		LOOP
			PERFORM pg_stat_clear_snapshot();
			SELECT pid, wait_event INTO vacuum FROM pg_stat_activity
			WHERE query = 'VACUUM t' AND state = 'active';
			EXIT WHEN NOT FOUND OR (vacuum.wait_event = 'VacuumDelay' AND stage() = wanted);
			PERFORM pg_sleep(0.002);
		END LOOP;
		RETURN vacuum.pid;
	END $$;
	-- Each transaction locks one row, so that none waits for change() in a circle.
	CREATE PROCEDURE write_some() LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO t SELECT nextval('s'), hashint8extended((random() * 1e9)::int8, 9) >> 20,
			1000000, 'x' FROM generate_series(1, 3);
		COMMIT;
		UPDATE t SET v = hashint8extended((random() * 1e9)::int8, 9) >> 20
		WHERE id = (SELECT 12001 + (random() * 1999)::int);
		COMMIT;
		DELETE FROM t WHERE id = (SELECT 20001 + (random() * (last_value - 20001))::int FROM s);
		COMMIT;
	END $$;
	CREATE PROCEDURE retune(rounds int) LANGUAGE plpgsql AS $$
	BEGIN
		FOR k IN 1 .. rounds LOOP
			PERFORM change(k); COMMIT;
			PERFORM rencoder_retune('t_idx'); COMMIT;
		END LOOP;
	END $$;
	-- A row that has been there from the beginning is always found.
	CREATE FUNCTION look() RETURNS void LANGUAGE plpgsql
	SET enable_seqscan = off AS $$
	DECLARE
		row int := 1 + (random() * 11999)::int;
		found int;
	BEGIN
		SELECT count(*) INTO found FROM t WHERE v = hashint8extended(row, 1) >> 20 AND id = row;
		IF found <> 1 THEN
			RAISE EXCEPTION 'row % was found % times', row, found;
		END IF;
	END $$};

sub start_client
{
	my ($node, @sql) = @_;
	my ($in, $out, $err) = ('', '', '');

	return {
		err    => \$err,
		handle => IPC::Run::start(
			[ 'psql', '-XqAt', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres'),
				map { ('-c', $_) } @sql ],
			'<', \$in, '>', \$out, '2>', \$err)
	};
}

# Each in a transaction of its own, until the table "go" is empty.
sub repeat
{
	my ($statement) = @_;

	return qq{DO \$\$ BEGIN
		WHILE (SELECT count(*) FROM go) > 0 LOOP $statement; COMMIT; END LOOP; END \$\$};
}

sub some_queries
{
	my @queries;

	foreach my $i (1 .. 15)
	{
		my $id = rnd_between(1, 14000);
		my $value = "(SELECT min(v) FROM t WHERE id = $id)";

		push @queries, "SELECT id FROM t WHERE v = $value",
		  "SELECT id FROM t WHERE v BETWEEN $value AND $value + " . 10**rnd(12),
		  "SELECT id FROM t WHERE few = " . rnd(3000) . " AND v > 0",
		  "SELECT id FROM t WHERE few IS NULL AND v < " . -10**(10 + rnd(3));
	}
	return \@queries;
}

sub verify
{
	my ($node, $name) = @_;
	my ($ret, $out, $err) =
	  $node->psql('postgres', "SELECT rencoder_index_check('t_idx', true)");

	is($err, '', "$name: index is sound and covers all rows");
	compare_many_with_seqscan($node, 'postgres', some_queries(), $name);
	return;
}

# A VACUUM that makes filters anew, stopped at the stage, where it holds no lock of a page.
sub stop_in_vacuum
{
	my ($node, $stage) = @_;

	for (1 .. 10)
	{
		# VACUUM is to find no page of the table that it would change: commits are flushed, for it
		# to see that rows are visible to all.
		$node->safe_psql('postgres', "SET synchronous_commit = on; $_")
		  foreach ('TRUNCATE t', 'SELECT fill(1, 14000)', 'REINDEX INDEX t_idx',
			'DELETE FROM t WHERE id % 5 < 3', 'VACUUM t', 'SELECT put_late()',
			'VACUUM (INDEX_CLEANUP off) t',
			'TRUNCATE columns_before; INSERT INTO columns_before SELECT * FROM columns',
			'CHECKPOINT');
		is($node->safe_psql('postgres', 'SELECT stage()'), 'none', 'nothing is flushing');
		# It pauses when it has changed a page.
		my $vacuum = start_client($node, q{SET vacuum_cost_delay = 100;
			SET vacuum_cost_limit = 2500; SET vacuum_cost_page_dirty = 10000;
			SET vacuum_cost_page_hit = 0; SET vacuum_cost_page_miss = 0}, 'VACUUM t');
		$node->poll_query_until('postgres',
			q{SELECT count(*) > 0 FROM pg_stat_activity
				WHERE query = 'VACUUM t' AND state = 'active'})
		  or die 'VACUUM does not begin';
		my $pid = $node->safe_psql('postgres', "SELECT wait_for_stage('$stage')");
		if ($pid)
		{
			my ($out, $timed_out);

			kill 'STOP', $pid;
			$node->psql('postgres', 'SELECT stage()', stdout => \$out, timeout => 10,
				timed_out => \$timed_out);
			return ($vacuum, $pid) if !$timed_out && $out eq $stage;
			kill 'CONT', $pid;
		}
		$vacuum->{handle}->finish;
	}
	die "VACUUM was never met at the stage \"$stage\"";
}

# Rows come while it stands there; their commit flushes what it has logged.
sub change_rows
{
	my ($node, $name) = @_;

	$node->safe_psql('postgres',
		'UPDATE t SET v = v + 1, few = 77 WHERE id % 7 = 3; CALL write_some()');
	compare_many_with_seqscan($node, 'postgres', some_queries(), "$name: rows have come");
	return;
}

# Whatever was left is done anew.
sub go_on
{
	my ($node, $name, $maintenance) = @_;

	verify($node, $name);
	change_rows($node, $name);
	$node->safe_psql('postgres', $maintenance);
	is($node->safe_psql('postgres', 'SELECT stage()'), 'none', "$name: it is made anew");
	verify($node, "$name, made anew");
	return;
}

#
# Crashes.  Pages reach the disk early, late or not at all, as it happens.
#
my $node = new_node('crash',
	conf => "shared_buffers = 2MB\nbgwriter_delay = 10ms\nwal_writer_delay = 10ms\n");
$node->safe_psql('postgres', $TABLE);
foreach my $stage ('read', 'half')
{
	my ($vacuum, $pid) = stop_in_vacuum($node, $stage);

	change_rows($node, "in the middle, $stage");
	kill 'KILL', $pid;
	$node->stop('immediate', fail_ok => 1);
	$vacuum->{handle}->finish;
	$node->start;
	is($node->safe_psql('postgres', 'SELECT stage()'), $stage, "a crash leaves it so, $stage");
	go_on($node, "crash in the middle, $stage", $stage eq 'read' ? 'VACUUM t' :
		"SELECT rencoder_retune('t_idx')");
}

# At any moment.
$node->safe_psql('postgres', 'INSERT INTO go VALUES (1)');
my $epoch = "SELECT epoch FROM rencoder_metapage('t_idx')";
foreach my $round (1 .. $ROUNDS)
{
	my $before = $node->safe_psql('postgres', $epoch);
	my $retuner = start_client($node, 'CALL retune(1000)');
	my $writer = start_client($node, repeat('CALL write_some()'));

	$node->poll_query_until('postgres', "SELECT ($epoch) > $before")
	  or die 'no group is made anew';
	usleep(rnd(700_000));
	$node->safe_psql('postgres', 'CHECKPOINT') if $round % 3 == 0;
	$node->stop('immediate');
	$_->{handle}->finish foreach ($retuner, $writer);
	$node->start;
	go_on($node, "crash $round", $round % 2 == 0 ? 'VACUUM t' :
		"SELECT rencoder_maintain_index('t_idx'), rencoder_retune('t_idx')");
}
cmp_ok($node->safe_psql('postgres', "SELECT pg_relation_size('t_idx')"), '<',
	20 * $node->safe_psql('postgres', "SELECT sum(pages) * 8192 FROM rencoder_groups('t_idx')"),
	'freed pages are used again');
$node->stop;

#
# Scans that a switch overtakes: the pages that they are about to read are
# another group's by then.  Many small groups, long lists and few buffers make
# scans last.
#
$node = new_node('overtaken', conf => "shared_buffers = 1MB\nmax_wal_size = 4GB\n"
  . "synchronous_commit = off\n");
$node->safe_psql(
	'postgres', q{
	CREATE TABLE go (x int);
	CREATE TABLE r (id int, v int8, filler text) WITH (fillfactor = 60);
	ALTER TABLE r ALTER filler SET STORAGE plain;
	INSERT INTO r SELECT i, hashint8extended(i, 1), repeat('x', 2000)
		FROM generate_series(1, 12000) i;
	CREATE INDEX r_v ON r USING rencoder (v)
		WITH (autosummarize = off, pages_per_range = 1);
	CREATE TABLE wanted AS SELECT array_agg(hashint8extended(i * 8 + 7, 1)) AS list
		FROM generate_series(0, 1490, 5) i;
	ANALYZE r;
	-- Three of eight rows in each group get another value.
	CREATE PROCEDURE retune_r(enough int) LANGUAGE plpgsql AS $$
	BEGIN
		-- Until so many groups were rebuilt: how many a round is worth it for
		-- depends on what the scans have noted meanwhile.
		FOR k IN 1 .. 40 LOOP
			UPDATE r SET v = hashint8extended(id, 1 + k) WHERE id % 8 IN (0, 2, 4);
			COMMIT;
			PERFORM rencoder_retune('r_v');
			COMMIT;
			EXIT WHEN k >= 4 AND (SELECT epoch FROM rencoder_metapage('r_v')) > enough;
		END LOOP;
	END $$;
	CREATE FUNCTION look_r() RETURNS void LANGUAGE plpgsql SET enable_seqscan = off AS $$
	DECLARE
		wanted int8[] := (SELECT list FROM wanted);
		found int;
	BEGIN
		EXECUTE 'SELECT count(*) FROM r WHERE v = ANY ($1)' INTO found USING wanted;
		IF found <> cardinality(wanted) THEN
			RAISE EXCEPTION '% of % rows found', found, cardinality(wanted);
		END IF;
	END $$});
ok( uses_index($node, 'postgres', 'SELECT count(*) FROM r WHERE v = ANY (ARRAY[1, 2, 3])', 'r_v'),
	'the scans use the index');
$node->safe_psql('postgres', 'INSERT INTO go VALUES (1)');
my @scanners = map { start_client($node, repeat('PERFORM look_r()')) } 1 .. 2;
my ($ret, $out, $err) = $node->psql('postgres', 'CALL retune_r(60)');
is($err, '', 'retuning while scans go on');
$node->safe_psql('postgres', 'DELETE FROM go');
foreach my $scanner (@scanners)
{
	$scanner->{handle}->finish;
	is(${ $scanner->{err} }, '', 'no scan missed a row');
}
cmp_ok($node->safe_psql('postgres', "SELECT epoch FROM rencoder_metapage('r_v')"),
	'>', 60, 'groups were rebuilt');
$node->stop;

#
# Queries on both sides of replication meanwhile.
#
my ($primary, $standby) = start_primary_with_standby(
	conf         => "wal_consistency_checking = 'generic'\nsynchronous_commit = off\n"
	  . "max_wal_size = 4GB\n",
	standby_conf => "max_standby_streaming_delay = -1\n");
$primary->safe_psql('postgres', $TABLE);
$primary->safe_psql('postgres', 'INSERT INTO go VALUES (1)');
wait_for_standby($primary, $standby);
foreach my $server ($primary, $standby)
{
	ok( uses_index($server, 'postgres', 'SELECT count(*) FROM t WHERE v = 1 AND id = 1', 't_idx'),
		$server->name . ': scans use the index');
}
my @clients = (
	start_client($primary, repeat('CALL write_some()')),
	start_client($primary, repeat('PERFORM look()')),
	start_client($standby, repeat('PERFORM look()')));
($ret, $out, $err) = $primary->psql('postgres',
	"CALL retune(8); VACUUM t; SELECT rencoder_index_check('t_idx', true)");
is($err, '', 'retuning goes on');
foreach my $more (1 .. 10)
{
	last if $primary->safe_psql('postgres', $epoch) >= 10;
	$primary->safe_psql('postgres', 'CALL retune(8)');
}
$primary->safe_psql('postgres', 'DELETE FROM go');
foreach my $client (@clients)
{
	$client->{handle}->finish;
	is(${ $client->{err} }, '', 'no client met an error');
}
cmp_ok($primary->safe_psql('postgres', $epoch), '>=', 10, 'groups were rebuilt');
wait_for_standby($primary, $standby);
foreach my $server ($primary, $standby)
{
	verify($server, $server->name . ' afterwards');
}
($ret, $out, $err) = $standby->psql('postgres', "SELECT rencoder_retune('t_idx')");
like($err, qr/ERROR:  recovery is in progress/, 'not on a standby');
unlike(slurp_file($standby->logfile), qr/inconsistent page found/,
	'no page was found different');

# The standby has what the primary has when that stops in the middle, and is promoted.
my ($vacuum, $pid) = stop_in_vacuum($primary, 'half');
change_rows($primary, 'primary, in the middle');
wait_for_standby($primary, $standby);
is($standby->safe_psql('postgres', 'SELECT stage()'), 'half', 'the standby is in the middle');
verify($standby, 'standby, in the middle');
kill 'KILL', $pid;
$primary->stop('immediate', fail_ok => 1);
$vacuum->{handle}->finish;
$standby->promote;
is($standby->safe_psql('postgres', 'SELECT stage()'), 'half', 'promotion leaves it so');
go_on($standby, 'promoted', 'CALL retune(2)');
$standby->stop;

done_testing();
