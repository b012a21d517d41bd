# Crashes under load: whatever the moment, no row is lost from any index, and
# work goes on (INV-2, INV-4, INV-7).
#
# RENCODER_CRASHES says how many (default 8).  100 of them:
#
#	RENCODER_CRASHES=100 bash test/sandbox.sh tap test/t/015_crash.pl
#
# 001_wal.pl crashes at places that are known, this test wherever it happens:
# inserts, updates, deletes, VACUUM, maintenance by sessions and worker,
# REINDEX (CONCURRENTLY) of five indexes, all at once.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderLoad;
use RencoderTest;
use Test::More;
use Time::HiRes qw(usleep time);

my $CRASHES = $ENV{RENCODER_CRASHES} || 8;

# Seconds of load before a crash, at most.
my $LOAD_S = 1.2;

# The table is emptied when it has grown beyond this many bytes.
my $MAX_SIZE = 12_000_000;

# Pages reach the disk early, late or not at all; checkpoints come often, so
# that many changes are the first to a page, which logs it whole.
my $node = new_node('main', checksums => 1,
	conf => "shared_buffers = 4MB\nbgwriter_delay = 10ms\nwal_writer_delay = 10ms\n"
	  . "min_wal_size = 32MB\nmax_wal_size = 32MB\nrestart_after_crash = on\n"
	  . "full_page_writes = on\nlog_min_messages = warning\nlog_statement = none\n");
load_schema($node);
is($node->safe_psql('postgres', 'SHOW data_checksums'), 'on', 'checksums');
my %indexes_used = map {
	$node->safe_psql('postgres',
		"SET enable_seqscan = off; EXPLAIN (COSTS OFF) SELECT * FROM t WHERE "
		  . $node->safe_psql('postgres', "SELECT condition($_)"))
	  =~ /Index Scan (?:on|using) (\w+)/ ? ($1 => 1) : ()
} 0 .. 10;
is(join(' ', sort keys %indexes_used), join(' ', sort @LOAD_INDEXES),
	'the queries use all indexes');

# After "kill -9" its children need a moment to notice, and keep the shared
# memory until then.
sub kill_postmaster
{
	my ($load) = @_;
	my $pid = (split /\n/, slurp_file($node->data_dir . '/postmaster.pid'))[0];

	$node->kill9;
	wait_for_load(@$load);
	foreach my $try (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		usleep(100_000);
		next if kill 0, $pid;
		return if $node->start(fail_ok => 1);
		$node->stop('fast', fail_ok => 1);
	}
	die 'the server does not start';
}

# Kills a process of the server; the postmaster ends all others and recovers.
sub kill_child
{
	my ($load) = @_;
	my ($pid, $type);

	# The worker may have ended by then.
	do
	{
		($pid, $type) = split /\|/, $node->safe_psql('postgres',
			q{SELECT pid, backend_type FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND
				backend_type IN ('client backend', 'rencoder worker', 'checkpointer',
					'background writer')
				ORDER BY backend_type <> 'rencoder worker' AND random() < 0.5, random() LIMIT 1});
	} until kill 'KILL', $pid;
	wait_for_load(@$load);
	wait_for_server($node);
	return "kill -9 of a $type";
}

sub crash
{
	my ($load) = @_;
	my $how = rnd(4);

	return kill_child($load) if $how == 0;
	if ($how == 1)
	{
		kill_postmaster($load);
		return 'kill -9 of the postmaster';
	}
	$node->stop('immediate');
	wait_for_load(@$load);
	$node->start;
	return 'immediate stop';
}

my $states = q{SELECT coalesce(string_agg(state || ' ' || n, ' ' ORDER BY state), '') FROM (
	SELECT state, count(*) AS n FROM pg_index i, rencoder_runs(i.indexrelid)
		WHERE indrelid = 't'::regclass AND indisvalid AND attnum = 1 GROUP BY state) s};
my %seen;
foreach my $round (1 .. $CRASHES)
{
	wait_for_sessions_to_end($node);
	my @load = start_load($node, 600);

	# A client that connects after the crash would not end.
	$node->poll_query_until('postgres', q{SELECT count(*) = 5 FROM pg_stat_activity
		WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()})
	  or die 'the load does not start';
	usleep(1_000_000 * 0.2 + rnd(1_000_000 * $LOAD_S));
	my $how = crash(\@load);
	my $name = "crash $round, $how";
	is(errors_of_load(1, @load), '', "$name: no client met an error before");
	my %found = split / /, $node->safe_psql('postgres', $states);
	$seen{$_} += $found{$_} foreach keys %found;
	verify_load($node, $name);

	# Now and then the index goes on from there at once, or from the beginning.
	if ($node->safe_psql('postgres', "SELECT pg_relation_size('t')") > $MAX_SIZE)
	{
		$node->safe_psql('postgres', 'TRUNCATE t; SELECT put(9000, 7)');
	}
	elsif (rnd(4) == 0)
	{
		$node->safe_psql('postgres',
			"SELECT rencoder_maintain_index(i) FROM unnest('{"
			  . join(',', @LOAD_INDEXES) . "}'::regclass[]) i;"
			  . "SELECT rencoder_compact('" . rnd_pick(@LOAD_INDEXES) . "')");
		verify_load($node, "$name, maintained");
	}
}
note("states of runs after crashes: " . join(', ', map { "$seen{$_} $_" } sort keys %seen));
unlike(slurp_file($node->logfile), qr/TRAP:|PANIC:|invalid page in block/,
	"$CRASHES crashes: no assertion, no panic, no damaged page");
$node->stop;
done_testing();
