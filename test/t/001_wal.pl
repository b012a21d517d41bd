# Crash safety: whatever the moment of an immediate stop, the index covers
# every row afterwards, and goes on from there (INV-2, INV-4).
use strict;
use warnings;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderTest;
use Test::More;
use Time::HiRes qw(usleep);

my $ROUNDS = 8;

# Pages reach the disk early, late or not at all, as it happens.
my $node = new_node('main',
	conf => "shared_buffers = 2MB\nbgwriter_delay = 10ms\n"
	  . "wal_writer_delay = 10ms\n");

# Two columns: one with many distinct values, one with few and nulls.
$node->safe_psql(
	'postgres', q{
	CREATE TABLE t (id int, v int8, few int4, filler text);
	ALTER TABLE t ALTER filler SET STORAGE plain;
	CREATE INDEX t_idx ON t USING rencoder (v, few)
		WITH (autosummarize = off, pages_per_range = 1);
	CREATE SEQUENCE s;
	CREATE FUNCTION fill(n int, seed int) RETURNS void LANGUAGE sql AS $$
		INSERT INTO t SELECT nextval('s'), hashint8extended(i, seed),
			nullif(abs(hashint4extended(i, seed)) % 30, 7), repeat('x', 60)
		FROM generate_series(1, n) i
	$$;
});

sub some_queries
{
	my @queries;

	my $max_id = $node->safe_psql('postgres', 'SELECT coalesce(max(id), 1) FROM t');
	foreach my $i (1 .. 12)
	{
		my $id = rnd_between(1, $max_id);
		my $width = sprintf '%d', 10**rnd(18);

		push @queries,
		  "SELECT id FROM t WHERE v = (SELECT v FROM t WHERE id = $id)",
		  "SELECT id FROM t WHERE v BETWEEN (SELECT v FROM t WHERE id = $id) / 2 "
		  . "AND (SELECT v FROM t WHERE id = $id) / 2 + $width",
		  "SELECT id FROM t WHERE few = " . rnd(31) . " AND v > 0",
		  "SELECT id FROM t WHERE few IS NULL AND v < " . sprintf '%d', -10**(17 + rnd(2));
	}
	return \@queries;
}

sub verify
{
	my ($name) = @_;
	my ($ret, $out, $err) = $node->psql('postgres',
		"SELECT rencoder_index_check('t_idx', true)");

	is($err, '', "$name: index is sound and covers all rows");
	compare_many_with_seqscan($node, 'postgres', some_queries(), $name);
	return;
}

sub crash
{
	$node->stop('immediate');
	$node->start;
	return;
}

# Maintenance has no transaction id, so its commit does not flush; this does.
sub flush
{
	$node->safe_psql('postgres', "SELECT pg_logical_emit_message(true, 'rencoder', '')");
	return;
}

# Runs of a state: "live", "building".
sub count_state
{
	my ($state) = @_;

	return $node->safe_psql('postgres',
		"SELECT count(*) FROM rencoder_runs('t_idx') WHERE attnum = 1 AND state = '$state'");
}

# A client that runs until it is killed.
sub start_client
{
	my ($sql) = @_;
	my ($in, $out) = ('', '');
	my $handle = IPC::Run::start(
		[ 'psql', '-XqAt', '-d', $node->connstr('postgres'), '-c', $sql ],
		'<', \$in, '>', \$out, '2>', \$out);

	return $handle;
}

is($node->safe_psql('postgres', 'SHOW fsync'), 'off', 'crashes of the server only');
crash();
verify('empty');

# Rows on pages that are indexed, that are not, and on new ones; one transaction is
# still open at the crash.
$node->safe_psql('postgres', 'SELECT fill(20000, 1)');
crash();
verify('inserted');
$node->safe_psql('postgres', "SELECT rencoder_maintain_index('t_idx')");
flush();
crash();
verify('maintained');
is($node->safe_psql('postgres', "SELECT unindexed FROM rencoder_candidates('t_idx', 1, 2)"),
	0, 'no page is left');

my $open = $node->background_psql('postgres');
$open->query_safe('BEGIN; DELETE FROM t WHERE id % 3 = 0; SELECT fill(3000, 2)');
$node->safe_psql('postgres',
	'VACUUM t; INSERT INTO t SELECT 0, v + 1, few, filler FROM t WHERE id % 7 = 0');
$node->stop('immediate');
eval { $open->quit; };
$node->start;
verify('inserted into indexed pages, one transaction open');
$node->safe_psql('postgres', 'DELETE FROM t WHERE id % 5 = 1; VACUUM t; SELECT fill(5000, 3)');
crash();
verify('inserted into free space after VACUUM');

# For certain in the middle of a reading: the index expression waits.
$node->safe_psql(
	'postgres', q{
	CREATE FUNCTION waits(v int8) RETURNS int8 LANGUAGE plpgsql IMMUTABLE AS $$
	BEGIN
		IF current_setting('rencodertest.wait', true) = 'on' THEN
			PERFORM pg_catalog.pg_advisory_lock_shared(1);
			PERFORM pg_catalog.pg_advisory_unlock_shared(1);
		END IF;
		RETURN v;
	END $$;
	CREATE TABLE w (v int8, filler text) WITH (fillfactor = 10);
	CREATE INDEX w_idx ON w USING rencoder (waits(v))
		WITH (autosummarize = off, pages_per_range = 1);
	INSERT INTO w SELECT i, repeat('x', 300) FROM generate_series(1, 40) i;
});
foreach my $round (1 .. 2)
{
	my $stopper = $node->background_psql('postgres');
	$stopper->query_safe('SELECT pg_advisory_lock(1)');
	my $maintainer = start_client(
		"SET rencodertest.wait = on; SELECT rencoder_maintain_index('w_idx')");
	$node->poll_query_until('postgres',
		"SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock' "
		  . "AND wait_event = 'advisory'")
	  or die 'the maintainer does not wait';
	is( $node->safe_psql('postgres',
			"SELECT count(*) > 0 FROM rencoder_runs('w_idx') WHERE state = 'building'"),
		't', "round $round: a run is being made");

	# The commit also flushes what the maintainer has logged.
	$node->safe_psql('postgres',
		"INSERT INTO w VALUES (-$round, repeat('x', 300))");
	$node->stop('immediate');
	eval { $stopper->quit; };
	eval { $maintainer->finish; };
	$node->start;
	is($node->safe_psql('postgres', "SELECT rencoder_index_check('w_idx', true)"),
		'', "round $round: sound after a crash in the middle of it");
	compare_with_seqscan($node, 'postgres',
		"SELECT v FROM w WHERE waits(v) IN (-1, -2, 7, 39)",
		index => 'w_idx');
}
cmp_ok($node->safe_psql('postgres', "SELECT rencoder_maintain_index('w_idx')"),
	'>', 0, 'maintenance goes on with what a crash left');
is( $node->safe_psql('postgres',
		"SELECT count(*) FROM rencoder_runs('w_idx') WHERE state <> 'live'"),
	0, 'and finishes it');
$node->safe_psql('postgres', "SELECT rencoder_index_check('w_idx', true)");
compare_with_seqscan($node, 'postgres',
	"SELECT v FROM w WHERE waits(v) BETWEEN -5 AND 3",
	index => 'w_idx');

# At any moment: parts of the table are read again, rows inserted, until the server stops.
my $churn = q{
	DO $$
	BEGIN
		FOR i IN 1 .. 1000 LOOP
			PERFORM rencoder_compact('t_idx', i % 50, i % 50 + 60);
			PERFORM rencoder_maintain_index('t_idx');
			COMMIT;
		END LOOP;
	END $$};
my $insert = q{
	DO $$
	BEGIN
		FOR i IN 1 .. 100000 LOOP
			PERFORM fill(20, i);
			COMMIT;
		END LOOP;
	END $$};
my %seen;
foreach my $round (1 .. $ROUNDS)
{
	# A fresh index.
	$node->safe_psql('postgres',
		'DROP INDEX t_idx; CREATE INDEX t_idx ON t USING rencoder (v, few) '
		  . 'WITH (autosummarize = off, pages_per_range = 1)')
	  if $round == 3;
	$node->safe_psql('postgres',
		'BEGIN; CREATE TABLE kept AS SELECT * FROM t LIMIT 3000; TRUNCATE t; '
		  . 'INSERT INTO t SELECT * FROM kept; DROP TABLE kept; COMMIT')
	  if $round == 5;
	my @clients = map { start_client($_) } ($churn, $insert);
	usleep(rnd(700_000));
	$node->stop('immediate');
	foreach my $client (@clients)
	{
		eval { $client->finish; };
	}
	$node->start;
	$seen{$_} += count_state($_) for qw(building live freeing);
	verify("round $round");
	$node->safe_psql('postgres',
		"SELECT fill(200, $round); SELECT rencoder_maintain_index('t_idx')");
	verify("round $round, maintained");
}
note("states found after crashes: "
	  . join(', ', map { "$seen{$_} $_" } sort keys %seen));

$node->stop;
done_testing();
