# VACUUM where dead rows refer to values that are gone from TOAST.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderTest;
use Test::More;

my $node = new_node('main', conf => "max_prepared_transactions = 2\n");

# VACUUM summarizes a range with a row that is dead, but that an old transaction
# keeps there, while its value is gone from TOAST: another VACUUM may have
# removed it, for which the first one's snapshot does not count.  Nor does the
# snapshot of any other command once the old transaction has ended.  Here the
# value is removed first.  Where rows are read by PostgreSQL's own scan, as for a
# partial index, VACUUM takes the row as one without a key; else it is left out, and only
# old snapshots must not trust the run.
$node->safe_psql(
	'postgres', q{
	CREATE TABLE toasted (id int, v text, filler text);
	ALTER TABLE toasted ALTER v SET STORAGE external;
	CREATE INDEX toasted_v ON toasted USING rencoder (v)
		WITH (pages_per_range = 1, autosummarize = off);
	CREATE INDEX toasted_partial ON toasted USING rencoder (v)
		WITH (pages_per_range = 1, autosummarize = off)
		WHERE id > 0;
	INSERT INTO toasted SELECT i, 'key ' || i || repeat('x', 3000), repeat('y', 1000)
		FROM generate_series(1, 100) i;
});
my $toast = $node->safe_psql('postgres',
	q{SELECT reltoastrelid::regclass FROM pg_class WHERE oid = 'toasted'::regclass});
SKIP:
{
	skip 'no pg_surgery', 11
	  if $node->safe_psql('postgres',
		q{SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_surgery'}) == 0;
	my @chunks = map {
		$node->safe_psql('postgres',
			"SELECT array_agg(ctid) FROM $toast WHERE chunk_id = "
			  . "(SELECT DISTINCT chunk_id FROM $toast ORDER BY 1 OFFSET $_ LIMIT 1)")
	} 4, 5;
	$node->safe_psql('postgres',
		"CREATE EXTENSION pg_surgery; SELECT heap_force_kill('$toast', '$chunks[0]'::tid[])");
	like(
		($node->psql('postgres', 'SELECT max(v) FROM toasted WHERE id = 5'))[2],
		qr/missing chunk/, 'a value is gone');
	$node->safe_psql('postgres',
		q{BEGIN; SELECT txid_current(); PREPARE TRANSACTION 'old'});
	my $reader = $node->background_psql('postgres', on_error_die => 1);
	$reader->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
	$node->safe_psql('postgres', 'DELETE FROM toasted WHERE id = 5');
	my ($ret, $out, $err) = $node->psql('postgres', 'VACUUM toasted');
	is($err, '', 'VACUUM leaves values of dead rows alone');
	is( $node->safe_psql('postgres',
			q{SELECT count(*) FROM unnest('{toasted_v,toasted_partial}'::text[]) i,
				rencoder_metapage(i::regclass)
				WHERE frontier < pg_relation_size('toasted') / current_setting('block_size')::int}),
		0, 'and has indexed all pages');
	is( $node->safe_psql('postgres',
			q{SELECT sum(nulls) FROM rencoder_runs('toasted_partial')}),
		1, 'one row of which always matches');
	is( $node->safe_psql('postgres',
			q{SELECT sum(nulls) FROM rencoder_runs('toasted_v')}),
		0, 'where the row is not left out');
	my $visited = q{SELECT pages > 0
		FROM rencoder_candidates('toasted_v', 'nowhere'::text, 'nowhere'::text)};
	is($reader->query_safe($visited), 't', 'an old snapshot does not trust the run that lacks it');

	# An update's old version, of a HOT chain from PostgreSQL 16 on.
	$node->safe_psql('postgres', qq{
		DROP INDEX toasted_partial;
		UPDATE toasted SET v = 'key new' WHERE id = 6;
		SELECT heap_force_kill('$toast', '$chunks[1]'::tid[])});
	foreach my $command (
		q{SELECT rencoder_compact('toasted_v', 0, 20)},
		'REINDEX INDEX toasted_v',
		'CREATE INDEX toasted_again ON toasted USING rencoder (v)
			WITH (pages_per_range = 1)')
	{
		($ret, $out, $err) = $node->psql('postgres', $command);
		is($err, '', "$command leaves such values alone");
	}
	$node->safe_psql('postgres', "COMMIT PREPARED 'old'");
	is($node->safe_psql('postgres', $visited), 'f', 'that of a build is trusted ..');
	is($reader->query_safe($visited), 't', '.. but not by an old snapshot');
	$reader->quit;
	$node->safe_psql('postgres', q{SELECT rencoder_index_check('toasted_v', true)});
}
compare_many_with_seqscan($node, 'postgres',
	[ map { "SELECT id FROM toasted WHERE v LIKE 'key $_%'" } 10 .. 60 ],
	'rows beside the dead one');

$node->stop;
done_testing();
