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

$node->stop;
done_testing();
