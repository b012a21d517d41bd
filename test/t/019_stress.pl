# Everything together for a while: each answer by an index is compared with the
# sequential scan in the same snapshot, and no client meets an error.
#
# RENCODER_STRESS_SECONDS says for how long (default 12); bench/checks/stress.sh does
# the same for ten minutes.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderLoad;
use RencoderTest;
use Test::More;

my $SECONDS = $ENV{RENCODER_STRESS_SECONDS} || 12;

my $node = new_node('main',
	conf => "shared_buffers = 8MB\nsynchronous_commit = off\nlog_statement = none\n"
	  . "deadlock_timeout = 100ms\n");
load_schema($node);

# Indexes that no query has used.  REINDEX CONCURRENTLY takes the counts along.
sub unused
{
	wait_for_sessions_to_end($node);
	my %used = map { $_ => 1 } split /\n/, $node->safe_psql('postgres',
		'SELECT indexrelname FROM pg_stat_user_indexes WHERE idx_scan > 0');

	return join ' ', grep { !$used{$_} } @LOAD_INDEXES;
}

# Again, until there was time for all of it.
my ($looks, @done) = (0, 0, 0);
for (my $round = 1; $round <= 10; $round++)
{
	my @load = start_load($node, $SECONDS);

	wait_for_load(@load);
	is(errors_of_load(0, @load), '', 'no wrong answer, no error');
	foreach my $i (0, 1)
	{
		$done[$i] += (${ $load[$i]{out} } =~ /transactions actually processed: (\d+)/)[0] // 0;
		is((${ $load[$i]{out} } =~ /number of failed transactions: (\d+)/)[0], 0, 'none failed');
	}
	$looks += (${ $load[0]{out} } =~ /look\.sql\n.*\n - (\d+) transactions/)[0] // 0;
	last if $looks > 0 && $done[0] > 0 && $done[1] > 0 && unused() eq '';
}
cmp_ok($_, '>', 0, "$_ transactions") foreach @done;
cmp_ok($looks, '>', 0, "$looks times were answers compared");
is(unused(), '', 'all indexes were used');
verify_load($node, 'afterwards');
unlike(slurp_file($node->logfile), qr/TRAP:|PANIC:|WARNING:/, 'nothing unusual in the log');
$node->stop;
done_testing();
