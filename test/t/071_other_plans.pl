# The extension changes no plan of a database that has no index of it: neither its operator classes,
# whose operators have an order that PostgreSQL looks for in them (18), nor its hooks.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderTest;
use Test::More;

my $node = new_node('main', conf => "autovacuum = off\njit = off\n");

# A value of each type made of a number i.
my %value = (
	int2        => '(i % 30000)::int2',
	int4        => 'i',
	int8        => 'i::int8 * 1000003',
	numeric     => 'i::numeric / 7',
	float8      => 'i / 7::float8',
	date        => q{date '2020-01-01' + i},
	timestamptz => q{timestamptz '2020-01-01 00:00+00' + i * interval '1 minute'},
	uuid        => 'md5(i::text)::uuid',
	inet        => q{inet '10.0.0.0' + i},
	bytea       => q{decode(md5(i::text), 'hex')},
	text        => 'md5(i::text)',
	'text COLLATE "C"' => 'md5(i::text)');

# Indexes are PostgreSQL's own.
sub make_tables
{
	my $n = 0;

	foreach my $type (sort keys %value)
	{
		my $name = 't' . $n++;

		$node->safe_psql('other', <<"SQL");
CREATE TABLE $name (id int, v $type, w $type, filler text);
INSERT INTO $name SELECT i, $value{$type}, $value{$type}, repeat('x', 50)
	FROM (SELECT hashint4(k) & 65535 AS i FROM generate_series(1, 3000) k) s;
CREATE INDEX ${name}_v ON $name (v);
CREATE INDEX ${name}_id ON $name (id, v);
CREATE INDEX ${name}_w ON $name USING brin (w) WITH (pages_per_range = 2);
ANALYZE $name;
SQL
	}
	return map { "t$_" } 0 .. $n - 1;
}

sub queries
{
	my ($name) = @_;

	return (
		"SELECT * FROM $name WHERE v = (SELECT w FROM $name LIMIT 1)",
		"SELECT * FROM $name ORDER BY v LIMIT 10",
		"SELECT * FROM $name ORDER BY v DESC, id",
		"SELECT * FROM $name ORDER BY v USING <",
		"SELECT v FROM $name GROUP BY v",
		"SELECT DISTINCT v, w FROM $name",
		"SELECT id, v FROM $name WHERE id = 7 ORDER BY v DESC LIMIT 3",
		"SELECT rank() OVER (PARTITION BY w ORDER BY v) FROM $name",
		"SELECT * FROM $name a JOIN $name b ON a.v = b.v",
		"SELECT * FROM $name a JOIN $name b ON a.v = b.v ORDER BY a.v",
		"SELECT * FROM $name a JOIN $name b ON a.v = b.w AND a.v > b.v",
		"SELECT * FROM $name a LEFT JOIN $name b ON a.v = b.v WHERE a.id = 3",
		"SELECT * FROM $name WHERE v IN (SELECT w FROM $name)",
		"SELECT * FROM $name WHERE NOT EXISTS (SELECT FROM $name b WHERE b.v = $name.w)",
		"SELECT * FROM $name WHERE v > ALL (SELECT w FROM $name)",
		"SELECT * FROM $name WHERE v IS NULL OR v IS NOT NULL AND w < v",
		"SELECT v FROM $name WHERE v = w AND v IN (SELECT v FROM $name b WHERE b.id < 9)"
		  . " ORDER BY w",
		"SELECT v FROM $name UNION SELECT w FROM $name",
		"SELECT v FROM $name INTERSECT SELECT w FROM $name",
		"SELECT a.v FROM $name a, LATERAL (SELECT * FROM $name b WHERE b.v >= a.v"
		  . " ORDER BY b.v LIMIT 1) l");
}

# Plans with several settings, in a new session.
sub plans
{
	my (@tables) = @_;
	my $sql = '';

	foreach my $off ('geqo', 'enable_hashjoin', 'enable_mergejoin', 'enable_seqscan')
	{
		$sql .= "RESET ALL; SET $off = off;\n";
		$sql .= "EXPLAIN (VERBOSE, FORMAT json) $_;\n" foreach map { queries($_) } @tables;
	}
	return $node->safe_psql('other', $sql);
}

$node->safe_psql('postgres', 'CREATE DATABASE other TEMPLATE template0');

my @tables = make_tables();
my $before = plans(@tables);

cmp_ok(scalar(() = $before =~ /Total Cost/g), '>', 2000, 'plans are printed');
$node->safe_psql('other', 'CREATE EXTENSION rencoder');
is(plans(@tables), $before, 'plans when the extension is there');
$node->append_conf('postgresql.conf', "session_preload_libraries = 'rencoder'");
$node->reload;
is($node->safe_psql('other', "SHOW rencoder.enable_scan"), 'on', 'its library is loaded');
is(plans(@tables), $before, 'plans when its library is loaded, too');

# An index of it changes some.
$node->safe_psql('other',
	'DROP INDEX t0_v; CREATE INDEX ON t0 USING rencoder (v); ANALYZE t0');
isnt(plans(@tables), $before, 'plans when there is an index of it');

done_testing();
