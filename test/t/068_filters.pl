# Runs of matrices (storage = filter): they survive crashes while they are made and taken away, a
# standby has the same pages, and scans beside all of that find each row, though windows, which bear
# no number, are used again.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderRunsInUse;
use RencoderTest;
use Test::More;

my $ROUNDS = 3;
my @TABLE = (rows => 6000, kept => 2000, part => 25, filler => 60, pages => 2, grow => 1,
	stored => 'filter', maintenance => [ 'VACUUM t',
		q{SELECT rencoder_compact('t_idx', b, b + 40) FROM generate_series(0, 90, 30) b} ]);
my $RUNS = q{SELECT count(DISTINCT run) FROM rencoder_runs('t_idx') WHERE kind = 'matrix'};
my $LATEST = q{SELECT max(run) FROM rencoder_runs('t_idx')};

my $node = new_node('crash',
	conf => "shared_buffers = 2MB\nbgwriter_delay = 10ms\nwal_writer_delay = 10ms\n"
	  . "restart_after_crash = on\n");
make_table($node, @TABLE);
ok(uses_index($node, 'postgres', 'SELECT id FROM t WHERE v = 5', 't_idx'), 'queries use the index');
my $left_over = 0;
my $LEFT = "$RUNS AND state <> 'live'";
# If none of these crashes has met a run that was being made or freed, others wait for one.
for (my $round = 1; $round <= $ROUNDS || ($left_over == 0 && $round <= 4 * $ROUNDS); $round++)
{
	$round <= $ROUNDS
	  ? crash_at_work($node, rnd_between(100_000, 600_000), "crash $round", $round % 3 == 0)
	  : crash_when($node, "($LEFT) > 0", "crash $round");
	$left_over += $node->safe_psql('postgres', $LEFT);
	verify($node, "crash $round");
	$node->safe_psql('postgres', 'VACUUM t');
	is($node->safe_psql('postgres', $LEFT), 0,
		"after crash $round: nothing is left of other runs");
	verify($node, "after crash $round");
}
cmp_ok($left_over, '>', 0, "$left_over runs were being made or freed in a crash");
$node->stop;

my ($primary, $standby) = start_primary_with_standby(
	conf => "wal_consistency_checking = 'generic'\nwal_keep_size = '2GB'\n" .
		"max_standby_streaming_delay = -1\n");
make_table($primary, @TABLE);
foreach my $step ([ 'late rows', 'SELECT change(1)' ], [ 'a delta', 'SELECT change(2); VACUUM t' ],
	[ 'read again', q{SELECT rencoder_compact('t_idx', 10, 50); SELECT change(3)} ],
	[ 'the tail', 'SELECT fill(50001, 53000); VACUUM t' ],
	[ 'one run', q{SELECT rencoder_compact('t_idx'); REINDEX INDEX t_idx; SELECT change(4)} ])
{
	my ($name, $sql) = @$step;

	$primary->safe_psql('postgres', $sql);
	wait_for_standby($primary, $standby);
	verify($standby, $name);
}
my $before = $primary->safe_psql('postgres', $LATEST);
look_at_work($primary, $standby, 2, "SELECT ($LATEST) > $before + 8");
cmp_ok($primary->safe_psql('postgres', $LATEST), '>', $before + 8, 'runs came meanwhile');
unlike(slurp_file($standby->logfile), qr/inconsistent page found/, 'no page was found different');
$standby->stop;
$primary->stop;
done_testing();
