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
my $BEGUN =
  q{SELECT count(DISTINCT run) FROM rencoder_runs('t_idx')
	WHERE kind = 'base' AND state = 'building'};
my $LEFT = q{SELECT count(*) FROM rencoder_runs('t_idx') WHERE kind = 'base' AND state <> 'live'};

#
# Crashes.  Pages reach the disk early, late or not at all.  The last crash meets a base run that
# is being made of groups without a summary: VACUUM dawdles with it, until what the list of runs
# says of it is on disk.
#
my $node = new_node('crash',
	conf => "shared_buffers = 2MB\nbgwriter_delay = 10ms\nwal_writer_delay = 10ms\n");
make_table($node, @TABLE, rows => 12_000);
ok(uses_index($node, 'postgres', 'SELECT id FROM t WHERE v = 5', 't_idx'), 'queries use the index');

sub verify_and_clean_up
{
	my ($name) = @_;

	verify($node, $name);
	$node->safe_psql('postgres', 'VACUUM t');
	is($node->safe_psql('postgres', $LEFT), '0', "$name: what it left is freed");
	verify($node, "after $name, cleaned up");
	return;
}

foreach my $round (1 .. $ROUNDS)
{
	crash_at_work($node, rnd_between(300_000, 1_500_000), "crash $round");
	verify_and_clean_up("crash $round");
}
$node->safe_psql('postgres', 'SELECT fill(700001, 703000)');
$node->safe_psql('postgres', "ALTER DATABASE postgres SET $_ = 1")
  foreach qw(vacuum_cost_delay vacuum_cost_limit vacuum_cost_page_hit vacuum_cost_page_miss);
$node->safe_psql('postgres', 'ALTER DATABASE postgres SET vacuum_cost_page_dirty = 0');
my $vacuum = start_sql($node, 'VACUUM t');
$node->poll_query_until('postgres', "SELECT ($LEFT) > 0") or die 'VACUUM makes no base run';
$node->safe_psql('postgres', 'CREATE TABLE flushed ()');
$node->stop('immediate');
$vacuum->{handle}->finish;
$node->start;
cmp_ok($node->safe_psql('postgres', $LEFT), '>', 0, 'a crash has met a run that was being made');
cmp_ok($node->safe_psql('postgres', $BEGUN), '>', 0, 'of pages that had no run');
$node->safe_psql('postgres', 'SELECT change(1)');
$node->safe_psql('postgres', 'ALTER DATABASE postgres RESET ALL');
verify_and_clean_up('crash of VACUUM');
is($node->safe_psql('postgres', $BEGUN), '0', 'no range is left summarizing');
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
