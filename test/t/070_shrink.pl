# An index whose end is cut off (INV-21): on a standby, after a crash, recovered to records of it,
# and beside a session that knows it.  The worker does it, and VACUUM where there is none.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderTest;
use Test::More;

my ($primary, $standby) = start_primary_with_standby(
	conf => "autovacuum = off\nwal_keep_size = '1GB'\nmax_standby_streaming_delay = '10s'\n");

sub query
{
	return $primary->safe_psql('postgres', $_[0]);
}

sub pages
{
	my ($node) = @_;

	return $node->safe_psql('postgres', q{SELECT pg_relation_size('t_v') / 8192});
}

sub verify
{
	my ($node, $name) = @_;

	is($node->safe_psql('postgres', q{SELECT rencoder_index_check('t_v', true)}),
		'', "$name: sound");
	compare_with_seqscan($node, 'postgres',
		'SELECT id FROM t WHERE v IN (SELECT hashint8extended(i, 1) '
		  . 'FROM generate_series(1, 90000, 307) i)');
	return;
}

query(q{CREATE EXTENSION pg_walinspect;
	CREATE TABLE t (id int, v int8, w int8);
	CREATE FUNCTION fill(first int, last int) RETURNS void LANGUAGE sql AS
		$$INSERT INTO t SELECT i, hashint8extended(i, 1), i FROM generate_series(first, last) i$$;
	SELECT fill(1, 60000);
	CREATE INDEX t_v ON t USING rencoder (v, w) WITH (autosummarize = off);
	VACUUM ANALYZE t});

# A session that asks and inserts, before and after: it remembers the tail, sizes, roots.
my $session = $primary->background_psql('postgres');
$session->query_safe('SET enable_seqscan = off');
my $look = 'SELECT count(*) FROM t WHERE v = hashint8extended(4, 1) OR v = hashint8extended(-7, 1)';

my $fresh = pages($primary);
query('DELETE FROM t WHERE id % 20 <> 4');
query('VACUUM t');
my $short = pages($primary);
cmp_ok($short, '<', $fresh / 2, 'VACUUM makes the file shorter, without a worker');
is($session->query_safe("SELECT fill(-9, -1); $look"),
	"\n2", 'a session puts rows, and finds them');
query('SELECT fill(60001, 90000)');
query('VACUUM t');
query('DELETE FROM t WHERE id > 60000 AND id % 20 <> 4');
$primary->backup('later');
my $before = $primary->lsn('insert');
my $long   = pages($primary);

query('VACUUM t');
cmp_ok(pages($primary), '<', $long / 2, 'and once more');
is($session->query_safe("SELECT fill(-19, -10); $look"), "\n2", 'what it knew is forgotten');
verify($primary, 'primary');
wait_for_standby($primary, $standby);
is(pages($standby), pages($primary), 'the file of the standby is as long');
verify($standby, 'standby');

# Recovered to each record that changes the free list or the metapage, and to the truncation.
my @targets = split /\n/, query(
	"SELECT start_lsn FROM pg_get_wal_records_info('$before', '" . $primary->lsn('flush') . "')
		WHERE resource_manager = 'Generic' AND block_ref ~ 'blk 0(\\D|\$)'
			OR resource_manager = 'Storage' AND record_type = 'TRUNCATE' ORDER BY 1");
cmp_ok(scalar @targets, '>', 3, 'records of the catalog, and a truncation');
query(q{SELECT pg_logical_emit_message(true, 'rencoder', '')});
wait_for_standby($primary, $standby);
foreach my $target (@targets[ -4 .. -1 ])
{
	my $node = PostgreSQL::Test::Cluster->new("recovered_" . ($target =~ s/\W/_/r));

	$node->init_from_backup($primary, 'later', has_streaming => 1);
	recover_to($node, $target, 'recovery_target_inclusive = off');
	verify($node, "before $target");
	$node->safe_psql('postgres', $_) foreach 'SELECT fill(90001, 99000)', 'VACUUM t';
	verify($node, "before $target, goes on");
	$node->stop;
	$node->clean_node;
}

# A crash.
query('DELETE FROM t WHERE id % 3 = 0');
query('SELECT fill(100001, 130000)');
query('DELETE FROM t WHERE id > 100000');
query('VACUUM t');
$session->quit;
$primary->stop('immediate');
$primary->start;
verify($primary, 'after a crash');

# Beside sessions that have the index locked most of the time.  The worker does it when it can.
query(q{ALTER INDEX t_v SET (autosummarize = on)});
query('SELECT fill(200001, 260000)');
query('VACUUM t');
$long = pages($primary);
query('DELETE FROM t WHERE id > 200000 AND id % 20 <> 4');
my $holder = $primary->background_psql('postgres');
$holder->query_safe("BEGIN; SELECT count(*) FROM t WHERE v = 1");
query('VACUUM t');
cmp_ok(pages($primary), '>=', $long, 'not while somebody has the index locked');
$holder->query_safe('COMMIT');
$holder->quit;
query('VACUUM t');
ok( $primary->poll_query_until('postgres',
		"SELECT pg_relation_size('t_v') / 8192 < $long / 2"),
	'the worker cuts the file off');
verify($primary, 'worker');
wait_for_standby($primary, $standby);
verify($standby, 'standby after the worker');

# Nor does rencoder_compact() do it; no row has come that anybody would have asked for.
query('SELECT fill(300001, 360000)');
query('VACUUM t');
ok($primary->poll_query_until('postgres',
		q{SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'rencoder worker'}),
	'the worker ends');
$long = pages($primary);
query('DELETE FROM t WHERE id > 300000 AND id % 20 <> 4');
query(q{SELECT rencoder_compact('t_v', 0, pg_relation_size('t') / 8192)}) foreach 1 .. 2;
ok( $primary->poll_query_until('postgres',
		"SELECT pg_relation_size('t_v') / 8192 < 0.8 * $long"),
	'it asks the worker');
verify($primary, 'compacted');
done_testing();
