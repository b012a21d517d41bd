# Base runs that are made in use: whatever moment a crash comes at, no row is lost and the next
# maintenance tidies up; a standby has the same pages and finds the same rows, also while the
# primary makes, merges and frees runs; the worker makes them by itself.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderRunsInUse;
use RencoderTest;
use Test::More;

my $ROUNDS = 4;

# Four rows a page, half of which is free, so 512 rows a group.
my @TABLE = (rows => 3000, kept => 1000, part => 97, filler => 850, pages => 1, grow => 1,
	maintenance => [ ('VACUUM t') x 3, q{SELECT rencoder_compact('t_idx')} ]);
my $BASES = q{SELECT count(DISTINCT run) FROM rencoder_runs('t_idx') WHERE kind = 'base'};
my $LEFT = q{SELECT count(*) FROM rencoder_runs('t_idx') WHERE kind = 'base' AND state <> 'live'};

#
# Crashes.  Pages reach the disk early, late or not at all.  Rounds more, until a crash has met
# a base run that was being made or freed; so many rows that it takes longer to make one than WAL
# takes to reach the disk.
#
my $node = new_node('crash',
	conf => "shared_buffers = 2MB\nbgwriter_delay = 10ms\nwal_writer_delay = 10ms\n");
make_table($node, @TABLE, rows => 12_000);
ok(uses_index($node, 'postgres', 'SELECT id FROM t WHERE v = 5', 't_idx'), 'queries use the index');
my $met = 0;
for (my $round = 1; $round <= $ROUNDS || ($met == 0 && $round <= 6 * $ROUNDS); $round++)
{
	crash_at_work($node, rnd_between(300_000, 1_500_000), "crash $round");
	$met++ if $node->safe_psql('postgres', $LEFT) > 0;
	verify($node, "crash $round");
	$node->safe_psql('postgres', 'VACUUM t');
	is($node->safe_psql('postgres', $LEFT), '0', "crash $round: what it left is freed");
	verify($node, "after crash $round, tidied up");
}
cmp_ok($met, '>', 0, 'crashes have met base runs that were being made or freed');
$node->safe_psql('postgres', $_) foreach 'VACUUM t', q{SELECT rencoder_compact('t_idx')};
is($node->safe_psql('postgres', $BASES), '1', 'one base run of all');
verify($node, 'compacted');
unlike(slurp_file($node->logfile), qr/TRAP:|PANIC:|invalid page in block/,
	'no panic, no damaged page');
$node->stop;

#
# A standby, with queries while the primary is at work.
#
my ($primary, $standby) = start_primary_with_standby(
	conf => "hot_standby_feedback = on\nwal_receiver_status_interval = 1\n");
make_table($primary, @TABLE);
look_at_work($primary, $standby, 5);
is($standby->safe_psql('postgres', $BASES), $primary->safe_psql('postgres', $BASES),
	'the standby has the same runs');

#
# The worker does it.
#
$primary->safe_psql('postgres', q{DELETE FROM t WHERE id > 3000; VACUUM t;
	ALTER INDEX t_idx SET (autosummarize = on); REINDEX INDEX t_idx});
is($primary->safe_psql('postgres', $BASES), '1', 'the index is made anew');
$primary->safe_psql('postgres', "SELECT fill(500001 + $_ * 500, 500500 + $_ * 500)") foreach 0 .. 7;
$primary->poll_query_until('postgres', "SELECT ($BASES) > 1")
  or die 'the worker makes no run';
pass('the worker makes a run of full groups');
wait_for_standby($primary, $standby);
verify($_, $_->name . ', by the worker') foreach $primary, $standby;

# Fewer groups than it makes a run of while rows come: it waits until none come any more.
$primary->safe_psql('postgres', 'REINDEX INDEX t_idx');
is($primary->safe_psql('postgres', $BASES), '1', 'the index is made anew again');
$primary->safe_psql('postgres', 'SELECT fill(600001, 600700)');
ok($primary->poll_query_until('postgres', "SELECT ($BASES) > 1"),
	'the worker makes a run of a full group or two, when the table is quiet');
wait_for_standby($primary, $standby);
verify($_, $_->name . ', when it is quiet') foreach $primary, $standby;

$standby->stop;
$primary->stop;
done_testing();
