# old_snapshot_threshold (PostgreSQL 15 and 16) lets VACUUM remove rows that an
# old snapshot needs, and whoever meets a page that changed since with such a
# snapshot must be told so.  A summary made after that no longer knows of the
# rows: a scan by the index must fail as one of the table does, not find nothing.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderTest;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('old_snapshot');
if ($node->pg_version >= 17)
{
	SKIP: { skip 'old_snapshot_threshold is gone', 1; }
	done_testing();
	exit;
}
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\nold_snapshot_threshold = 0\n");
$node->start;
$node->safe_psql(
	'postgres', q{
	CREATE EXTENSION rencoder;
	CREATE TABLE other (i int);
	CREATE TABLE t (id int, v int8, filler text) WITH (fillfactor = 50);
	INSERT INTO t SELECT i, i, repeat('x', 100) FROM generate_series(1, 20000) i;
	CREATE INDEX t_v ON t USING rencoder (v)
		WITH (autosummarize = off, pages_per_range = 1);
});
my $by_index = 'SET enable_seqscan = off; SET enable_indexscan = off; SET enable_bitmapscan = on;';
my $by_table = 'SET enable_seqscan = on; SET enable_indexscan = off; SET enable_bitmapscan = off;';
my $gone = 'SELECT count(*) FROM t WHERE v = 5100';
my $there = 'SELECT count(*) FROM t WHERE v = 100';

# Sessions with old snapshots of a row: two, as the error ends the transaction.
sub open_snapshots
{
	my ($query) = @_;
	my @reader = map { $node->background_psql('postgres', on_error_stop => 0) } 1 .. 2;

	foreach my $reader (@reader)
	{
		$reader->query('BEGIN ISOLATION LEVEL REPEATABLE READ');
		is($reader->query("$by_index $query"), 1, 'the row is there');
	}
	return @reader;
}

sub expect_too_old
{
	my ($query, @reader) = @_;

	foreach my $way ([ 'table', $by_table ], [ 'index', $by_index ])
	{
		my ($name, $settings) = @$way;
		my $reader = shift @reader;

		$reader->{stderr} = '';
		$reader->query("$settings $query");
		like($reader->{stderr}, qr/snapshot too old/, "an old snapshot is told so, by the $name");
		$reader->quit;
	}
	return;
}

# The threshold of 0 leaves old snapshots five seconds.
sub let_snapshots_age
{
	foreach my $seconds (6, 0)
	{
		$node->safe_psql('postgres',
			"INSERT INTO other VALUES (1); SELECT pg_sleep($seconds); "
			  . "SELECT count(*) FROM other; VACUUM other");
	}
	return;
}

my @reader = open_snapshots($gone);
$node->safe_psql('postgres', 'DELETE FROM t WHERE v BETWEEN 5000 AND 6000');
let_snapshots_age();
$node->safe_psql('postgres', 'VACUUM t');
$node->safe_psql(
	'postgres', q{
	SELECT rencoder_compact('t_v', 0,
		pg_relation_size('t') / current_setting('block_size')::int - 1)});
is($node->safe_psql('postgres', "$by_index $gone"), 0, 'it is gone');

expect_too_old($gone, @reader);
is($node->safe_psql('postgres', "$by_index $there"), 1, 'a present snapshot asks as ever');

# The same by a maintainer whose own snapshot is as old: the horizon of what it makes excludes no
# snapshot, and only the info page of the run tells (INV-9).  An index of 32 columns.
$node->safe_psql(
	'postgres', q{
	CREATE TABLE wide (id int, v int8, filler text) WITH (fillfactor = 10);
	ALTER TABLE wide ALTER filler SET STORAGE plain;
	INSERT INTO wide SELECT i, i, repeat('x', 700) FROM generate_series(1, 1280) i;
	DO $$ BEGIN
		EXECUTE 'CREATE INDEX wide_v ON wide USING rencoder (v, ' ||
			(SELECT string_agg(format('(id + %s)', i), ', ') FROM generate_series(2, 32) i) ||
			') WITH (storage = run, pages_per_range = 1, autosummarize = off)';
	END $$});
$there = 'SELECT count(*) FROM wide WHERE v = 100';
my $maintainer = $node->background_psql('postgres', on_error_stop => 0);
$maintainer->query('BEGIN ISOLATION LEVEL REPEATABLE READ');
is($maintainer->query($there), 1, 'the maintainer has a snapshot');
@reader = open_snapshots($there);
$node->safe_psql('postgres', 'DELETE FROM wide WHERE id = 300');
let_snapshots_age();
is($maintainer->query(q{SELECT rencoder_compact('wide_v', 0, 1279) > 0}), 't',
	'a run is made anew');
$maintainer->query('COMMIT');
$maintainer->quit;
expect_too_old('SELECT count(*) FROM wide WHERE v = -1', @reader);
is($node->safe_psql('postgres', "$by_index $there"), 1, 'a present snapshot asks as ever');
$node->stop;
done_testing();
