# Invalidations of the relation cache that arrive in the middle of what the
# index does: what is cached for an index is freed then, and must not be used
# any more.
#
# A server with assertions can invalidate at every opportunity and overwrites
# what is freed (debug_discard_caches).  Any other at least gets the one
# invalidation that hurt once: in a new session's first insert, which looks up
# the support function of the operator class after it has read the metapage.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderTest;
use Test::More;

my $node = new_node('main');
my ($ret) = $node->psql('postgres', 'SET debug_discard_caches = 1');
my $discard = $ret == 0 ? 'SET debug_discard_caches = 1;' : '';
note($discard ? 'caches are discarded all the time'
  : 'the server cannot discard its caches all the time');

# Seven rows a page, a sealed group and a growing one.
$node->safe_psql(
	'postgres', q{
	CREATE TABLE t (id int, v int8, n numeric, s text, filler text);
	ALTER TABLE t ALTER filler SET STORAGE plain;
	CREATE FUNCTION fill(first int, last int) RETURNS void LANGUAGE sql AS $$
		INSERT INTO t SELECT i, hashint8extended(i, 1), i / 7.0, md5(i::text), repeat('x', 1000)
		FROM generate_series(first, last) i
	$$;
	SELECT fill(1, 1000);
	CREATE INDEX t_v ON t USING rencoder (v)
		WITH (autosummarize = off, pages_per_range = 1)
		WHERE id > 0;
	CREATE INDEX t_ns ON t USING rencoder (n, (s || 'x'))
		WITH (autosummarize = off, pages_per_range = 1);
});
my $check = q{SELECT rencoder_index_check(i, true) FROM unnest('{t_v,t_ns}'::regclass[]) i};

# An insert stops when its indexes are open already, and goes on after ANALYZE,
# which has news of the index from the second time on.  Indexes are opened for
# the first row, which is not in t_v; the second one is, on the last page, whose
# range is summarized.  Nothing else is looked up for the first time between the
# lock and the index, or the news would be read too early.
foreach my $i (2001 .. 2003)
{
	my $gate   = $node->background_psql('postgres');
	my $insert = $node->background_psql('postgres');

	$gate->query_safe('BEGIN');
	$gate->query_safe('SELECT pg_advisory_xact_lock(1)');
	$insert->query_until(
		qr/started/, qq{\\echo started
		INSERT INTO t
		SELECT i + CASE WHEN i > 0 THEN length(pg_advisory_xact_lock(1)::text) ELSE 0 END,
			i * 1000003::int8, i, 'new'
		FROM (VALUES (-1), ($i)) new (i);
	});
	$node->poll_query_until('postgres',
		"SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted)")
	  or die 'the insert does not wait';
	$node->safe_psql('postgres', 'ANALYZE t');
	$gate->query_safe('COMMIT');
	is($insert->query_safe("SELECT id FROM t WHERE id = $i"),
		$i, "an insert during which the table was analyzed, $i");
	$_->quit foreach $gate, $insert;
	compare_with_seqscan($node, 'postgres',
		"SELECT id FROM t WHERE v = $i * 1000003::int8 AND id > 0", index => 't_v');
	compare_with_seqscan($node, 'postgres',
		"SELECT id FROM t WHERE n = $i AND s || 'x' = 'newx'", index => 't_ns');
}
is($node->safe_psql('postgres', $check), "\n", 'sound');

# All that indexes do.
foreach my $step (
	[ 'insert', 'SELECT fill(3001, 3020)' ],
	[ 'update', "UPDATE t SET v = v + 1, n = n + 1, s = s || 'y' WHERE id % 100 = 7" ],
	[ 'maintain', "SELECT rencoder_maintain_index('t_v'), "
	  . "rencoder_maintain_index('t_ns')" ],
	[ 'part', "SELECT rencoder_compact('t_v', 3, 9), rencoder_compact('t_ns', 3, 9)" ],
	[ 'vacuum', 'VACUUM t' ],
	[ 'inspect', "SELECT count(*) "
	  . "FROM rencoder_runs('t_ns'), rencoder_candidates('t_v', 1::int8, 1000::int8)" ],
	[ 'check', $check ],
	[ 'reindex', 'REINDEX INDEX t_ns' ])
{
	my ($name, $sql) = @$step;
	my ($result, $out, $err) = $node->psql('postgres', "$discard $sql", on_error_stop => 1);

	is($err, '', $name);
}
is($node->safe_psql('postgres', $check), "\n", 'still sound');
foreach my $condition ('id > 0 AND v BETWEEN 1 AND 1000000000000000',
	'n BETWEEN 10 AND 12', "n > 100 AND s || 'x' = md5('700') || 'x'",
	'(id > 0 AND v IS NULL) OR n = 2001')
{
	my $query = "SELECT count(*), sum(id) FROM t WHERE $condition";

	is( $node->safe_psql('postgres', "$discard SET enable_seqscan = off; $query"),
		$node->safe_psql('postgres',
			"SET enable_indexscan = off; SET enable_bitmapscan = off; $query"),
		$condition);
}

$node->stop;
done_testing();
