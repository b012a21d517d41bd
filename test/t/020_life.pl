# The life of an index outside of one session: prepared transactions, HOT updates,
# tablespaces, dump and restore.  What one session can do is in sql/ddl.sql, tables
# that are not logged in 005_persistence.pl.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderTest;
use Test::More;

my ($node, $standby) = start_primary_with_standby(
	conf => "max_prepared_transactions = 10\nallow_in_place_tablespaces = on\n");
my $version = $node->safe_psql('postgres', 'SHOW server_version_num');
my $seed = rnd(1_000_000);

sub sql
{
	my ($sql, $dbname) = @_;

	return $node->safe_psql($dbname // 'postgres', $sql);
}

# Sealed groups, a growing one, and rows that are not summarized.
sql(qq{
	CREATE TABLE t (id int, v int8, few int4, s text, other int, filler text)
		WITH (fillfactor = 50);
	ALTER TABLE t ALTER filler SET STORAGE plain;
	CREATE FUNCTION fill(first int, last int) RETURNS void LANGUAGE sql AS \$\$
		INSERT INTO t SELECT i, hashint8extended(i, $seed),
			nullif(abs(hashint4extended(i, $seed)) % 100, 7),
			'name ' || md5(i::text), 0, repeat('x', 300)
		FROM generate_series(first, last) i
	\$\$;
	SELECT fill(1, 4000);
	CREATE INDEX t_v ON t USING rencoder (v, few)
		WITH (autosummarize = off, pages_per_range = 1);
	CREATE INDEX t_s ON t USING rencoder (s)
		WITH (autosummarize = off, pages_per_range = 2, bits_per_key = 24);
	SELECT fill(4001, 4100)});

sub queries
{
	my $id = rnd_between(1, 4500);

	return (
		"SELECT id, v FROM t WHERE v = hashint8extended($id, $seed)",
		'SELECT id, v FROM t WHERE v BETWEEN '
		  . interval("hashint8extended($id, $seed)", '10000000000000000'),
		'SELECT id, few FROM t WHERE few = ' . rnd(120),
		'SELECT id FROM t WHERE few IS NULL',
		"SELECT id, s FROM t WHERE s = 'name ' || md5('$id')");
}

sub compare
{
	my ($name, $where, $dbname) = @_;

	$where  //= $node;
	$dbname //= 'postgres';
	$where->safe_psql($dbname,
		"SELECT rencoder_index_check('t_v', true), rencoder_index_check('t_s', true)");
	compare_many_with_seqscan($where, $dbname, [ map { queries() } 1 .. 20 ], $name);
	return;
}

compare('at first');

#
# Prepared transactions: what they have inserted is covered long before they are
# committed, across crashes and maintenance.
#
sub prepare
{
	my ($name, $first) = @_;

	sql("BEGIN; SELECT fill($first, $first + 49); UPDATE t SET v = -$first, few = 115
		WHERE id = $first - 4000;
		DELETE FROM t WHERE id = $first - 3999; PREPARE TRANSACTION '$name'");
	return;
}
prepare('before', 5000);
sql(q{SELECT rencoder_maintain_index('t_v'), rencoder_maintain_index('t_s')});
prepare('after', 5100);
prepare('gone', 5200);
$node->stop('immediate');
$node->start;
sql('SELECT rencoder_compact(\'t_v\', n, n + 20) FROM generate_series(0, 100, 10) n');
sql('VACUUM t');
sql('SELECT rencoder_compact(\'t_v\')');
compare('transactions are prepared');
sql("COMMIT PREPARED 'before'");
sql("ROLLBACK PREPARED 'gone'");
sql('VACUUM t');
sql("COMMIT PREPARED 'after'");
compare('transactions that were prepared are committed');
is(sql(q{SET enable_seqscan = off; SELECT count(*) FROM t WHERE v IN (-5000, -5100, -5200)}), '2',
	'their rows are found');
wait_for_standby($node, $standby);
compare('on the standby', $standby);

#
# HOT updates: of columns that no index has, always; of indexed columns from
# PostgreSQL 16 on (amsummarizing), where every row version must be covered.
#
sub hot_share
{
	my ($update) = @_;

	# A session reports when it ends; those before must not do so after the reset.
	wait_for_sessions_to_end($node);
	sql('SELECT pg_stat_reset_single_table_counters(\'t\'::regclass)');
	sql($update);
	$node->poll_query_until('postgres',
		'SELECT n_tup_upd > 0 FROM pg_stat_user_tables WHERE relname = \'t\'');
	return sql('SELECT round(n_tup_hot_upd / n_tup_upd::numeric, 1) FROM pg_stat_user_tables '
	  . 'WHERE relname = \'t\'');
}
sql('TRUNCATE t; SELECT fill(1, 2000); VACUUM t');
my $share = hot_share('UPDATE t SET other = other + 1 WHERE id % 3 = 0');
cmp_ok($share, '>=', 0.9, "updates of another column are HOT: $share");
compare('after updates of another column');
sql('VACUUM t');
$share = hot_share('UPDATE t SET v = v + 1, few = few + 1, s = s || \'x\' WHERE id % 3 = 1');
if ($version >= 160000)
{
	cmp_ok($share, '>=', 0.9, "so are updates of indexed columns: $share");
}
else
{
	cmp_ok($share, '==', 0, 'updates of indexed columns are not');
}
compare('after updates of indexed columns');
foreach my $round (1 .. 3)
{
	sql("UPDATE t SET v = hashint8extended(id + 1000 * $round, $seed), few = few - 1,
		s = 'name ' || md5((id + $round)::text)
		WHERE id % 5 = $round");
	sql(rnd_pick('VACUUM t',
			q{SELECT rencoder_compact('t_v', 0, 100), rencoder_compact('t_s', 0, 100)},
			q{SELECT rencoder_maintain_index('t_v')}, q{SELECT rencoder_compact('t_v')},
			'REINDEX INDEX t_s'));
	compare("after more of them, round $round");
}
# A btree beside it on another column, which is updated: not HOT, and all
# indexes get the new version.
sql('CREATE INDEX t_other ON t (other); VACUUM t');
$share = hot_share('UPDATE t SET other = other + 1, v = v - 1 WHERE id % 3 = 2');
cmp_ok($share, '==', 0, 'a btree on the column that changes: not HOT');
compare('after updates that are not HOT');
sql('DROP INDEX t_other');

#
# A tablespace, its standby, a crash.
#
sql(q{CREATE TABLESPACE space LOCATION ''});
sql('ALTER INDEX t_v SET TABLESPACE space');
sql('SELECT fill(2001, 2500); SELECT rencoder_maintain_index(\'t_v\')');
$node->stop('immediate');
$node->start;
compare('in another tablespace, after a crash');
wait_for_standby($node, $standby);
compare('in another tablespace, on the standby', $standby);
sql('ALTER TABLE t SET TABLESPACE space; ALTER INDEX t_s SET TABLESPACE space; '
  . 'SELECT fill(2501, 2600)');
wait_for_standby($node, $standby);
compare('table and indexes there, on the standby', $standby);
sql('ALTER INDEX t_v SET TABLESPACE pg_default');

#
# Dump and restore: options are kept, an index of restored rows is built of them.
#
sql(q{CREATE INDEX t_sparse ON t USING rencoder (v) WITH (bits_per_key = 12);
	CREATE INDEX t_part ON t USING rencoder ((few + 1)) WHERE id > 100;
	CREATE TABLE p (part int, v int8) PARTITION BY LIST (part);
	CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1);
	CREATE INDEX p_v ON p USING rencoder (v) WITH (pages_per_range = 1);
	INSERT INTO p SELECT 1, i FROM generate_series(1, 10000) i;
	CREATE MATERIALIZED VIEW m AS SELECT id, v FROM t;
	CREATE INDEX m_v ON m USING rencoder (v) WITH (pages_per_range = 1)});
my $definitions = q{SELECT string_agg(indexdef, E'\n' ORDER BY indexname) FROM pg_indexes
	WHERE schemaname = 'public'};
my $dump = $PostgreSQL::Test::Utils::tmp_check . '/dump';
foreach my $format ('p', 'c')
{
	my $db = "restored_$format";

	$node->command_ok([ 'pg_dump', '-d', $node->connstr('postgres'), '-F', $format,
		'--no-tablespaces', '-f', "$dump.$format" ],
		"pg_dump, format $format");
	sql("CREATE DATABASE $db");
	$node->command_ok(
		$format eq 'p'
		? [ 'psql', '-XqAt', '-v', 'ON_ERROR_STOP=1', '-o', "$dump.log", '-d',
			$node->connstr($db), '-f', "$dump.p" ]
		: [ 'pg_restore', '-d', $node->connstr($db), "$dump.c" ],
		"restored, format $format");
	is(sql($definitions, $db), sql($definitions), 'the same indexes');
	is(sql(q{SELECT bits_per_key FROM rencoder_metapage('t_sparse')}, $db), 12,
		'with their options');
	is(sql('SELECT count(*) || \' \' || sum(id) FROM t', $db),
		sql('SELECT count(*) || \' \' || sum(id) FROM t'), 'the same rows');
	compare("restored, format $format", $node, $db);
	sql(q{REFRESH MATERIALIZED VIEW m; SELECT rencoder_index_check(indexrelid, true) FROM pg_index
		WHERE indexrelid::regclass::text IN ('m_v', 'p1_v_idx', 't_part', 't_sparse')}, $db);
	compare_with_seqscan($node, $db, 'SELECT * FROM m WHERE v BETWEEN 0 AND 10000000000000000',
		index => 'm_v');
	compare_with_seqscan($node, $db,
		'SELECT * FROM p WHERE v BETWEEN 50 AND 60', index => 'p1_v_idx');
}
# A copy of a database, files and all.
without_others($node, 'CREATE DATABASE copied TEMPLATE restored_p');
compare('CREATE DATABASE .. TEMPLATE', $node, 'copied');
if ($version >= 150000)
{
	without_others($node, 'CREATE DATABASE copied_files TEMPLATE restored_p STRATEGY file_copy');
	compare('STRATEGY file_copy', $node, 'copied_files');
}

$standby->stop;
$node->stop;
done_testing();
