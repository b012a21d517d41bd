# Facts that are not true (INV-16): rencoder_index_check finds them, when it looks at the table.  A
# row comes to a page that a fact names, with the key that the fact denies, and its entry of the
# pending list is damaged: so storage alone, which names the page, has the key, and the fact hides
# it.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderDamage;
use RencoderTest;
use Test::More;

my $node = new_node('main', conf => "ignore_checksum_failure = on\nrencoder.sample_rate = 0\n");

# 1,200 pages of four rows, and pages that a query visits.
$node->safe_psql('postgres', <<~'SQL');
	CREATE TABLE f (id int, a int8, p point, pad text) WITH (autovacuum_enabled = off);
	ALTER TABLE f ALTER pad SET STORAGE plain;
	INSERT INTO f SELECT i, 1000 * hashint4(i)::int8, point(i * 7919 % 65537, i * 104729 % 65537),
		repeat('x', 1850) FROM generate_series(1, 4800) i;
	CREATE FUNCTION pages_of(condition text) RETURNS int LANGUAGE plpgsql AS $$
	DECLARE
		plan json;
	BEGIN
		SET LOCAL enable_seqscan = off;
		SET LOCAL enable_indexscan = off;
		EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, FORMAT json) SELECT * FROM f WHERE '
			|| condition INTO plan;
		RETURN (plan -> 0 -> 'Plan' ->> 'Exact Heap Blocks')::int +
			(plan -> 0 -> 'Plan' ->> 'Lossy Heap Blocks')::int;
	END $$;
SQL

# The number of pages that facts name, and the first of these.
sub facts
{
	my ($index) = @_;
	my $data = slurp_file(index_path($node, $index));
	my @pages;

	foreach my $block (pages_of_type(\$data, 'facts'))
	{
		foreach my $slot (0 .. 251)
		{
			my ($page, $check) = unpack('VV', peek(\$data, $block, 32 * $slot + 24, 8));

			push @pages, $page if $check != 0;
		}
	}
	return (scalar @pages, sort { $a <=> $b } @pages);
}

sub check_error
{
	my ($index) = @_;
	my ($ret, $out, $err) = $node->psql('postgres', "SELECT rencoder_index_check('$index', true)");

	return $err;
}

# "operator" finds a value, of which "value" makes many.
sub deny
{
	my ($name, $column, $options, $operator, $value, $range) = @_;

	$node->safe_psql('postgres', "CREATE INDEX i ON f USING rencoder ($column) "
		  . "WITH ($options, pages_per_range = $range, autosummarize = off)");
	# Of values that are not there, the one of which most pages are read.  No other is asked twice.
	my $best = $node->safe_psql('postgres', <<~"SQL");
		SELECT v FROM generate_series(1, 300) i, LATERAL (SELECT $value AS v) AS values
		ORDER BY pages_of(format('$column $operator %L', v)) DESC LIMIT 1
	SQL
	my $ask = "SELECT pages_of(\$\$$column $operator '$best'\$\$)";

	my (undef, undef, $after) =
	  split /\n/, $node->safe_psql('postgres', "$ask; $ask; $ask; CHECKPOINT");
	my ($n, $page) = facts('i');
	cmp_ok($n, '>', 0, "$name: there are facts");
	is($after, 0, "$name: of all pages that are read");
	$node->safe_psql('postgres', "UPDATE f SET $column = '$best', pad = '' "
		  . "WHERE ctid = (SELECT min(ctid) FROM f WHERE (ctid::text::point)[0] = $page)");
	is($node->safe_psql('postgres', "SELECT ctid::text LIKE '($page,%' FROM f "
			  . "WHERE $column $operator '$best'"), 't', "$name: a row comes");
	is(check_error('i'), '', "$name: the facts are true");

	my $path = index_path($node, 'i');
	$node->stop;
	damage_file($path, sub {
		my ($data) = @_;

		# The least byte of the key of the entry.
		return poke($data, first_page($data, 'pending'), 24, "\377\377");
	});
	$node->start;
	like(check_error('i'), qr/Row \($page,\d+\) has key 0x\w+ of column 1, which a fact denies\./,
		"$name: the fact is not true");
	is($node->safe_psql('postgres', "SELECT count(rencoder_index_check('i', false))"), 1,
		"$name: which only the table tells");
	$node->safe_psql('postgres', 'REINDEX INDEX i');
	is(check_error('i'), '', "$name: REINDEX heals it");
	$node->safe_psql('postgres', $_)
	  foreach "UPDATE f SET a = 0, p = '(0,0)' WHERE pad = ''", 'DROP INDEX i', 'VACUUM f';
	return;
}

my @int8 = ('=', '1000 * hashint4(10000 + i)::int8 + 1');
my @point = ('~=', 'point(i * 7919 % 65537 + 0.5, i * 104729 % 65537 + 0.5)');

deny('a run', 'a', 'storage = run, resolution = pages, bits_per_key = 8', @int8, 1);
deny('rows', 'a', 'storage = run, bits_per_key = 10', @int8, 4);
deny('boxes', 'p', 'storage = run, resolution = pages, bits_per_key = 8', @point, 1);
$node->stop;
done_testing();
