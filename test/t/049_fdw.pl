# Partitions on other servers, by postgres_fdw: conditions are sent as they are, the
# indexes there are used, several at a time, and the answers are those of a sequential
# scan of the same rows here.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderTest;
use Test::More;

my $node = new_node('main');

plan skip_all => 'postgres_fdw is not installed'
  if !$node->safe_psql('postgres',
	"SELECT count(*) FROM pg_available_extensions WHERE name = 'postgres_fdw'");

my @shards  = ('shard0', 'shard1');
my $columns = 'id int, device int, no int8, s text, ip inet, p point, tag uuid, filler text';

# The shards: databases that the foreign servers point to.  All is cached.
foreach my $i (0 .. $#shards)
{
	$node->safe_psql('postgres', "CREATE DATABASE $shards[$i]");
	$node->safe_psql('postgres', "ALTER DATABASE $shards[$i] SET random_page_cost = 1.1");
	$node->safe_psql($shards[$i], "CREATE EXTENSION rencoder; CREATE TABLE readings_$i ($columns)");
}

# Here: two foreign partitions, a local one, and all of the rows in a plain table.
my $seed = rnd(1_000_000);
$node->safe_psql('postgres', qq{
	CREATE EXTENSION postgres_fdw;
	CREATE TABLE readings ($columns) PARTITION BY HASH (device);
	CREATE TABLE readings_2 PARTITION OF readings FOR VALUES WITH (MODULUS 3, REMAINDER 2);
	CREATE TABLE plain AS SELECT i AS id, i % 97 AS device, hashint8extended(i, $seed) AS no,
			'https://example.org/' || md5(i::text) AS s,
			nullif('10.0.0.0'::inet + i * 7919 % 24000, '10.0.0.77') AS ip,
			point(i % 155, i / 155) AS p, md5((i / 2)::text)::uuid AS tag,
			repeat('x', 500) AS filler
		FROM generate_series(1, 24000) i});
foreach my $i (0 .. $#shards)
{
	my ($host, $port) = ($node->host, $node->port);

	$node->safe_psql('postgres', qq{
		CREATE SERVER $shards[$i] FOREIGN DATA WRAPPER postgres_fdw OPTIONS (
			host '$host', port '$port', dbname '$shards[$i]', use_remote_estimate 'true');
		CREATE USER MAPPING FOR CURRENT_USER SERVER $shards[$i];
		CREATE FOREIGN TABLE readings_$i PARTITION OF readings
			FOR VALUES WITH (MODULUS 3, REMAINDER $i) SERVER $shards[$i]
			OPTIONS (async_capable 'true', batch_size '1000')});
}

# An index for each column and shard; rows come after it, through the foreign tables.
my @indexed = qw(no s ip p tag);
foreach my $i (0 .. $#shards)
{
	$node->safe_psql($shards[$i],
		"CREATE INDEX readings_${i}_$_ ON readings_$i USING rencoder ($_)")
	  foreach @indexed;
}
$node->safe_psql('postgres', "CREATE INDEX readings_no ON readings USING rencoder (no)");
$node->safe_psql('postgres', 'INSERT INTO readings SELECT * FROM plain');
foreach my $i (0 .. $#shards)
{
	$node->safe_psql($shards[$i],
		"VACUUM ANALYZE readings_$i; SELECT rencoder_index_stats_reset('readings_${i}_no')");
}
$node->safe_psql('postgres', 'VACUUM ANALYZE readings, plain');

# The lines "Remote SQL" of a plan, one for each shard that is asked.
sub remote_sql
{
	my ($plan) = @_;

	return $plan =~ /^\s*Remote SQL: (.*)$/mg;
}

sub plan_of
{
	my ($query) = @_;

	return $node->safe_psql('postgres', "EXPLAIN (VERBOSE, COSTS OFF) $query");
}

# One test: a query of "readings" has the rows that a sequential scan of "plain" has.
sub compare
{
	my ($name, $query) = @_;
	my $order = 'ORDER BY q::text COLLATE "C"';
	my $there = $node->safe_psql('postgres', "SELECT q::text FROM ($query) q $order");
	my $here  = $node->safe_psql('postgres',
		"SET enable_indexscan = off; SET enable_bitmapscan = off; SELECT q::text FROM ("
		  . ($query =~ s/\breadings\b/plain/r) . ") q $order");

	isnt($here, '', "$name: there are rows");
	is($there, $here, "$name: the same rows");
	return;
}

# condition => what of it stands in the remote query
my $no = $node->safe_psql('postgres', 'SELECT no FROM plain WHERE id = 4711');
my $s  = $node->safe_psql('postgres', 'SELECT s FROM plain WHERE id = 4711');
my $tag = $node->safe_psql('postgres', 'SELECT tag FROM plain WHERE id = 4711');
my $prefix = substr($s, 0, 24);
my @cases = (
	[ no => "no BETWEEN $no - 1000000000000 AND $no", qr/\(no >= .*\(no <= / ],
	[ no => "no = $no",                  qr/\(no = / ],
	[ no => "no IN ($no, 5, 6)",         qr/\(no = ANY \(/ ],
	[ s  => "s = '$s'",                  qr/\(s = '/ ],
	[ s  => "s LIKE '$prefix%'",         qr/\(s ~~ '\Q$prefix\E%'/ ],
	[ s  => "s ^\@ '$prefix'",           qr/\(s OPERATOR\(pg_catalog\.\^\@\) |\(s \^\@ / ],
	[ ip => "ip << '10.0.7.0/28'",       qr/\(ip << '10\.0\.7\.0\/28'/ ],
	[ p  => "p <\@ box '(17,19),(18,21)'", qr/\(p <\@ '\(18,21\),\(17,19\)'/ ],
	[ p  => "p <\@ circle '<(17,19),2>'",  qr/\(p <\@ '<\(17,19\),2>'/ ],
	[ tag => "tag = '$tag'",             qr/\(tag = '/ ]);

foreach my $case (@cases)
{
	my ($column, $condition, $sent) = @$case;
	my $query = "SELECT id, s FROM readings WHERE $condition";
	my $plan  = plan_of($query);
	my @remote = remote_sql($plan);

	is(scalar(grep { /$sent/ } @remote), scalar @shards, "$condition: sent to each shard");
	is(scalar(grep { /Filter: / } $plan =~ /Foreign Scan(.*?)Remote SQL/gs), 0,
		"$condition: nothing of it is left for here");
	is(() = $plan =~ /Async Foreign Scan/g, scalar @shards, "$condition: at the same time");
	foreach my $i (0 .. $#shards)
	{
		my ($there) = grep { /public\.readings_$i/ } @remote;

		like($node->safe_psql($shards[$i], "EXPLAIN (COSTS OFF) $there"),
			qr/Index Scan (?:on|using) readings_${i}_$column\b/,
			"$condition: by the index of $shards[$i]");
	}
	compare($condition, $query);
}

# Scans are counted there, and they left out nearly all of the table.  Sessions write their
# counts when they end at the latest, and the one of the foreign scan ends with ours.
# Those of other foreign scans must have ended.
foreach my $i (0 .. $#shards)
{
	wait_for_sessions_to_end($node, $shards[$i]);
	$node->safe_psql($shards[$i], "SELECT rencoder_index_stats_reset('readings_${i}_no')");
}
$node->safe_psql('postgres', "SELECT id FROM readings WHERE no = $no");
foreach my $i (0 .. $#shards)
{
	ok( $node->poll_query_until($shards[$i], 'SELECT scans = 1 AND pages * 20 < table_pages '
			  . "FROM rencoder_index_stats('readings_${i}_no')"), "$shards[$i] counts a scan");
}

# The key of a partition says which shard is asked.
my $one = plan_of("SELECT id FROM readings WHERE device = 5 AND no = $no");
is(scalar(() = $one =~ /Scan (?:using \S+ )?on public\.readings_\d/g), 1,
	'other partitions are not asked');

# A join sends each of its values.
my $join = "SELECT r.id, k.id AS key FROM (VALUES (4711), (815), (42)) k (id) "
  . "JOIN plain ON plain.id = k.id JOIN readings r ON r.no = plain.no";
my $nested = 'SET enable_hashjoin = off; SET enable_mergejoin = off;';
my $looked_up = $node->safe_psql('postgres', "$nested EXPLAIN (VERBOSE, COSTS OFF) $join");
is(scalar(grep { /\(\$1::bigint = no\)|\(no = \$1::bigint\)/ } remote_sql($looked_up)),
	scalar @shards, 'a nested loop asks the shards for each value');
is($node->safe_psql('postgres', "$nested SELECT count(*) FROM ($join) q WHERE id = key"), 3,
	'and finds them');

# Updates and deletes from here reach the indexes there.
foreach my $table (qw(readings plain))
{
	$node->safe_psql('postgres', qq{
		UPDATE $table SET no = no + 1, s = s || '/x' WHERE id % 50 = 11;
		DELETE FROM $table WHERE id % 50 = 12;
		INSERT INTO $table (id, device, no, s)
			SELECT i, i % 97, hashint8extended(i, $seed), 'https://example.net/' || i
			FROM generate_series(70001, 70500) i});
}
compare('after updates, an old value', "SELECT id, no FROM readings WHERE no IN ($no, $no + 1)");
compare('after inserts', "SELECT id FROM readings WHERE s LIKE 'https://example.net/7012%'");
compare('nulls', 'SELECT id FROM readings WHERE ip IS NULL');
foreach my $i (0 .. $#shards)
{
	my ($ret, undef, $err) = $node->psql($shards[$i],
		join ';', map { "SELECT rencoder_index_check('readings_${i}_$_', true)" } @indexed);

	is($err, '', "the indexes of $shards[$i] are sound");
}

# Functions do not reach out to other servers.
sub message
{
	my ($sql) = @_;
	my (undef, undef, $err) = $node->psql('postgres', $sql);

	return $err;
}

like(
	message("SELECT rencoder_index_check('readings_no')"),
	qr/is a partitioned index\n.*HINT:  Call the function for the index of each partition/s,
	'the index of the partitioned table is none');
is( $node->safe_psql('postgres', "SELECT rencoder_estimate('readings_1', 'no') IS NULL"),
	't', 'a foreign table has no pages to index');

done_testing();
