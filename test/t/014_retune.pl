# Groups are rebuilt while rows come and queries run, on the primary and on a
# standby, and the server crashes in the middle of it: nothing is lost (INV-7).
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
# their v for ever, the others do not; the last group stays in slices.
my $TABLE = q{
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
		WITH (autosummarize = off, pages_per_range = 1, storage = filter);
	CREATE SEQUENCE s START 20001;
	-- All groups outgrow their filters, or other queries are asked.
	CREATE FUNCTION change(k int) RETURNS void LANGUAGE sql AS $$
		UPDATE t SET few = abs(hashint4extended(id, k)) % 3000 WHERE id % 5 = k % 5;
		SELECT rencoder_add_query_sample('t_idx', v + k % 2 * 5, v + k % 2 * 12)
		FROM t WHERE id % 10 = k % 10
	$$;
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

#
# Crashes.  Pages reach the disk early, late or not at all, as it happens.
#
my $node = new_node('crash',
	conf => "shared_buffers = 2MB\nbgwriter_delay = 10ms\nwal_writer_delay = 10ms\n");
$node->safe_psql('postgres', $TABLE);
$node->safe_psql('postgres', 'INSERT INTO go VALUES (1)');
my $epoch = "SELECT epoch FROM rencoder_metapage('t_idx')";

# Columns that have a matrix under construction.
my $unfinished = "SELECT count(*) FROM rencoder_groups('t_idx')"
  . " WHERE storage = 'matrix' AND pages > windows";
my $left_over = 0;
# Rounds more, until a crash has met one that is being rebuilt.
for (my $round = 1; $round <= $ROUNDS || ($left_over == 0 && $round <= 10 * $ROUNDS); $round++)
{
	my $slowly = $round % 2;
	my $before = $node->safe_psql('postgres', $epoch);

	# At any moment; or, where VACUUM takes its time, when there is one.
	my $retuner = $slowly
	  ? start_client($node,
		'SET vacuum_cost_delay = 3; SET vacuum_cost_limit = 1; SET vacuum_cost_page_hit = 1',
		map { ("SELECT change($_)", 'VACUUM t') } 1 .. 100)
	  : start_client($node, 'CALL retune(1000)');
	my $writer = start_client($node, repeat('CALL write_some()'));
	foreach my $wait (1 .. 3000)
	{
		last
		  if $slowly ? $node->safe_psql('postgres', $unfinished) > 0
		  : $node->safe_psql('postgres', $epoch) > $before;
		usleep(10_000);
	}
	usleep(rnd_between(0, $slowly ? 100_000 : 700_000));
	$node->safe_psql('postgres', 'CHECKPOINT') if $round % 3 == 0;
	$node->stop('immediate');
	$_->{handle}->finish foreach ($retuner, $writer);
	$node->start;
	$left_over += $node->safe_psql('postgres', $unfinished);
	verify($node, "crash $round");
	$node->safe_psql('postgres', $round % 2 == 0 ? 'VACUUM t' :
		"SELECT rencoder_summarize_new_values('t_idx'), rencoder_retune('t_idx')");
	verify($node, "after crash $round");
	is($node->safe_psql('postgres', $unfinished), 0,
		"after crash $round: nothing is left under construction");
}
cmp_ok($left_over, '>', 0, "$left_over columns were being rebuilt in a crash");
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
		WITH (autosummarize = off, pages_per_range = 1, storage = filter);
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

# A leftover of the primary's last moments is no hindrance after promotion.
my $client = start_client($primary, 'CALL retune(1000)');
usleep(rnd_between(300_000, 900_000));
$primary->stop('immediate');
$client->{handle}->finish;
$standby->promote;
verify($standby, 'promoted');
$standby->safe_psql('postgres', "CALL retune(2)");
verify($standby, 'retuned after promotion');
$standby->stop;

done_testing();
