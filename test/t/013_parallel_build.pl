# CREATE INDEX by several processes: the index is what a serial build makes.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderBuild;
use RencoderTest;
use List::Util qw(max sum);
use Test::More;

my $node = start_node();

# What stands in an index.
sub contents
{
	my ($index) = @_;

	return $node->safe_psql('postgres', "
		SELECT (SELECT string_agg((to_jsonb(r) - 'horizon')::text, ' ')
				FROM rencoder_runs('$index') AS r),
			frontier, entries_to FROM rencoder_metapage('$index')");
}

my @definitions = (
	[ 't', '(v)' ],
	[ 't', '(v, few, word)' ],
	[ 't', '(word)' ],
	[ 't', '(few)', 'WHERE few > 10' ],
	[ 't', '(slow(id, v))' ],
	[ 'narrow', '(v, n)' ]);
my %pages = map { $_ => $node->safe_psql('postgres', "SELECT pg_relation_size('$_') / 8192") }
  qw(t narrow);

# Conditions of each, seeded, about half of them with rows.
sub queries
{
	my ($table, $columns, $where) = @_;
	my @queries;

	for (1 .. 25)
	{
		my $id = rnd_between(1, $table eq 't' ? 4120 : 60000);
		my $value =
		  $table eq 'narrow'
		  ? "(hashint8extended($id, 2) >> 10)"
		  : "(hashint8extended($id, 1) >> 20)";
		my $few  = rnd(33);
		my $word = "md5('" . ($id + rnd(2) * 5000) . "')";
		my $off  = rnd(2) * 12345;
		my $condition =
		    $columns eq '(v)'      ? "v = $value + $off"
		  : $columns eq '(word)'   ? rnd_pick("word = $word", "word LIKE left($word, 3) || '%'")
		  : $columns eq '(few)'    ? "few = $few AND few > 10"
		  : $columns =~ /^\(slow/  ? "slow(id, v) BETWEEN $value AND $value + $off"
		  : $columns eq '(v, few, word)'
		  ? rnd_pick("v BETWEEN $value - $off AND $value", "few = $few AND word > 'f'",
			"few IS NULL AND word = $word", "word = $word")
		  : rnd_pick("v = $value", "v BETWEEN $value AND $value + $off AND n < 30000",
			"n BETWEEN $id AND $id + 10");
		push @queries, "SELECT * FROM $table WHERE $condition";
	}
	return \@queries;
}

foreach my $definition (@definitions)
{
	my ($table, $columns, $where) = @$definition;
	my $create = "ON $table USING rencoder $columns WITH ($LIMITS) " . ($where // '');
	my $memory = $table eq 'narrow' ? "SET maintenance_work_mem = '1MB';" : '';
	my @serial = build(0, "$memory CREATE INDEX serial $create");
	my @parallel;
	my $truth = contents('serial');

	is_deeply(\@serial, [ $pages{$table} ], 'one process read all pages');
	$node->safe_psql('postgres', 'DROP INDEX serial');
	@parallel = build(2, "$memory CREATE INDEX parallel $create", 'slow leader');
	is(scalar @parallel, 3, 'three processes read pages');
	is(sum(@parallel), $pages{$table}, 'all of them');
	if ($columns =~ /slow/)
	{
		cmp_ok(max(@parallel), '<', $pages{$table}, 'not one process alone');
	}
	is(contents('parallel'), $truth, 'the same run');
	like($truth, qr/\|$pages{$table}\|$pages{$table}$/, 'no page was left out');
	$node->safe_psql('postgres', "SELECT rencoder_index_check('parallel', true)");
	compare_many_with_seqscan($node, 'postgres', queries(@$definition), "$table $columns");
	ok( uses_index($node, 'postgres', queries(@$definition)->[0], 'parallel'),
		'by the index') if $columns ne '(v, few, word)';
	@parallel = build(2, "$memory REINDEX INDEX parallel");
	is(scalar @parallel, 3, 'three processes read pages again');
	is(contents('parallel'), $truth, 'the same run again');
	$node->safe_psql('postgres',
		"SELECT rencoder_index_check('parallel', true); DROP INDEX parallel");
}

# No workers: a temporary table; an expression that must not run there.
is( scalar build(2, "CREATE TEMP TABLE tmp WITH (parallel_workers = 2) AS SELECT * FROM t;
	CREATE INDEX ON tmp USING rencoder (v) WITH ($LIMITS);"), 1, 'a temporary table');
$node->safe_psql('postgres', 'ALTER FUNCTION slow PARALLEL RESTRICTED');
is( scalar build(2, "CREATE INDEX x ON t USING rencoder (slow(id, v)) WITH ($LIMITS); "
  . "DROP INDEX x"),
	1, 'an expression that is not parallel safe');
$node->safe_psql('postgres', 'ALTER FUNCTION slow PARALLEL SAFE');

# CONCURRENTLY, by one process, with rows that come while it waits at the gate.
my $gate = $node->background_psql('postgres');
$gate->query_safe('SELECT pg_advisory_lock(1)');
my $session = $node->background_psql('postgres', on_error_stop => 0);
$session->query_safe("SET test.mode = 'gate'");
$session->query_safe('SET max_parallel_maintenance_workers = 2');
$session->query_until(qr/started/, "\\echo started
	CREATE INDEX CONCURRENTLY concurrent ON t USING rencoder (slow(id, v)) WITH ($LIMITS);\n");
$node->poll_query_until('postgres',
	"SELECT count(*) = 1 FROM pg_stat_activity WHERE query ~ 'CREATE INDEX CONCURRENTLY' "
	  . "AND wait_event = 'PgSleep'")
  or die 'it does not read rows';
$node->safe_psql('postgres', "
	INSERT INTO t SELECT i, hashint8extended(i, 1) >> 20, 1, 'new', repeat('x', 700)
		FROM generate_series(4121, 4140) i;
	UPDATE t SET v = v + 1 WHERE id % 100 = 1;
	DELETE FROM t WHERE id % 100 = 2;");
$gate->query_safe('SELECT pg_advisory_unlock(1)');
$gate->quit;
$session->query_until(qr/finished/, "\\echo finished\n");
$session->quit;
is($node->safe_psql('postgres', "SELECT indisvalid FROM pg_index "
  . "WHERE indexrelid = 'concurrent'::regclass"),
	't', 'built concurrently');
$node->safe_psql('postgres', "SELECT rencoder_index_check('concurrent', true)");
compare_many_with_seqscan($node, 'postgres', queries('t', '(slow(id, v))'), 'concurrently');
$node->safe_psql('postgres', "REINDEX INDEX CONCURRENTLY concurrent; "
  . "SELECT rencoder_index_check('concurrent', true); DROP INDEX concurrent");

$node->stop;
done_testing();
