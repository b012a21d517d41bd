# ALTER EXTENSION UPDATE from 0.1.0 while its indexes are in use.  The library comes before the
# script: so all has to work before it runs, beside it, and after it.
use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderTest;
use Test::More;

# Pages are changed without their checksums, which are the default from PostgreSQL 18 on.
my ($major) = `pg_config --version` =~ /^PostgreSQL (\d+)/;
my $node = new_node('update', conf => "max_prepared_transactions = 2\n",
	initdb => [ $major >= 18 ? ('--no-data-checksums') : () ]);
my ($new) = slurp_file("$FindBin::RealBin/../../rencoder.control") =~ /^default_version = '(.*)'/m;

my $CHECK = q{SELECT rencoder_index_check(c.oid, true)
	FROM pg_class c JOIN pg_am a ON a.oid = relam AND amname = 'rencoder' AND relkind = 'i'};

# Values that rows of the table have, that they had, and others.
sub queries
{
	return [ map { my $i = rnd_between(1, 6000);
			("SELECT id FROM t WHERE v = hashint8extended($i, 1)",
				"SELECT id FROM t WHERE tenant = $i % 50 AND code > 'c5'",
				"SELECT id FROM t WHERE few = $i % 30 AND v > 0",
				"SELECT id FROM t WHERE s LIKE left(md5('$i'), 3) || '%'",
				"SELECT array_agg(q) FROM
					(SELECT code FROM t WHERE tenant = $i % 50 ORDER BY code) q"
			) } 1 .. 20 ];
}

sub check_and_compare
{
	my ($name) = @_;
	my (undef, undef, $err) = $node->psql('postgres', $CHECK);

	is($err, '', "$name: all indexes are sound and cover all rows");
	compare_many_with_seqscan($node, 'postgres', queries(), $name);
	return;
}

$node->safe_psql('postgres', q{
	DROP EXTENSION rencoder;
	CREATE EXTENSION rencoder VERSION '0.1.0';
	CREATE TABLE t (id int, v int8, tenant int, code text COLLATE "C", few int, s text, once int)
		WITH (fillfactor = 60);
	CREATE FUNCTION fill(first int, last int) RETURNS void LANGUAGE sql AS $$
		INSERT INTO t SELECT i, hashint8extended(i, 1), i % 50, 'c' || left(md5(i::text), 6),
			nullif(i % 29, 7), md5(i::text), i FROM generate_series(first, last) i
	$$;
	SELECT fill(1, 4000);
	CREATE INDEX t_v ON t USING rencoder (v, few, s);
	CREATE INDEX t_key ON t USING rencoder (tenant, code) WITH (composite = on);
	CREATE INDEX t_filter ON t USING rencoder (few, v) WITH (storage = filter, pages_per_range = 4);
	CREATE INDEX t_part ON t USING rencoder ((v + 1)) WHERE id > 100;
	ALTER TABLE t ADD CONSTRAINT t_once EXCLUDE USING rencoder (once WITH =);
	SELECT fill(4001, 5000);
	DELETE FROM t WHERE id % 13 = 5;
	CREATE VIEW watched AS SELECT indexrelname, scans, needs_reindex FROM rencoder_stat_indexes;
	CREATE FUNCTION visits(i regclass) RETURNS bigint LANGUAGE sql
		AS 'SELECT pages FROM rencoder_candidates(i, 17::int8, 17::int8)';
	VACUUM ANALYZE t});

# Indexes as 0.1.0 made them: the number behind the magic number was 16 (t/050 has whole files).
my @paths = split /\n/, $node->safe_psql('postgres', q{SELECT pg_relation_filepath(oid)
	FROM pg_class WHERE relname IN ('t_v', 't_key', 't_once') ORDER BY relname});
$node->stop;
foreach my $path (@paths)
{
	open my $file, '+<:raw', $node->data_dir . "/$path" or die "$path: $!";
	seek $file, 28, 0 and print $file pack('L', 16) or die "$path: $!";
	close $file or die "$path: $!";
}
$node->start;

is($node->safe_psql('postgres', q{SELECT extversion,
		(SELECT count(*) FROM pg_class WHERE relname ~ '^t_' AND relkind = 'i' AND relam <> 0
			AND (SELECT version FROM rencoder_metapage(oid)) = 16)
	FROM pg_extension WHERE extname = 'rencoder'}),
	'0.1.0|3', 'the extension is the old one, indexes have the number that it gave them');
is($node->safe_psql('postgres', 'SELECT count(*) FROM watched WHERE NOT needs_reindex'),
	5, 'no index needs REINDEX');
check_and_compare('before');

# A prepared statement, a cursor in the middle of the index, rows that are not yet committed, and
# ones that are prepared: none of them lets the update wait, and each goes on.
my $reader = $node->background_psql('postgres');
$reader->query_safe(q{SET enable_seqscan = off;
	PREPARE one AS SELECT count(*) FROM t WHERE v = hashint8extended($1, 1)});
is($reader->query_safe('EXECUTE one(4324)'), 1, 'a prepared statement finds its row');
$reader->query_safe(q{BEGIN;
	DECLARE c CURSOR FOR SELECT code FROM t WHERE tenant = 11 ORDER BY code});
my $first = $reader->query_safe('FETCH 30 FROM c');
my $writer = $node->background_psql('postgres');
$writer->query_safe('BEGIN; SELECT fill(5001, 5100)');
$node->safe_psql('postgres', q{BEGIN; SELECT fill(5101, 5200); PREPARE TRANSACTION 'rows'});

$node->safe_psql('postgres', q{SET lock_timeout = '60s'; ALTER EXTENSION rencoder UPDATE});
is($node->safe_psql('postgres', q{SELECT extversion FROM pg_extension WHERE extname = 'rencoder'}),
	$new, 'the extension is the new one');

is("$first\n" . $reader->query_safe('FETCH ALL FROM c'),
	$node->safe_psql('postgres', 'SET rencoder.enable_scan = off;
		SELECT code FROM t WHERE tenant = 11 ORDER BY code'),
	'the cursor gives all rows, in order');
is($reader->query_safe('COMMIT; EXECUTE one(4324)'), 1, 'the prepared statement goes on');
$reader->quit;
$writer->query_safe('SELECT fill(5201, 5250); COMMIT');
$writer->quit;
$node->safe_psql('postgres', "COMMIT PREPARED 'rows'");
check_and_compare('after');
is($node->safe_psql('postgres', 'SELECT count(*), bool_or(needs_reindex) FROM watched'),
	'5|f', 'a view of the view goes on');
like($node->safe_psql('postgres', "SELECT visits('t_v')"), qr/^\d+$/, 'so does a function');
my (undef, undef, $err) = $node->psql('postgres', 'SELECT fill(4324, 4324)');
like($err, qr/conflicting key value violates exclusion constraint "t_once"/,
	'and the constraint');

$node->safe_psql('postgres', 'UPDATE t SET v = v - 1 WHERE id % 10 = 2; VACUUM t;
	SELECT rencoder_maintain(\'t\'); SELECT rencoder_compact(\'t_v\')');
check_and_compare('after maintenance');
$node->safe_psql('postgres', 'REINDEX TABLE t');
is($node->safe_psql('postgres', "SELECT DISTINCT version FROM pg_class,
		rencoder_metapage(pg_class.oid) WHERE relname ~ '^t_' AND relkind = 'i'"),
	1, 'REINDEX gives them the number of the frozen format');

(undef, undef, $err) = $node->psql('postgres', 'ALTER EXTENSION rencoder UPDATE');
like($err, qr/NOTICE:  version "\Q$new\E" of extension "rencoder" is already installed$/m,
	'a second update says that there is nothing to do');
(undef, undef, $err) = $node->psql('postgres', "ALTER EXTENSION rencoder UPDATE TO '0.1.0'");
like($err, qr/has no update path from version "\Q$new\E" to version "0.1.0"/,
	'there is no way back');

my $dump = $node->basedir . '/dump';
$node->command_ok(
	[ 'pg_dump', '-h', $node->host, '-p', $node->port, '-Fc', '-f', $dump, 'postgres' ],
	'dump of the updated database');
$node->safe_psql('postgres', 'CREATE DATABASE copied');
$node->command_ok([ 'pg_restore', '-h', $node->host, '-p', $node->port, '-d', 'copied', $dump ],
	'it is restored');
is($node->safe_psql('copied', 'SET enable_seqscan = off;
		SELECT count(*) FROM t WHERE v = hashint8extended(4324, 1)'), 1, 'with its indexes');
(undef, undef, $err) = $node->psql('copied', $CHECK);
is($err, '', 'which are sound');

$node->stop;
done_testing();
