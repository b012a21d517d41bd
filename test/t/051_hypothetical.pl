# Costs of an index that does not exist, as advisers ask for them: nothing of it can be read.
# A module of the test's own, which is compiled here, has the planner take indexes for such.
use strict;
use warnings;

use Cwd qw(abs_path);
use File::Basename;
use File::Copy;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderTest;
use Test::More;

my $dir = PostgreSQL::Test::Utils::tempdir();
copy(abs_path(dirname(__FILE__)) . '/../hypothetical/hypothetical.c', $dir) or die $!;
append_to_file("$dir/Makefile", q{
MODULES = hypothetical
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)
});
my $pg_config = $ENV{PG_CONFIG} || 'pg_config';
system_or_bail('make', '-s', '-C', $dir, "PG_CONFIG=$pg_config", 'with_llvm=no', 'hypothetical.so');

my $node = new_node('main');
$node->safe_psql('postgres', q{
	CREATE TABLE t (id int, v int8, w int8, s text COLLATE "C", n int8)
		WITH (autovacuum_enabled = off);
	INSERT INTO t SELECT i, hashint8extended(i, 1), i, md5(i::text),
			CASE WHEN i % 10000 = 0 THEN i END
		FROM generate_series(1, 30000) i;
	CREATE INDEX t_vw ON t USING rencoder (v, w) WITH (autosummarize = off);
	CREATE INDEX t_s ON t USING rencoder (s, n) WITH (autosummarize = off);
	CREATE INDEX t_f ON t USING rencoder ((v + 1)) WHERE w > 100;
	CREATE TABLE nothing (v int8);
	CREATE INDEX nothing_v ON nothing USING rencoder (v);
	VACUUM ANALYZE t});

# A plan of the query, "really" or with indexes that do not exist.
sub plan
{
	my ($really, $query) = @_;
	my $on = $really ? 'off' : 'on';

	return decode_json($node->safe_psql('postgres', qq{
		LOAD '$dir/hypothetical.so';
		SET hypothetical.pretend = $on;
		SET enable_seqscan = off;
		SET enable_indexscan = off;
		SET enable_hashjoin = off;
		SET enable_mergejoin = off;
		SET enable_material = off;
		SET plan_cache_mode = force_generic_plan;
		$query}))->[0]{Plan};
}

# The node that scans an index.
sub index_scan
{
	my ($plan) = @_;

	return $plan if $plan->{'Node Type'} eq 'Bitmap Index Scan';
	return (grep { defined } map { index_scan($_) } @{ $plan->{Plans} || [] })[0];
}

my %queries = (
	value => 'SELECT id FROM t WHERE v = 1',
	interval => 'SELECT id FROM t WHERE v BETWEEN 1 AND 1000000000000',
	'two columns' => 'SELECT id FROM t WHERE v > 9000000000000000000 AND w < 300',
	list => 'SELECT id FROM t WHERE w IN (1, 5000, 9000, 13000, 17000, 21000, 25000)',
	'no list' => "SELECT id FROM t WHERE w = ANY ('{}')",
	prefix => "SELECT id FROM t WHERE s LIKE 'abc%'",
	null => 'SELECT id FROM t WHERE n IS NOT NULL',
	'a key and a null' => "SELECT id FROM t WHERE s = 'x' AND n IS NULL",
	expression => 'SELECT id FROM t WHERE v + 1 = 5 AND w > 100',
	join => 'SELECT t.id FROM (VALUES (1::int8), (2)) x (y) JOIN t ON t.v = x.y',
	nothing => 'SELECT FROM nothing WHERE v = 1');

my %cost;
for my $what (sort keys %queries)
{
	my $real = plan(1, "EXPLAIN (FORMAT json) $queries{$what}");
	my $plan = plan(0, "EXPLAIN (FORMAT json) $queries{$what}");
	my $scan = index_scan($plan);
	my $cost = $plan->{'Total Cost'};

	like(index_scan($real)->{'Index Name'}, qr/^(t|nothing)_/, "$what: an index that exists");
	like($scan && $scan->{'Index Name'}, qr/^hypothetical_/, "$what: one that does not");
	cmp_ok($cost, '>', 0, "$what: it costs something, $cost");
	cmp_ok($cost, '<', 1e6, "$what: not too much");
	$cost{$what} = [ $real->{'Total Cost'}, $cost ];
}
my $scan = index_scan(plan(0, q{PREPARE q AS SELECT id FROM t WHERE v BETWEEN $1 AND $2;
	EXPLAIN (FORMAT json) EXECUTE q (1, 2)}));
like($scan && $scan->{'Index Name'}, qr/^hypothetical_/, 'parameters');

# It is for an adviser to compare with: so not far from what the index costs when it is there.
for my $what ('value', 'interval', 'list')
{
	my ($real, $plan) = @{ $cost{$what} };

	cmp_ok($plan, '<', $real * 4, "$what: $plan, really $real");
	cmp_ok($plan, '>', $real / 4, "$what: $plan, really $real");
}
$node->stop;
done_testing();
