# Crashes while the worker works, and servers where no worker is to be had.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderTest;
use RencoderWorker;
use Test::More;
use Time::HiRes qw(usleep);

my $node = start_node();
my $seed = seed();

#
# Crashes while the worker works.
#
sql(q{CREATE INDEX t_v ON t USING rencoder (v) WITH (pages_per_range = 1)});
foreach my $round (1 .. 4)
{
	my $client = start_sql($node, "DO \$\$ BEGIN FOR i IN 1 .. 100000 LOOP "
	  . "PERFORM grow(10, $seed + $round * 100 + i); COMMIT; END LOOP; END \$\$");
	wait_until($WORKERS, '1', "round $round: there is a worker");
	usleep(rnd(300_000));
	$node->stop('immediate');
	$client->{handle}->finish;
	$node->start;
	sql("SELECT rencoder_index_check('t_v', true)");
	compare_with_seqscan($node, 'postgres',
		"SELECT * FROM t WHERE v = hashint8extended(1, $seed + $round * 100 + 1)",
		index => 't_v');
}
sql("SELECT grow(60, $seed)");
wait_for_tail('t_v', 'the ranges of the crash are made up for');

#
# No worker to be had: sessions do it.  A page that cannot be read in another
# range is not the INSERT's concern.
#
my $path = sql(q{CREATE TABLE d (v int8, filler text); ALTER TABLE d ALTER filler SET STORAGE plain;
	CREATE INDEX d_v ON d USING rencoder (v)
		WITH (pages_per_range = 1, autosummarize = off);
	INSERT INTO d SELECT i, repeat('x', 7000) FROM generate_series(1, 11) i;
	CHECKPOINT;
	SELECT pg_relation_filepath('d')});
$node->stop('immediate');
$node->append_conf('postgresql.conf', 'max_worker_processes = 0');
open my $file, '+<', $node->data_dir . "/$path" or die "$path: $!";
sysseek $file, 3 * 8192, 0;
syswrite $file, "\xAA" x 8192 or die "$path: $!";
close $file;
$node->start;
sql('TRUNCATE t');
sql(join ';', map { "SELECT grow(1, $seed + $_)" } 1 .. 300);
is(sql($WORKERS), '0', 'no worker can be had');
cmp_ok(pages('t_v'), '>=', 40, 'the table has grown');
cmp_ok(unindexed('t_v'), '<=', pages('t_v') / 4, 'the sessions have indexed');
sql("SELECT rencoder_index_check('t_v', true)");
sql(q{ALTER INDEX d_v SET (autosummarize = on)});
my $log = -s $node->logfile;
sql(q{DO $$ BEGIN FOR i IN 1 .. 30 LOOP INSERT INTO d VALUES (1000, repeat('x', 7000));
	END LOOP; END $$});
is(sql('SELECT count(*) FROM d WHERE v = 1000 AND ctid >= \'(11,1)\''), '30',
	'a damaged page elsewhere: the rows are inserted');
my $messages = slurp_file($node->logfile, $log);
my @failures =
  $messages =~ /LOG:  could not make a run of index "d_v": invalid page in block 3/g;
is(scalar @failures, 1,
	'the failure is logged, and not tried again at once');
sql("$SESSION DROP INDEX t_v; TRUNCATE t; "
  . "CREATE INDEX t_fails ON t USING rencoder (of_sessions(v)) "
  . "WITH (pages_per_range = 1)");
sql(join ';', $SESSION, map { "SELECT grow(1, $seed + $_)" } 1 .. 150);
is(unindexed('t_fails'), pages('t_fails'), 'no session calls functions for rows of others');

$node->stop;
done_testing();
