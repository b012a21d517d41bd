# Everything together for a while: each answer by an index is compared with the
# sequential scan in the same snapshot, and no client meets an error.
#
# RENCODER_STRESS_SECONDS says for how long (default 12); bench/stress.sh does
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
my @load = start_load($node, $SECONDS);
wait_for_load(@load);
is(errors_of_load(0, @load), '', 'no wrong answer, no error');
foreach my $load (@load)
{
	my ($done) = ${ $load->{out} } =~ /transactions actually processed: (\d+)/;

	cmp_ok($done || 0, '>', 0, ($done || 0) . ' transactions');
	my ($failed) = ${ $load->{out} } =~ /number of failed transactions: (\d+)/;
	is($failed, 0, 'none failed');
}
my ($looks) = ${ $load[0]{out} } =~ /look\.sql\n.*\n - (\d+) transactions/;
cmp_ok($looks || 0, '>', 0, ($looks || 0) . ' times were answers compared');
foreach my $index (@LOAD_INDEXES)
{
	cmp_ok($node->safe_psql('postgres', "SELECT coalesce(sum(idx_scan), 0) "
	  . "FROM pg_stat_user_indexes WHERE indexrelname = '$index'"),
		'>', 0, "$index was used");
}
verify_load($node, 'afterwards');
unlike(slurp_file($node->logfile), qr/TRAP:|PANIC:|WARNING:/, 'nothing unusual in the log');
$node->stop;
done_testing();
