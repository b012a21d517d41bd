# An expression of an index that waits for ever keeps the worker only from its own index: while
# others wait, the job is cancelled and goes behind them.  Nothing of it is lost.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderTest;
use RencoderWorker;
use Test::More;

my $node = start_node();
my $seed = seed();

# The worker stands still in the expression.
my $gate = $node->background_psql('postgres');
my $log  = -s $node->logfile;
make_busy('alone', $gate);
my $pid     = sql($WORKER_PID);
my $PUT_OFF = qr/LOG:  put off automatic maintenance of index "\w+\.public\.\w+"/;

# Another table grows: it is served, whatever the first one does.
sql(q{CREATE TABLE other (v int8, filler text) WITH (fillfactor = 10);
	ALTER TABLE other ALTER filler SET STORAGE plain;
	CREATE INDEX other_v ON other USING rencoder (v)
		WITH (pages_per_range = 1)});
sql(q{INSERT INTO other SELECT i, repeat('x', 1000) FROM generate_series(1, 60) i});
wait_until(q{SELECT unindexed FROM rencoder_candidates('other_v', 0::int8, 0::int8)}, '0',
	'the other table is indexed');
like(slurp_file($node->logfile, $log), $PUT_OFF, 'the job was put off');
is(sql($WORKER_PID), $pid, 'by the same worker');
is(unindexed('t_slow') > 0, 1, 'the first table waits');

# Nobody asks for it again.
$gate->query_safe('SELECT pg_advisory_unlock(1)');
wait_for_tail('t_slow', 'the first table is served after that');
$log = slurp_file($node->logfile, $log);
unlike($log, qr/ERROR|FATAL|PANIC|WARNING/, 'no errors');
sql("$SESSION SELECT rencoder_index_check('t_slow', true)");
compare_with_seqscan($node, 'postgres', 'SELECT * FROM other WHERE v BETWEEN 7 AND 20',
	index => 'other_v');

$gate->quit;
$node->stop;
done_testing();
