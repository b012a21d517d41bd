# CREATE INDEX by several processes, and snapshots that are older.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderBuild;
use RencoderTest;
use Test::More;

my $node = start_node();

# An old snapshot needs row versions that the build leaves out: members of HOT
# chains that differ in the column.
sub old_snapshot
{
	my ($name, $update, $command) = @_;
	my $writer = $node->background_psql('postgres');
	my $reader = $node->background_psql('postgres');
	my $rows   = 'SELECT count(*), sum(id) FROM t WHERE few = 3';

	# The oldest transaction holds back the xmin of the build as it does the
	# reader's; so it is not that which tells them apart.
	$writer->query_safe('BEGIN');
	$writer->query_safe('SELECT pg_current_xact_id()');
	$reader->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
	$reader->query_safe('SELECT 1');

	# Not asked by the reader, whose lock on the index REINDEX would wait for.
	my $truth = $node->safe_psql('postgres', $rows);
	$node->safe_psql('postgres', $update);
	is(scalar build(2, $command, 'slow leader'), 3, "$name: by three processes");
	$reader->query_safe('SET enable_seqscan = off');
	is($reader->query_safe($rows), $truth, "$name: the old snapshot has its rows");
	$reader->query_safe('COMMIT');
	$writer->query_safe('COMMIT');
	$_->quit foreach $reader, $writer;
	compare_many_with_seqscan($node, 'postgres',
		[ map { "SELECT id, few FROM t WHERE few = $_" } 0 .. 35 ], $name);
	return;
}

$node->safe_psql('postgres', 'VACUUM t');
old_snapshot('broken HOT chains', 'UPDATE t SET few = 34 WHERE few = 3',
	"CREATE INDEX old ON t USING rencoder (few, slow(id, v)) WITH ($LIMITS)");
is( $node->safe_psql('postgres', "SELECT indcheckxmin FROM pg_index "
  . "WHERE indexrelid = 'old'::regclass"),
	't', 'broken HOT chains: noticed');
is( $node->safe_psql('postgres', "
	SELECT count(DISTINCT run) FROM rencoder_runs('old')
	WHERE horizon::text::int8 >= (SELECT max(xmin::text::int8) FROM t)"),
	1, 'broken HOT chains: the horizon of the run');
$node->safe_psql('postgres', 'UPDATE t SET few = 3 WHERE few = 34; VACUUM t;');
old_snapshot('reindexed', 'UPDATE t SET few = 33 WHERE few = 3', 'REINDEX INDEX old');
$node->safe_psql('postgres', "SELECT rencoder_index_check('old', true)");

# What is known of rows that a worker alone has read: on the last page are many of them, and a
# version that the reading leaves out, as its value is in TOAST.  The leader reads one piece,
# another one: it waits at its first row until a worker has come to that page, and workers wait
# until it has begun.
$node->safe_psql('postgres', q{
	CREATE FUNCTION key_of_worker(w int8) RETURNS int8 LANGUAGE plpgsql IMMUTABLE
	SET search_path = public AS $$
	BEGIN
		IF w % 8 <> 0 OR current_setting('test.mode', true) IS DISTINCT FROM 'worker' THEN
			RETURN w;
		ELSIF NOT is_worker() THEN
			PERFORM begin_work(), wait_until_begun(2);
		ELSE
			PERFORM wait_until_begun(1);
			IF w = 8000 THEN
				PERFORM begin_work();
			END IF;
		END IF;
		RETURN w;
	END $$;
	CREATE OPERATOR CLASS worker_ops FOR TYPE int8 USING rencoder AS
		OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
		FUNCTION 1 key_of_worker(int8);
	CREATE TABLE last (w int8, v text, pad text)
	WITH (parallel_workers = 2, autovacuum_enabled = off);
	ALTER TABLE last ALTER v SET STORAGE external, ALTER pad SET STORAGE plain;
	-- 8 rows fill a page.
	INSERT INTO last SELECT i, to_char(i, 'FM0000'), repeat('x', 972)
	FROM generate_series(1, 2000) i;
	INSERT INTO last SELECT i, i, '' FROM generate_series(7901, 8000) i;
	UPDATE last SET v = repeat('v', 5000) WHERE w = 8000});

is($node->safe_psql('postgres', 'SELECT max(ctid), min(ctid) FILTER (WHERE w > 2000) FROM last'),
	'(250,101)|(250,1)', 'many rows on the last page, few on the others');

my $reader = $node->background_psql('postgres');
$reader->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
$node->safe_psql('postgres', "UPDATE last SET v = 'short' WHERE w = 8000");
foreach my $workers (0, 2)
{
	is( scalar build($workers,
			"CREATE INDEX last_i ON last USING rencoder (w worker_ops, v) WITH ($LIMITS)",
			$workers > 0 ? 'worker' : ''),
		$workers + 1, "$workers workers read the last page");
	is( $node->safe_psql('postgres', q{
			SELECT DISTINCT horizon::text::int8 - (SELECT xmin::text::int8 FROM last WHERE w = 8000)
			FROM rencoder_runs('last_i')}),
		1, "$workers workers: a version that is left out");
	$node->safe_psql('postgres', q{SELECT rencoder_index_check('last_i', true)});
	compare_many_with_seqscan($node, 'postgres',
		[ map { "SELECT v FROM last WHERE w = $_" } 7901 .. 8000 ], "$workers workers: rows");
	$node->safe_psql('postgres', 'DROP INDEX last_i');
}
$reader->query_safe('COMMIT');
$reader->quit;

$node->stop;
done_testing();
