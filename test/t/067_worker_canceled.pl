# A worker that is canceled tries again after a minute, and one that is terminated is followed by
# another.  Nearly all of the time this test only waits.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderTest;
use RencoderWorker;
use Test::More;

my $node = start_node();
my $seed = seed();

# The worker stands still.
my $gate = $node->background_psql('postgres');
make_busy('cancel', $gate);
my $pid = sql($WORKER_PID);
my $log = -s $node->logfile;
sql("SELECT pg_cancel_backend($pid)");
$node->wait_for_log(qr/ERROR:  canceling statement due to user request/, $log);
wait_until($BUSY, '0', 'canceled');
is(sql($WORKER_PID), $pid, 'it is the same worker');
wait_until($BUSY, '1', 'it stays, and tries again after a minute');
is(sql($WORKER_PID), $pid, 'it is the same worker still');
sql("SELECT pg_cancel_backend($pid)");
wait_until($BUSY, '0', 'canceled again');
sql("$SESSION SELECT grow(1, $seed)");
wait_until($BUSY, '1', 'asked for meanwhile it is tried again after another minute');
sql("SELECT pg_terminate_backend($pid)");
wait_until($WORKERS, '0', 'terminated');
$gate->query_safe('SELECT pg_advisory_unlock(1)');
make_busy('after a termination', $gate);
isnt(sql($WORKER_PID), $pid, 'it is another worker');
$gate->query_safe('SELECT pg_advisory_unlock(1)');
$gate->quit;

$node->stop;
done_testing();
