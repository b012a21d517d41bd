# A streaming standby answers by its index what it answers by its heap,
# whatever was done on the primary, and for old snapshots too (INV-4, INV-7,
# INV-9).
use strict;
use warnings;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderTest;
use Test::More;

my ($primary, $standby) = start_primary_with_standby(
	conf         => "shared_buffers = 4MB\n",
	standby_conf => "hot_standby_feedback = off\nmax_standby_streaming_delay = -1\n");

$primary->safe_psql(
	'postgres', q{
	CREATE TABLE t (id int, v int8, few int4, filler text) WITH (fillfactor = 50);
	ALTER TABLE t ALTER filler SET STORAGE plain;
	CREATE FUNCTION fill(n int, seed int) RETURNS void LANGUAGE sql AS $$
		INSERT INTO t SELECT seed * 1000000 + i, hashint8extended(i, seed),
			nullif(abs(hashint4extended(i, seed)) % 30, 7), repeat('x', 60)
		FROM generate_series(1, n) i
	$$;
	SELECT fill(12000, 1);
	CREATE INDEX t_v ON t USING rencoder (v)
		WITH (autosummarize = off, pages_per_range = 1);
	CREATE INDEX t_few ON t USING rencoder (few, v)
		WITH (autosummarize = off, pages_per_range = 1);
});

sub some_queries
{
	my @queries;

	foreach my $i (1 .. 10)
	{
		my $lo = sprintf '%d', rnd_between(-9_000_000, 9_000_000) * 10**12;

		push @queries,
		  "SELECT id FROM t WHERE v = (SELECT v FROM t ORDER BY id OFFSET "
		  . rnd(5000) . " LIMIT 1)",
		  "SELECT id FROM t WHERE v BETWEEN $lo AND $lo + " . sprintf('%d', 10**rnd(18)),
		  "SELECT id FROM t WHERE few = " . rnd(31) . " AND v > $lo",
		  "SELECT id FROM t WHERE few IS NULL AND v < $lo";
	}
	return \@queries;
}

sub verify
{
	my ($name) = @_;
	my $queries = some_queries();

	wait_for_standby($primary, $standby);
	foreach my $node ($primary, $standby)
	{
		foreach my $index ('t_v', 't_few')
		{
			my ($ret, $out, $err) = $node->psql('postgres',
				"SELECT rencoder_index_check('$index', true)");

			is($err, '', "$name: $index is sound on the " . $node->name);
		}
		compare_many_with_seqscan($node, 'postgres', $queries,
			"$name, " . $node->name);
	}
	return;
}

sub summarize_again
{
	$primary->safe_psql(
		'postgres', q{
		SELECT rencoder_compact('t_v', 0, 60), rencoder_compact('t_few', 20, 100);
		SELECT rencoder_maintain_index('t_v'), rencoder_maintain_index('t_few')});
	return;
}

verify('built');
$primary->safe_psql('postgres', 'SELECT fill(8000, 2)');
verify('inserted');
$primary->safe_psql('postgres',
	"SELECT rencoder_maintain_index('t_v'), rencoder_maintain_index('t_few')");
verify('summarized');
$primary->safe_psql('postgres',
	'DELETE FROM t WHERE id % 3 = 0; VACUUM t; SELECT fill(4000, 3)');
verify('deleted, vacuumed, inserted');
$primary->safe_psql('postgres',
	'UPDATE t SET v = v / 3 WHERE id % 11 = 5; UPDATE t SET few = 31 WHERE id % 23 = 1');
verify('updated');
summarize_again();
verify('read again');
$primary->safe_psql('postgres', 'REINDEX TABLE t');
verify('reindexed');
$primary->safe_psql('postgres', 'VACUUM FULL t');
verify('rewritten');

# What the functions do on a standby.
is( $standby->safe_psql('postgres',
		"SELECT count(*) > 0 FROM rencoder_runs('t_v')"),
	't', 'rencoder_runs reads on a standby');
my $HINT = qr/HINT:  rencoder control functions cannot be executed during recovery\./;
foreach my $call (
	"rencoder_maintain_index('t_v')",
	"rencoder_compact('t_v')")
{
	my ($ret, $out, $err) = $standby->psql('postgres', "SELECT $call");

	like($err, qr/ERROR:  recovery is in progress\n$HINT/, "$call is refused");
}

# A snapshot on the standby that the primary knows nothing of.  There the old
# row versions are dead and left out of new summaries; the snapshot still sees
# them.  Pages keep room enough that nothing prunes them, for pruning would be
# a conflict with the snapshot.
$primary->safe_psql(
	'postgres', q{
	CREATE TABLE o (id int, v int8, filler text) WITH (fillfactor = 40);
	ALTER TABLE o ALTER filler SET STORAGE plain;
	INSERT INTO o SELECT i, hashint8extended(i, 1), repeat('x', 1400)
		FROM generate_series(1, 600) i;
	ALTER TABLE o SET (fillfactor = 100);
	CREATE INDEX o_v ON o USING rencoder (v)
		WITH (autosummarize = off, pages_per_range = 1);
});
wait_for_standby($primary, $standby);

my $settings =
  'SET enable_indexscan = off; SET max_parallel_workers_per_gather = 0;';
my $by_index = 'SET enable_seqscan = off; SET enable_indexscan = off; SET enable_bitmapscan = on;';
my $by_heap  = 'SET enable_seqscan = on; SET enable_indexscan = off; SET enable_bitmapscan = off;';

sub summarize_o_again
{
	$primary->safe_psql(
		'postgres', q{
		SELECT rencoder_compact('o_v', 0,
			pg_relation_size('o') / current_setting('block_size')::int - 1)});
	return;
}

# Rows $first .. $last are updated and deleted on the primary, and summarized
# anew by $summarize, while the standby has a snapshot.
sub old_snapshot
{
	my ($name, $first, $last, $summarize) = @_;
	my $list = join ', ', map { "hashint8extended($_, 1)" } $first .. $last;
	my $query = "SELECT count(*), sum(id) FROM o WHERE v IN ($list)";
	my $session = $standby->background_psql('postgres');
	my $before =
	  $standby->safe_psql('postgres', "SET enable_indexscan = off; "
	    . "SET enable_bitmapscan = off; $query");

	# No lock on the table or its index: REINDEX would wait for it.
	$session->query_safe($settings);
	$session->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
	$session->query_safe('SELECT 1');

	$primary->safe_psql('postgres',
		"UPDATE o SET v = v + 1 WHERE id BETWEEN $first AND $last AND id % 2 = 0");
	$primary->safe_psql('postgres',
		"DELETE FROM o WHERE id BETWEEN $first AND $last AND id % 4 = 1");
	$summarize->();
	is($primary->safe_psql('postgres', "SELECT rencoder_index_check('o_v', true)"),
		'', "$name: the primary has new summaries");
	wait_for_standby($primary, $standby);

	is($session->query_safe("$by_heap $query"),
		$before, "$name: an old snapshot on the standby has the rows");
	is($session->query_safe("$by_index $query"),
		$before, "$name: the index finds them");
	like($session->query_safe("$by_index EXPLAIN (COSTS OFF) $query"),
		qr/Bitmap Index Scan on o_v/, "$name: by the index indeed");
	is( $session->query_safe(
			"SELECT unindexed > 0 FROM rencoder_candidates('o_v', 1::int8, 2::int8)"),
		't',
		"$name: because it does not trust runs that lack them");
	is($session->query_safe("SELECT rencoder_index_check('o_v', true)"),
		'', "$name: and the check takes that into account");
	$session->query_safe('COMMIT');
	is($session->query_safe("$by_index $query"),
		$session->query_safe("$by_heap $query"), "$name: a new snapshot");
	is( $session->query_safe(
			"SELECT unindexed FROM rencoder_candidates('o_v', 1::int8, 2::int8)"),
		0, "$name: which trusts the runs");
	$session->quit;
	return;
}

old_snapshot('made again', 101, 130, \&summarize_o_again);
old_snapshot('REINDEX', 201, 230,
	sub { $primary->safe_psql('postgres', 'REINDEX INDEX o_v'); });
old_snapshot('REINDEX, summarized again', 301, 330,
	sub {
		$primary->safe_psql('postgres', 'REINDEX INDEX o_v');
		summarize_o_again();
	});

# Queries of the standby during replay: the storage moves under them.
my $churn = q{
	DO $$
	BEGIN
		FOR i IN 1 .. 1000 LOOP
			PERFORM rencoder_compact('t_v', i % 40, i % 40 + 30);
			PERFORM rencoder_maintain_index('t_v');
			PERFORM fill(50, 100 + i);
			COMMIT;
			IF i % 40 = 0 THEN
				TRUNCATE t;
				PERFORM fill(6000, 200 + i);
				COMMIT;
			END IF;
		END LOOP;
	END $$};
my ($in, $out) = ('', '');
my $client = IPC::Run::start(
	[ 'psql', '-XqAt', '-d', $primary->connstr('postgres'), '-c', $churn ],
	'<', \$in, '>', \$out, '2>', \$out);
my $compared = 0;
my $wrong    = 0;
while ($client->pumpable && $compared < 1000)
{
	my $few = rnd(31);
	my $rows = "SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM t WHERE few = $few AND v > 0";
	my $result = $standby->safe_psql('postgres',
		"BEGIN ISOLATION LEVEL REPEATABLE READ; $settings $by_index $rows; $by_heap $rows; COMMIT");
	my ($index, $heap) = split /\n/, $result;

	$compared++;
	$wrong++ if $index ne $heap;
	$client->pump_nb;
}
$client->finish;
is($out, '', 'the primary was not disturbed');
is($wrong, 0, "$compared queries on the standby during replay");
verify('after all');

# The standby becomes a primary and goes on.
$primary->stop('immediate');
$standby->promote;
$standby->safe_psql('postgres',
	"SELECT fill(3000, 9); SELECT rencoder_maintain_index('t_v'); VACUUM t");
is($standby->safe_psql('postgres', "SELECT rencoder_index_check(i, true) "
  . "FROM unnest('{t_v,t_few}'::regclass[]) i"),
	"\n", 'sound after promotion');
compare_many_with_seqscan($standby, 'postgres', some_queries(), 'promoted');

$standby->stop;
done_testing();
