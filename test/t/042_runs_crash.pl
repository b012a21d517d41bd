# Crashes while runs are made, merged and freed: whatever the moment, no row is lost, and
# the next maintenance cleans up (INV-4, INV-7, INV-13).
#
# RENCODER_CRASHES says how many (default 10).  In turn groups are flushed, deltas are merged, base
# runs are merged, the index is compacted and the tail is noted, beside a session that writes.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderRuns;
use RencoderTest;
use Test::More;
use Time::HiRes qw(usleep);

my $CRASHES = $ENV{RENCODER_CRASHES} || 10;

# The table is made smaller when it has more rows.
my $MAX_ROWS = 9000;

# Name, what is repeated.  A group has 512 rows; eight runs of about a size become one.
my @work = (
	[ 'flush', 'SELECT put(700)', q{SELECT rencoder_maintain_index('t_idx')}, 'VACUUM t' ],
	[ 'deltas', q{UPDATE t SET few = (few + 1) % 30 FROM (SELECT id AS mine FROM t WHERE id >= 500
		FOR UPDATE SKIP LOCKED) l WHERE id = mine}, 'VACUUM t' ],
	[ 'bases', 'SELECT put(520)', 'VACUUM t' ],
	[ 'compact', 'SELECT change(7)', q{SELECT rencoder_compact('t_idx')} ],
	[ 'tail', 'SELECT put(60)', q{SELECT rencoder_maintain_index('t_idx')}, 'SELECT change(11)' ]);

# Pages reach the disk early, late or not at all.
my $node = new_node('main', checksums => 1,
	conf => "shared_buffers = 2MB\nbgwriter_delay = 10ms\nwal_writer_delay = 10ms\n"
	  . "min_wal_size = 32MB\nmax_wal_size = 32MB\nrestart_after_crash = on\n");
load_runs_table($node, 3000);
create_runs_index($node);
ok(uses_index($node, 'postgres', 'SELECT id FROM t WHERE v = 5', 't_idx'), 'queries use the index');

# Kills the session that does the work; the postmaster ends all others and recovers.
sub kill_session
{
	my (@sessions) = @_;
	my $pid = $node->safe_psql('postgres', q{SELECT pid FROM pg_stat_activity
		WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
		ORDER BY query LIKE 'CALL%' LIMIT 1});

	kill 'KILL', $pid if $pid;
	$_->{handle}->finish foreach @sessions;
	wait_for_server($node);
	return 'kill -9 of a session';
}

sub crash
{
	my (@sessions) = @_;

	return kill_session(@sessions) if rnd(3) == 0;
	$node->stop('immediate');
	$_->{handle}->finish foreach @sessions;
	$node->start;
	return 'immediate stop';
}

my %met;

# Rounds more, until crashes have met runs that were being made or freed.
for (my $round = 1; $round <= $CRASHES || (!%met && $round <= 10 * $CRASHES); $round++)
{
	my ($what, @commands) = @{ $work[ $round % @work ] };
	my $writer = start_sql($node, 'CALL write_some()');
	my $maintenance = start_repeatedly($node, @commands);

	# A session that connects after the crash would not end.
	$node->poll_query_until('postgres', q{SELECT count(*) >= 3 FROM pg_stat_activity
		WHERE backend_type = 'client backend'}) or die 'the sessions do not start';
	usleep(rnd_between(150_000, 800_000));
	my $how = crash($writer, $maintenance);
	my $name = "crash $round, $what, $how";
	unlike(${ $maintenance->{err} }, qr/^(?!.*(terminat|server closed|connection)).*ERROR/m,
		"$name: no error before");
	my %state = runs_state($node);
	$met{$_}++ foreach grep { !/^live/ } keys %state;
	verify_runs($node, $name, 3);

	# Half of the time all goes on from there, unless there is something to clean up.
	next if rnd(2) == 0 && $round < $CRASHES && !grep { !/^live/ } keys %state;
	$node->safe_psql('postgres', "DELETE FROM t WHERE id > 100000 AND id % 10 > 0")
	  if $node->safe_psql('postgres', 'SELECT count(*) FROM t') > $MAX_ROWS;
	$node->safe_psql('postgres', $_) foreach 'VACUUM t', rnd(3) > 0 ? 'SELECT 1' :
	  q{SELECT rencoder_compact('t_idx')};
	is(join(' ', grep { !/^live/ } keys %{ { runs_state($node) } }), '',
		"$name: what it left is freed");

	verify_runs($node, "$name, cleaned up", 3);
}
note('met by crashes: ' . join(', ', map { "$met{$_} $_" } sort keys %met));
cmp_ok(scalar %met, '>', 0, 'crashes have met what was being made or freed');
unlike(slurp_file($node->logfile), qr/TRAP:|PANIC:|invalid page in block/,
	'no assertion, no panic, no damaged page');
$node->stop;
done_testing();
