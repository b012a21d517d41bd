# Counts of scans: of many sessions, in a crash, and on a standby.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../perl";
use PostgreSQL::Test::Utils;
use RencoderTest;
use Test::More;

my ($primary, $standby) =
  start_primary_with_standby(conf => "wal_consistency_checking = 'generic'\nwal_log_hints = on\n"
	  . "rencoder.sample_rate = 0\n");
$primary->safe_psql('postgres', q{
	CREATE TABLE t (id int, v int8, filler text) WITH (autovacuum_enabled = off);
	INSERT INTO t SELECT i, (i * 2654435761) % 4294967296, repeat('x', 190)
	FROM generate_series(1, 40000) i;
	CREATE INDEX t_v ON t USING rencoder (v);
	CREATE TABLE grown (v int8) WITH (autovacuum_enabled = off);
	CREATE INDEX grown_v ON grown USING rencoder (v) WITH (autosummarize = off);
	VACUUM ANALYZE t;
});

sub stats
{
	my ($node, $index) = @_;

	return $node->safe_psql('postgres',
		"SELECT scans FROM rencoder_index_stats('$index')");
}

# Until the counts are there: a session writes its own when it ends, which is after psql.
sub wait_for_stats
{
	my ($node, $index, $expected, $name) = @_;

	ok($node->poll_query_until('postgres', "SELECT scans FROM rencoder_index_stats('$index')",
			$expected), $name);
	return;
}

#
# Many sessions at a time, long and short ones: none of them is lost.
#
my $script = $primary->basedir . '/scan.sql';
append_to_file($script, "\\set x random(1, 40000)\n"
	  . "SELECT id FROM t WHERE v = (:x * 2654435761) % 4294967296;\n");
my @pgbench = ('pgbench', '-n', '-h', $primary->host, '-p', $primary->port, '-f', $script);
command_ok([ @pgbench, '-c', '6', '-t', '300', 'postgres' ], 'long sessions');
command_ok([ @pgbench, '-C', '-c', '3', '-t', '20', 'postgres' ], 'short sessions');
wait_for_stats($primary, 't_v', 1860, 'each was counted');

#
# The page is made when the table has grown, and logged whole.
#
is(stats($primary, 'grown_v'), '', 'no page in a small index');
$primary->safe_psql('postgres',
	'INSERT INTO grown SELECT i FROM generate_series(1, 300000) i; VACUUM grown');
is(stats($primary, 'grown_v'), '0', 'a page in a grown one');
$primary->safe_psql('postgres', q{SET enable_seqscan = off; SELECT 1 FROM grown WHERE v = 5});
wait_for_stats($primary, 'grown_v', 1, 'which counts');

#
# A standby counts nothing, and says so; what runs promise it knows.
#
$primary->safe_psql('postgres', q{SELECT rencoder_index_stats_reset('t_v')});
wait_for_standby($primary, $standby);
is(stats($standby, 't_v'), '', 'no counts on a standby');
is($standby->safe_psql('postgres', q{
	SET enable_seqscan = off; SELECT id FROM t WHERE v = 2654435761}), '1', 'a scan there');
is(stats($standby, 't_v'), '', 'counts nothing');
is($standby->safe_psql('postgres', q{SELECT since IS NULL, pages IS NULL,
	predicted_false_pages IS NOT NULL FROM rencoder_index_stats('t_v')}), 't|t|t',
	'what is null there');
my (undef, undef, $err) =
  $standby->psql('postgres', q{SELECT rencoder_index_stats_reset('t_v')});
like($err, qr/ERROR:  recovery is in progress/, 'nor can it be reset there');

#
# A crash may lose counts, and nothing else.
#
$primary->safe_psql('postgres', q{
	SET enable_seqscan = off; SELECT id FROM t WHERE v = 2654435761; CHECKPOINT});
$primary->safe_psql('postgres', q{
	SET enable_seqscan = off; SELECT id FROM t WHERE v = 2654435761});
$primary->stop('immediate');
$primary->start;
like(stats($primary, 't_v'), qr/^[012]$/, 'counts after a crash');
$primary->safe_psql('postgres', q{SELECT rencoder_index_check('t_v', true),
	rencoder_index_check('grown_v', true)});
wait_for_standby($primary, $standby);
$primary->stop;
unlike(slurp_file($_->logfile), qr/inconsistent page found/, $_->name . ': no page was different')
  foreach ($primary, $standby);
$standby->promote;
$standby->safe_psql('postgres', q{
	SELECT rencoder_index_stats_reset('t_v');
	SET enable_seqscan = off;
	SELECT id FROM t WHERE v = 2654435761});
wait_for_stats($standby, 't_v', 1, 'a promoted standby counts');
$standby->stop;
done_testing();
