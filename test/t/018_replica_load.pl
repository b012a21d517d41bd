# A standby with data checksums, under the load of everything at once: its
# answers by index are compared with its own sequential scans while the table
# grows, and is maintained and reindexed on the primary; then it is promoted while a run
# is made (INV-4, INV-7, INV-9, INV-13).
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderLoad;
use RencoderTest;
use Test::More;
use Time::HiRes qw(usleep);

my $SECONDS = $ENV{RENCODER_STRESS_SECONDS} || 6;

# The standby's snapshots hold nothing back on the primary, and replay waits
# for its queries.  It does not wait for ever: a query that waits for a lock of the primary's holds
# up the record that would release it, if a conflict with its snapshot comes first.  PostgreSQL
# notices that by the delay only, and ends the query, which pgbench tries again, or the session.
my ($primary, $standby) = start_primary_with_standby(
	checksums    => 1,
	conf         => "log_statement = none\nshared_buffers = 8MB\ndeadlock_timeout = 100ms\n"
	  . "wal_keep_size = '2GB'\n",
	standby_conf => "hot_standby_feedback = off\nmax_standby_streaming_delay = 10s\n"
	  . "full_page_writes = on\n");
load_schema($primary);
wait_for_standby($primary, $standby);
is($standby->safe_psql('postgres', 'SHOW data_checksums'), 'on', 'checksums');

# Again, until there was time for it.
my $number = 0;
for (my $round = 1; $round == 1 || ($number == 0 && $round <= 10); $round++)
{
	my @load = start_load($primary, $SECONDS, clients => 2, maintainers => 2);
	my $looks = start_pgbench($standby, 2, $SECONDS, 'look.sql@5', 'look_again.sql@1');

	wait_for_load(@load, $looks);
	is(errors_of_load(0, @load), '', 'primary: no wrong answer, no error');
	is(errors_of_load(1, $looks), '', 'standby: no wrong answer, no error');
	$number += (${ $looks->{out} } =~ /transactions actually processed: (\d+)/)[0] // 0;
}
cmp_ok($number, '>', 0, "$number times were answers compared on the standby");
verify_load($primary, 'the primary afterwards');
wait_for_standby($primary, $standby);
verify_load($standby, 'the standby afterwards', standby => 1);

# Runs of t_few_v are made anew, again and again, and VACUUM dawdles with it.
my $building = q{SELECT count(DISTINCT run) FROM rencoder_runs('t_few_v')
	WHERE kind = 'base' AND state = 'building'};
$primary->safe_psql('postgres', q{
	TRUNCATE t; SELECT put(15000, 3);
	REINDEX INDEX t_few_v;
	DROP INDEX t_v, t_s, t_p, t_half;
	SELECT rencoder_maintain_index('t_few_v')});
wait_for_standby($primary, $standby);
is($standby->safe_psql('postgres', $building), 0, 'no run is being made');
my @writers = start_pgbench($primary, 1, 60, 'insert.sql@1', 'update.sql@1');
my $vacuum = $primary->background_psql('postgres', on_error_stop => 0);
$vacuum->query_until(qr/started/, join '', "\\echo started\n",
	"SET vacuum_cost_delay = 3; SET vacuum_cost_limit = 1; SET vacuum_cost_page_hit = 1;\n",
	map { "UPDATE t SET v = hashint8extended(v, $_ + 4) WHERE id % 2 = 0;\n"
		  . "VACUUM (TRUNCATE off) t;\n" } 1 .. 100);
$standby->poll_query_until('postgres', "SELECT ($building) > 0")
  or die 'no run is seen that is being made on the standby';
usleep(rnd(200_000));
$primary->stop('immediate');
wait_for_load(@writers);
eval { $vacuum->quit };
$standby->promote;
note($standby->safe_psql('postgres', $building) . ' runs were being made at promotion');
verify_load($standby, 'promoted', standby => 1);
$standby->safe_psql('postgres', 'SELECT put(300, 5); UPDATE t SET few = few + 1, v = v - 1 '
  . 'WHERE id % 7 = 1');
verify_load($standby, 'promoted, rows changed');
$standby->safe_psql('postgres', $_)
  foreach ("SELECT rencoder_maintain_index('t_few_v'), rencoder_compact('t_few_v')",
	  'VACUUM t');
is($standby->safe_psql('postgres', $building), 0, 'no run is being made any more');
verify_load($standby, 'maintained after promotion');
unlike(slurp_file($_->logfile), qr/TRAP:|PANIC:|invalid page in block|terminated by signal/,
	$_->name . ': nothing unusual in the log')
  foreach ($primary, $standby);
$standby->stop;
done_testing();
