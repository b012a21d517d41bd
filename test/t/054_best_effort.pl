# What is done by the way never fails a statement: counts of scans, query samples, requests to the
# worker.  Pages are damaged, and files taken away, under a server that runs.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderDamage;
use RencoderTest;
use Test::More;

my $node = new_node('main',
	conf => "shared_buffers = 1MB\nbgwriter_lru_maxpages = 0\ncheckpoint_timeout = 1d\n"
	  . "client_min_messages = error\n");

# Many scans, each by the index.
my $scans = q{DO $$ BEGIN
	PERFORM set_config('enable_seqscan', 'off', true);
	FOR i IN 1 .. 150 LOOP PERFORM 1 FROM t WHERE v = i; END LOOP; END $$};

sub make_tables
{
	$node->safe_psql('postgres', q{
		CREATE EXTENSION IF NOT EXISTS pg_buffercache;
		DROP TABLE IF EXISTS t, other, churn;
		CREATE TABLE t (v int8, filler text) WITH (autovacuum_enabled = off);
		ALTER TABLE t ALTER filler SET STORAGE plain;
		INSERT INTO t SELECT i, repeat('x', 900) FROM generate_series(1, 10000) i;
		CREATE INDEX t_v ON t USING rencoder (v) WITH (storage = run, pages_per_range = 4);
		CREATE TABLE other (i int);
		CREATE TABLE churn (i int PRIMARY KEY, filler text);
		INSERT INTO churn SELECT i, repeat('x', 1800) FROM generate_series(1, 2000) i;
		ANALYZE t;
	});
	return;
}

# Nothing of the index is left in shared buffers, nor changed in them.
sub evict
{
	my $cached = q{SELECT count(*) FROM pg_buffercache
		WHERE relfilenode = pg_relation_filenode('t_v')
			AND reldatabase = (SELECT oid FROM pg_database WHERE datname = current_database())};

	$node->safe_psql('postgres', 'CHECKPOINT');
	for (1 .. 100)
	{
		return if $node->safe_psql('postgres', $cached) == 0;
		$node->safe_psql('postgres', q{SET enable_seqscan = off; SET enable_indexscan = off;
			SET enable_bitmapscan = off;
			SELECT count(filler) FROM churn WHERE i > 0});
	}
	die 'the index stays in shared buffers';
}

# In place: sessions have the file open.
sub overwrite
{
	my ($path, $block, $bytes) = @_;
	my $old;

	open my $file, '+<:raw', $path or die "$path: $!";
	sysseek $file, $block * $BLCKSZ, 0;
	sysread $file, $old, length $bytes;
	sysseek $file, $block * $BLCKSZ, 0;
	syswrite $file, $bytes or die "$path: $!";
	close $file;
	return $old;
}

sub answers
{
	my ($session, $sql, $expected, $name) = @_;
	my ($answer, $failed) = $session->query($sql);

	is($session->{stderr}, '', "$name: no error");
	$session->{stderr} = '';
	is($answer, $expected, $name);
	return;
}

#
# A session has counts to write, and the index is damaged or gone: whatever else it does succeeds,
# and it ends without an error.
#
foreach my $how ('metapage damaged', 'file removed')
{
	make_tables();
	my $path = index_path($node, 't_v');
	my $log  = -s $node->logfile;
	my $session = $node->background_psql('postgres', on_error_stop => 0);

	$session->query_safe($scans);
	answers($session, 'BEGIN', '', "$how: begin");
	answers($session, $scans, '', "$how: scans of an open transaction");
	evict();
	if ($how =~ /damaged/)
	{
		overwrite($path, 0, "\xAA" x $BLCKSZ);
	}
	else
	{
		rename $path, "$path.away" or die "$path: $!";
		# Sessions forget what they know of it, and close the file.
		$node->safe_psql('postgres',
			q{UPDATE pg_class SET reltuples = reltuples + 1 WHERE relname = 't_v'});
	}
	answers($session, 'INSERT INTO other VALUES (1); COMMIT', '', "$how: commit");
	answers($session, "INSERT INTO other VALUES ($_)", '', "$how: INSERT $_") foreach 2 .. 4;
	answers($session, 'SELECT count(*) FROM other', '4', "$how: all rows are there");
	my (undef, undef, $err) = $node->psql('postgres',
		'SET enable_seqscan = off; SELECT count(*) FROM t WHERE v = 5');
	like($err, $how =~ /damaged/ ? qr/invalid page in block 0/ : qr/could not open file/,
		"$how: the index is");
	$session->quit;
	wait_for_sessions_to_end($node);
	my $messages = slurp_file($node->logfile, $log);
	my @errors = $messages =~ /^.*(?:ERROR|FATAL|PANIC): .*$/mg;
	is(scalar(@errors), 1, "$how: none but that of the scan") or diag("@errors");

	# To rebuild it is the remedy.
	(my $ret, undef, $err) = $node->psql('postgres', 'REINDEX INDEX t_v');
	is($ret, 0, "$how: REINDEX") or diag($err);
	compare_with_seqscan($node, 'postgres', 'SELECT v FROM t WHERE v BETWEEN 100 AND 120',
		index => 't_v');
}

#
# The metapage is damaged after a scan has read it and before it writes its counts: the scan
# succeeds, and the server's log says what failed.  It is said once: the counts are forgotten.
#
make_tables();
$node->safe_psql('postgres', q{CREATE OR REPLACE FUNCTION wait_here(v int8) RETURNS boolean
	LANGUAGE plpgsql VOLATILE AS $$ BEGIN
		PERFORM pg_advisory_lock_shared(1), pg_advisory_unlock_shared(1);
		RETURN true;
	END $$});
my $path = index_path($node, 't_v');
my $gate = $node->background_psql('postgres');
$gate->query_safe('SELECT pg_advisory_lock(1)');
my $log = -s $node->logfile;
my $scan = start_sql($node, q{SET rencoder.sample_rate = 0; SET enable_seqscan = off;
	SELECT v FROM t WHERE v = 5 AND wait_here(v)});
ok($node->poll_query_until('postgres', q{SELECT count(*) FROM pg_stat_activity
	WHERE wait_event = 'advisory'}, '1'), 'the scan has read the index');
evict();
my $metapage = overwrite($path, 0, "\xAA" x $BLCKSZ);
$gate->query_safe('SELECT pg_advisory_unlock(1)');
finish_sql($scan, 'a page is damaged when the scan ends: no error');
my @messages = slurp_file($node->logfile, $log) =~ /could not add the counts of scans/g;
is(scalar @messages, 1, 'the log says that its counts were lost');
$gate->quit;
overwrite($path, 0, $metapage);
is($node->safe_psql('postgres', q{SET enable_seqscan = off; SELECT v FROM t WHERE v = 5}), '5',
	'the page as it was');

$node->stop;
done_testing();
