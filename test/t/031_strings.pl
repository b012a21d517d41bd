# Strings: coders after a crash and on a standby, databases of other collations,
# changes while ranges are summarized anew.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderTest;
use Test::More;

my ($node, $standby) = start_primary_with_standby(conf => "shared_buffers = 8MB\n");

# Words of all kinds: short ones and long ones, alike at their beginning or not.
my $setup = q{
	CREATE FUNCTION word(i int) RETURNS text LANGUAGE sql IMMUTABLE AS $$
		SELECT CASE i % 4
			WHEN 0 THEN 'https://www.example.com/' || to_hex(hashint4extended(i, 1) & 65535)
			WHEN 1 THEN left(md5(i::text), 1 + i % 7)
			WHEN 2 THEN repeat('alike ', 40 + i % 20) || i
			ELSE chr(192 + i % 64) || chr(65 + i % 26) || chr(97 + i % 26) || i END
	$$;
	CREATE TABLE t (id int, v text, b bytea, c char(40), few varchar(40));
	CREATE FUNCTION fill(a int, z int) RETURNS void LANGUAGE sql AS $$
		INSERT INTO t SELECT i, word(i), convert_to(word(i), 'UTF8'), left(word(i), 40),
			'https://www.example.com/' || i % 13
		FROM generate_series(a, z) i
	$$;
	SELECT fill(1, 8000);
	CREATE INDEX t_v ON t USING rencoder (v) WITH (pages_per_range = 1);
	CREATE INDEX t_b ON t USING rencoder (b) WITH (pages_per_range = 1);
	CREATE INDEX t_c ON t USING rencoder (c, few) WITH (pages_per_range = 1);
};
my @indexes = ('t_v', 't_b', 't_c');
$node->safe_psql('postgres', $setup);

sub quote { my ($s) = @_; $s =~ s/'/''/g; return "'$s'"; }

sub some_queries
{
	my @queries;

	foreach my $i (map { rnd_between(1, 16000) } 1 .. 5)
	{
		my $length = rnd_between(1, 30);

		push @queries,
		  "SELECT id FROM t WHERE v = word($i)",
		  "SELECT id FROM t WHERE v LIKE left(word($i), $length) || '%'",
		  "SELECT id FROM t WHERE v ^\@ left(word($i), $length)",
		  "SELECT id FROM t WHERE v < left(word($i), 4) AND v LIKE left(word($i), 1) || '%'",
		  "SELECT id FROM t WHERE v BETWEEN left(word($i), 4) AND left(word($i), 5)",
		  "SELECT id FROM t WHERE v ~>~ left(word($i), $length) AND id % 7 = 0",
		  "SELECT id FROM t WHERE b = convert_to(word($i), 'UTF8')",
		  "SELECT id FROM t WHERE b > convert_to(word($i), 'UTF8') AND id % 5 = 0",
		  "SELECT id FROM t WHERE c = left(word($i), 40)::bpchar",
		  "SELECT id FROM t WHERE c LIKE left(word($i), $length) || '%' AND few <> 'x'",
		  "SELECT id FROM t WHERE c = left(word($i), 40)::bpchar "
		  . "AND few = 'https://www.example.com/' || $i % 15";
	}
	return \@queries;
}

sub verify
{
	my ($name, $dbname, @nodes) = @_;
	my $queries = some_queries();

	wait_for_standby($node, $standby) if @nodes > 1;
	foreach my $n (@nodes)
	{
		foreach my $index (@indexes)
		{
			my ($ret, $out, $err) =
			  $n->psql($dbname, "SELECT rencoder_index_check('$index', true)");

			is($err, '', "$name: $index is sound on the " . $n->name);
		}
		compare_many_with_seqscan($n, $dbname, $queries, "$name, " . $n->name);
	}
	return;
}

ok(uses_index($node, 'postgres', $_->[0], $_->[1]), "index for $_->[0]")
  foreach [ "SELECT id FROM t WHERE v LIKE 'a%'", 't_v' ],
  [ "SELECT id FROM t WHERE b = 'x'", 't_b' ],
  [ "SELECT id FROM t WHERE c = 'x'", 't_c' ];

#
# Crash, standby.
#
verify('built', 'postgres', $node, $standby);
$node->stop('immediate');
$node->start;
verify('after a crash', 'postgres', $node, $standby);
$node->safe_psql('postgres', 'SELECT fill(8001, 12000)');
verify('inserted', 'postgres', $node, $standby);
$node->safe_psql('postgres',
	'VACUUM t; UPDATE t SET v = word(id + 1) WHERE id % 9 = 0; DELETE FROM t WHERE id % 6 = 0');
$node->stop('immediate');
$node->start;
verify('vacuumed, updated, after a crash', 'postgres', $node, $standby);
$node->safe_psql('postgres', 'VACUUM t; SELECT fill(12001, 16000); VACUUM t');
verify('vacuumed again', 'postgres', $node, $standby);
$node->safe_psql('postgres', 'REINDEX TABLE t');
verify('reindexed', 'postgres', $node, $standby);

#
# Databases whose default is not C.
#
foreach my $locale (
	[ 'icu',  q{LOCALE_PROVIDER icu ICU_LOCALE 'en-US' LOCALE 'C'} ],
	[ 'libc', q{LOCALE 'C.UTF-8'} ])
{
	my ($name, $options) = @$locale;
	my ($ret, $out, $err) = $node->psql('postgres',
		"CREATE DATABASE $name TEMPLATE template0 ENCODING 'UTF8' $options");

  SKIP:
	{
		skip "no such locale: $err", 1 if $ret != 0;
		$node->safe_psql($name, "CREATE EXTENSION rencoder; $setup");
		verify("$name: built", $name, $node);
		$node->safe_psql($name, 'SELECT fill(8001, 10000); VACUUM t; SELECT fill(10001, 11000)');
		verify("$name: inserted", $name, $node);

		# The order is not that of bytes, and must not prune; the others must.
		my %pages = map {
			$_ => $node->safe_psql($name,
				"SET enable_seqscan = off; SET enable_indexscan = off; "
				  . "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) "
				  . "SELECT * FROM t WHERE v $_") =~ /(?:exact|lossy)=(\d+)/ ? $1 : 0
		} "LIKE '1f%'", "= word(77)", "< '0'", "COLLATE \"C\" < '0'";

		my $all = $node->safe_psql($name,
			"SELECT pg_relation_size('t') / current_setting('block_size')::int");
		cmp_ok($pages{"LIKE '1f%'"}, '<', $all / 2, "$name: LIKE prunes");
		cmp_ok($pages{'= word(77)'}, '<', $all / 4, "$name: equality prunes");
		cmp_ok($pages{"< '0'"}, '==', $all, "$name: order does not")
		  if $name eq 'icu';
		is($pages{"COLLATE \"C\" < '0'"}, 0, "$name: nor is the index for another collation");
	}
}

#
# Inserts and updates while ranges are forgotten and summarized again.
#
$node->safe_psql(
	'postgres', q{
	CREATE TABLE go (x int);
	INSERT INTO go VALUES (1);
	CREATE PROCEDURE summarize_again(rounds int) LANGUAGE plpgsql AS $$
	DECLARE
		n int := pg_relation_size('t') / current_setting('block_size')::int;
		b int;
	BEGIN
		FOR i IN 1 .. rounds LOOP
			b := (random() * n)::int;
			PERFORM rencoder_compact('t_v', b, b + 10), rencoder_compact('t_c', b, b + 10);
			COMMIT;
			IF i % 50 = 0 THEN
				PERFORM rencoder_maintain_index('t_v'), rencoder_maintain_index('t_c');
				COMMIT;
			END IF;
		END LOOP;
	END $$;
});
my @clients = map { start_sql($node, $_) } (
	q{DO $$ DECLARE i int := 20000; BEGIN
		WHILE (SELECT count(*) FROM go) > 0 LOOP PERFORM fill(i, i + 50); i := i + 51; COMMIT;
		END LOOP; END $$},
	q{DO $$ BEGIN WHILE (SELECT count(*) FROM go) > 0 LOOP
		UPDATE t SET v = word((random() * 50000)::int), c = left(v, 20)
			WHERE ctid = format('(%s,%s)', (random() * 200)::int, 1 + (random() * 40)::int)::tid;
		COMMIT; END LOOP; END $$});
my ($ret, $out, $err) = $node->psql('postgres', 'CALL summarize_again(600)');
is($err, '', 'ranges are forgotten and summarized');
$node->safe_psql('postgres', 'DELETE FROM go');
finish_sql($_, 'while rows are inserted and updated') foreach @clients;
note($node->safe_psql('postgres', 'SELECT count(*) FROM t WHERE id >= 20000') . ' rows inserted');
verify('concurrent changes', 'postgres', $node, $standby);

$standby->stop;
$node->stop;
done_testing();
