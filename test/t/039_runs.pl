# Keys that come to covered ranges, on the pending list and in deltas: they survive crashes at
# any moment, a standby has the same pages and finds the same rows, also while the primary makes,
# merges and frees deltas, and what a crash leaves of a run is freed.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderRunsInUse;
use RencoderTest;
use Test::More;

my $ROUNDS = 6;
my @TABLE = (rows => 12000, kept => 3000, part => 25, filler => 60, pages => 2,
	maintenance => ['VACUUM t']);
my $DELTAS = q{SELECT count(DISTINCT run) FROM rencoder_runs('t_idx') WHERE kind = 'delta'};
my $LEFT = "$DELTAS AND state <> 'live'";
my $LATEST = q{SELECT max(run) FROM rencoder_runs('t_idx')};

#
# Crashes while a session updates and another one makes deltas.  Pages reach the disk early,
# late or not at all.
#
my $node = new_node('crash',
	conf => "shared_buffers = 2MB\nbgwriter_delay = 10ms\nwal_writer_delay = 10ms\n"
	  . "restart_after_crash = on\n");
make_table($node, @TABLE);
ok(uses_index($node, 'postgres', 'SELECT id FROM t WHERE v = 5', 't_idx'), 'queries use the index');
my $left_over = 0;
# If none of these crashes has met a run that was being made or freed, others wait for one.
for (my $round = 1; $round <= $ROUNDS || ($left_over == 0 && $round <= 4 * $ROUNDS); $round++)
{
	$round <= $ROUNDS
	  ? crash_at_work($node, rnd_between(100_000, 900_000), "crash $round", $round % 3 == 0)
	  : crash_when($node, "($LEFT) > 0", "crash $round");
	$left_over += $node->safe_psql('postgres', $LEFT);
	verify($node, "crash $round");
	$node->safe_psql('postgres', "VACUUM t");
	verify($node, "after crash $round");
	is($node->safe_psql('postgres', $LEFT), 0,
		"after crash $round: nothing is left of other runs");
	cmp_ok($node->safe_psql('postgres', $DELTAS), '<=', 20,
		"after crash $round: deltas are merged");
}
cmp_ok($left_over, '>', 0, "$left_over runs were being made or freed in a crash");
$node->stop;

#
# A standby: the same pages, and scans beside replay.
#
my ($primary, $standby) = start_primary_with_standby(
	conf => "wal_consistency_checking = 'generic'\nwal_keep_size = '2GB'\n" .
		"max_standby_streaming_delay = -1\n");
make_table($primary, @TABLE);
my $state = q{SELECT string_agg(r::text, ' ' ORDER BY r::text) FROM rencoder_runs('t_idx') r
	UNION ALL SELECT m::text FROM rencoder_metapage('t_idx') m};
my @steps = (
	[ 'pending', 'SELECT change(1)' ],
	[ 'a delta', 'SELECT change(2); VACUUM t' ],
	[ 'more', join('; ', map { ("SELECT change($_)", 'VACUUM t') } 3 .. 8) ],
	[ 'read again',
		q{SELECT count(rencoder_compact('t_idx', b, b + 30)) FROM generate_series(5, 300, 20) b;
			SELECT change(9)} ],
	[ 'maintained',
		q{SELECT rencoder_maintain_index('t_idx'); SELECT change(10); VACUUM t} ],
	[ 'by sessions',
		q{UPDATE t SET v = v + 1 WHERE id > 3000; UPDATE t SET few = few + 1 WHERE id > 3000} ],
	# The worker cannot make a delta while the table is locked, and VACUUM frees many pages.
	[ 'spare pages are freed',
		q{ALTER INDEX t_idx SET (autosummarize = on); BEGIN;
			LOCK TABLE t IN SHARE ROW EXCLUSIVE MODE;
			UPDATE t SET v = v + 1 WHERE id > 3000; UPDATE t SET few = few + 1 WHERE id > 3000;
			COMMIT; ALTER INDEX t_idx SET (autosummarize = off); VACUUM t} ],
	[ 'again', 'VACUUM t; REINDEX INDEX t_idx; SELECT change(11)' ]);
foreach my $step (@steps)
{
	my ($name, $sql) = @$step;

	$primary->safe_psql('postgres', $sql);
	wait_for_standby($primary, $standby);
	is($standby->safe_psql('postgres', $state), $primary->safe_psql('postgres', $state),
		"$name: the same runs on the standby");
	verify($standby, $name);
}
unlike(slurp_file($standby->logfile), qr/inconsistent page found/,
	'no page was found different');

my $before = $primary->safe_psql('postgres', $LATEST);
look_at_work($primary, $standby, 2, "SELECT ($LATEST) > $before + 3");
cmp_ok($primary->safe_psql('postgres', $LATEST), '>', $before + 3, 'deltas came meanwhile');
unlike(slurp_file($standby->logfile), qr/inconsistent page found/,
	'no page was found different at the end');
$standby->stop;
$primary->stop;
done_testing();
