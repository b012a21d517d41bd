# Sessions that would make runs while somebody else has the maintainer lock leave the pending list
# as it is: each try that closed its tail would add a page with hardly an entry, which scans read.
#
# The maintainer waits for the index of the TOAST table, which REINDEX has locked until it commits.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderTest;
use Test::More;

# No worker: sessions make the runs.
my $node = new_node('main', conf => "rencoder.max_workers = 0\nautovacuum = off\n");

sub query
{
	return $node->safe_psql('postgres', $_[0]);
}

# 5 rows a page, and room there for their new versions.  One value is in TOAST.
query(q{
	CREATE TABLE t (id int, v text, filler text) WITH (fillfactor = 50);
	ALTER TABLE t ALTER v SET STORAGE external, ALTER filler SET STORAGE plain;
	INSERT INTO t SELECT i, CASE i WHEN 1 THEN repeat('x', 5000) ELSE i::text END, repeat('x', 700)
	FROM generate_series(1, 400) i;
	CREATE INDEX t_v ON t USING rencoder (v);
	VACUUM ANALYZE t});
my $toast = query(q{SELECT indexrelid::regclass FROM pg_index
	WHERE indrelid = (SELECT reltoastrelid FROM pg_class WHERE relname = 't')});

my $holder = $node->background_psql('postgres');
$holder->query_safe("BEGIN; REINDEX INDEX $toast");
my $maintainer = $node->background_psql('postgres');
$maintainer->query_until(qr/begins/, "\\echo begins\nSELECT rencoder_compact('t_v', 0, 5);\n");
$node->poll_query_until('postgres',
	"SELECT count(*) = 1 FROM pg_locks WHERE relation = '$toast'::regclass AND NOT granted")
  or die 'the maintainer does not wait';

# Each round an entry, and rows of 8 pages behind the frontier.
my $rounds = 30;
my $unindexed = q{SELECT unindexed FROM rencoder_candidates('t_v', ''::text, ''::text)};

foreach my $i (1 .. $rounds)
{
	query("UPDATE t SET v = 'new $i' WHERE id = 100 + $i");
	query("INSERT INTO t SELECT i, i::text, repeat('x', 700)
		FROM generate_series(1000 * $i, 1000 * $i + 39) i");
}
cmp_ok(query($unindexed), '>=', 7 * $rounds, 'nobody could make a run');
is(query(q{SELECT pending_pages FROM rencoder_metapage('t_v')}), 1, 'a page of entries');
$holder->query_safe('COMMIT');
$maintainer->query_safe('SELECT 1');
query(q{INSERT INTO t SELECT i, i::text, repeat('x', 700) FROM generate_series(40000, 40100) i});
cmp_ok(query($unindexed), '<', 7 * $rounds, 'then the session makes one');
is(query(q{SELECT rencoder_index_check('t_v', true)}), '', 'sound');
compare_many_with_seqscan($node, 'postgres',
	[ map { "SELECT id FROM t WHERE v = '$_'" } (map { "new $_" } 1 .. 30), 1000 .. 1040 ],
	'rows');

$_->quit foreach $holder, $maintainer;
$node->stop;
done_testing();
