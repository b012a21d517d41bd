# Groups of a run that get another coder, and a crash while they are flushed.  No row is lost, and
# the next maintenance does what is left.
#
# The index is on an expression whose function waits for an advisory lock near the end of the first
# group, at the look that "recode.looks" says: the first one trains coders, the second flushes.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderTest;
use Test::More;

my $node = new_node('recode');
$node->safe_psql('postgres', q{
	CREATE EXTENSION IF NOT EXISTS rencoder;
	CREATE FUNCTION f(v int8) RETURNS int8 LANGUAGE plpgsql IMMUTABLE AS $$
	DECLARE
		looks int := nullif(current_setting('recode.looks', true), '');
	BEGIN
		IF v = 250 AND looks > 0 THEN
			PERFORM pg_catalog.set_config('recode.looks', (looks - 1)::text, false);
			IF looks = 1 THEN
				PERFORM pg_catalog.pg_advisory_lock_shared(7511);
			END IF;
		END IF;
		RETURN v;
	END $$;
	CREATE TABLE t (id int, v int8, s text COLLATE "C", filler text)
		WITH (fillfactor = 70, autovacuum_enabled = off);
	ALTER TABLE t ALTER filler SET STORAGE plain});

# Of the first half nothing is to be learnt.
sub make
{
	$node->safe_psql('postgres', q{
		DROP INDEX IF EXISTS t_idx;
		TRUNCATE t;
		INSERT INTO t SELECT i, i, '', repeat('x', 2600) FROM generate_series(1, 258) i;
		CREATE INDEX t_idx ON t USING rencoder (f(v), s)
			WITH (storage = run, autosummarize = off, pages_per_range = 1);
		INSERT INTO t SELECT i, i, 'https://www.example.com/' || md5(i::text), repeat('x', 2600)
		FROM generate_series(259, 800) i;
		UPDATE t SET s = 'https://www.example.com/' || md5(id::text) WHERE id % 20 = 3});
	return;
}

sub verify
{
	my ($name, $at_work) = @_;

	ok(uses_index($node, 'postgres', q{SELECT id FROM t WHERE s = 'a'}, 't_idx'),
		"$name: queries use the index");
	compare_many_with_seqscan($node, 'postgres', [
		(map { "SELECT id FROM t WHERE s = 'https://www.example.com/' || md5('$_')" } 3, 63, 259,
			700, 5003, 5023, 5263),
		q{SELECT id FROM t WHERE s LIKE 'https://www.example.com/c%'},
		q{SELECT id FROM t WHERE s = '' AND f(v) < 100} ], $name);

	# The check waits for whoever maintains the index.
	is($node->safe_psql('postgres', q{SELECT rencoder_index_check('t_idx', true)}), '',
		"$name: the index is sound") unless $at_work;
	return;
}

foreach my $looks (1, 2)
{
	make();
	my $stopper = $node->background_psql('postgres', on_error_stop => 0);
	$stopper->query('SELECT pg_advisory_lock(7511)');
	my $compact = start_sql($node,
		"SET recode.looks = $looks; SELECT rencoder_compact('t_idx')");
	$node->poll_query_until('postgres', q{SELECT count(*) > 0 FROM pg_locks
		WHERE locktype = 'advisory' AND NOT granted}) or die 'it does not wait';

	# Of rows that come meanwhile some are on pages that have been read.
	$node->safe_psql('postgres', q{UPDATE t SET s = 'https://www.example.com/'
		|| md5((id + 5000)::text) WHERE id % 20 = 3 AND id < 250; CHECKPOINT;
		UPDATE t SET s = 'https://www.example.com/' || md5((id + 5000)::text)
		WHERE id % 20 = 3 AND id > 250});
	is($node->safe_psql('postgres', q{SELECT frontier >= 128 FROM rencoder_metapage('t_idx')}), 't',
		"look $looks: all pages stay covered");
	verify("beside look $looks", 1);
	$node->stop('immediate');
	$compact->{handle}->finish;
	eval { $stopper->quit };
	$node->start;
	verify("after a crash in look $looks");
	$node->safe_psql('postgres', 'VACUUM t');
	verify("after a crash in look $looks and VACUUM");
	$node->safe_psql('postgres', q{SELECT rencoder_compact('t_idx')});
	my ($pages) = $node->safe_psql('postgres', q{SET enable_seqscan = off;
		EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT * FROM t
		WHERE s = 'https://www.example.com/' || md5('5003')}) =~ /Blocks: (?:exact|lossy)=(\d+)/;
	cmp_ok($pages, '<=', 3, 'a query visits few pages');
	verify("after a crash in look $looks, compacted");
}
$node->stop;
done_testing();
