# Indexes that were made before their rows, as every ORM, migration, partition and shard
# makes them: no VACUUM, no ANALYZE, and then a while without a write.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderTest;
use Test::More;

my $node = new_node('main', conf => "max_prepared_transactions = 2\n");
my $dir = $node->basedir;

sub sql
{
	my ($sql) = @_;

	return $node->safe_psql('postgres', $sql);
}

# Pages that are not indexed, of all indexes of a table.
sub unindexed
{
	my ($table) = @_;

	return qq{SELECT coalesce(sum(greatest(pg_relation_size('$table')
			/ current_setting('block_size')::int - frontier, 0)), 0)
		FROM pg_index, rencoder_metapage(indexrelid) WHERE indrelid = '$table'::regclass};
}

sub wait_until_all_indexed
{
	my ($table, $name) = @_;

	ok($node->poll_query_until('postgres', unindexed($table), '0'), $name);
	return;
}

# Values of row g: four columns, each with an index.  The strings have a common beginning
# of 24 bytes.
my %VALUE = (
	u => q{('https://www.example.com/' || md5(%1$s::text)) COLLATE "C"},
	p => q{point(8 + (hashint4extended(%1$s, 1) & 1048575) / 2097152.0,
		50 + (hashint4extended(%1$s, 2) & 1048575) / 2097152.0)},
	v => q{hashint8extended(%1$s, 3)},
	d => q{md5('u' || %1$s)::uuid});
my %TYPE = (u => 'text COLLATE "C"', p => 'point', v => 'int8', d => 'uuid');
my @COLUMNS = sort keys %VALUE;

sub value
{
	my ($column, $g) = @_;

	return sprintf $VALUE{$column}, $g;
}

sub make_table
{
	my ($table, $more) = @_;
	my $columns = join ', ', map { "$_ $TYPE{$_}" } @COLUMNS;

	sql("CREATE TABLE $table (id int, $columns, filler text)");
	sql("CREATE INDEX ${table}_$_ ON $table USING rencoder ($_) "
	  . "WITH (" . ($more // 'storage = run') . ")") foreach @COLUMNS;
	return;
}

sub rows
{
	my ($from, $to) = @_;

	return "SELECT g, " . join(', ', map { value($_, 'g') } @COLUMNS)
	  . ", repeat('x', 120) FROM generate_series($from, $to) g";
}

# The part of the ranges that queries for 50 values that are not there skip.
sub skipped_by_absent
{
	my ($table, $column) = @_;
	my $value = value($column, 'g');

	return sql(qq{SELECT sum(c.table_pages - c.pages)::float8 / sum(c.table_pages)
		FROM (SELECT $value AS x FROM generate_series(10000001, 10000050) g) q,
			rencoder_candidates('${table}_$column', x, x) c});
}

sub condition
{
	my ($column, $g) = @_;

	return "$column " . ($column eq 'p' ? '~=' : '=') . " (" . value($column, "($g)") . ")";
}

# What an index must be good for without any maintenance.
sub check_index
{
	my ($table, $column, $planned) = @_;
	my $skipped = skipped_by_absent($table, $column);

	cmp_ok($skipped, '>=', 0.95, "$table, $column: absent values skip $skipped of the ranges");
	if ($planned)
	{
		my $plan = sql("EXPLAIN (COSTS OFF) SELECT * FROM $table WHERE "
		  . condition($column, 10000001));

		like($plan, qr/Index Scan (?:on|using) ${table}_$column/,
			"$table, $column: the planner takes the index by itself");
	}
	compare_many_with_seqscan($node, 'postgres',
		[ map { "SELECT * FROM $table WHERE " . condition($column, $_) }
			1, 77, 5000, 11111, 20000, 10000001, 10000002 ],
		"$table, $column: rows, present and absent");
	sql("SELECT rencoder_index_check('${table}_$column', true)");
	return;
}

#
# COPY into tables of some 800 and 5,000 pages.
#
my %rows = (small => 23_900, large => 150_000);
foreach my $table ('small', 'large')
{
	make_table($table);
	sql("COPY (" . rows(1, $rows{$table}) . ") TO '$dir/$table'");
	sql("COPY $table FROM '$dir/$table'");
}
foreach my $table ('small', 'large')
{
	my $pages = sql("SELECT pg_relation_size('$table') / 8192");

	wait_until_all_indexed($table, "$table: $pages pages, all pages are indexed");
	is(sql("SELECT string_agg(DISTINCT pages_per_range::text, ' ')
			FROM pg_index, rencoder_metapage(indexrelid) WHERE indrelid = '$table'::regclass"),
		'16', "$table: ranges of an index that was made empty");
	check_index($table, $_, $pages > 1000) foreach @COLUMNS;
}
is(sql(q{SELECT reindex_pages_per_range FROM rencoder_metapage('small_v')}), 4,
	'small: what REINDEX would choose');
is(sql(q{SELECT reindex_pages_per_range FROM rencoder_metapage('large_v')}), 32,
	'large: what REINDEX would choose');

#
# A range that is indexed in part is kept so by those who insert into it; the next ones
# are a tail again.
#
sql("INSERT INTO small " . rows(23901, 23910));
is(sql(unindexed('small')), '0', 'rows in the last range: inserters cover them');
sql("INSERT INTO small " . rows(23911, 25000));
wait_until_all_indexed('small', 'another tail');
compare_many_with_seqscan($node, 'postgres',
	[ map { my $g = $_; map { "SELECT * FROM small WHERE " . condition($_, $g) } @COLUMNS }
		23901, 23910, 24500, 25000 ],
	'rows of the tails');
sql("SELECT rencoder_index_check('small_$_', true)") foreach @COLUMNS;
sql('DROP TABLE small, large');

#
# The table is locked for longer than the worker lingers, as by what comes after a load:
# another index, a foreign key.
#
my $WORKERS = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'rencoder worker'";
make_table('locked');
my $session = $node->background_psql('postgres');
$session->query_safe('BEGIN; LOCK TABLE locked IN SHARE MODE; INSERT INTO locked '
  . rows(1, 30000));
ok($node->poll_query_until('postgres', $WORKERS, '1'), 'locked: the worker has come');
# LINGER_MS of src/worker/worker.c is 5 s.
sql('SELECT pg_sleep(6)');
is(sql($WORKERS), '1', 'locked: it waits for its turn');
$session->query_safe('COMMIT');
$session->quit;
wait_until_all_indexed('locked', 'locked: after that');
sql('DROP TABLE locked');

#
# Table, index and rows in one transaction, as in a migration; also a table that is
# truncated and filled again.  The worker sees none of it before the commit.
#
my $IN_ONE = 'CREATE TABLE in_one (id int, v int8, filler text); '
  . 'CREATE INDEX in_one_v ON in_one USING rencoder (v)';
my $FILL = q{INSERT INTO in_one SELECT g, hashint8extended(g, 3), repeat('x', 120)
	FROM generate_series(1, 30000) g};
sql("BEGIN; $IN_ONE; $FILL; COMMIT");
wait_until_all_indexed('in_one', 'all in one transaction');
sql("BEGIN; TRUNCATE in_one; $FILL; COMMIT");
wait_until_all_indexed('in_one', 'truncated and filled in one transaction');
sql(qq{DROP TABLE in_one; BEGIN; SAVEPOINT s; $IN_ONE; $FILL; ROLLBACK TO s; $IN_ONE; $FILL;
	COMMIT});
wait_until_all_indexed('in_one', 'after another that was rolled back to a savepoint');
compare_many_with_seqscan($node, 'postgres',
	[ map { "SELECT * FROM in_one WHERE v = hashint8extended($_, 3)" } 1, 29000, 30000, 50000 ],
	'rows of one transaction');
sql(qq{DROP TABLE in_one; BEGIN; $IN_ONE; $FILL; ROLLBACK; BEGIN; $IN_ONE; $FILL;
	PREPARE TRANSACTION 'one'});
sql("COMMIT PREPARED 'one'");
cmp_ok(sql(unindexed('in_one')), '<', 256, 'prepared: nobody asks for the rest');
sql('DROP TABLE in_one');

# More of them than a transaction remembers.
sql(q{DO $$ BEGIN
	FOR i IN 1 .. 70 LOOP
		EXECUTE format('CREATE TABLE many_%s (v int8, filler text) WITH (fillfactor = 10)', i);
		EXECUTE format('ALTER TABLE many_%s ALTER filler SET STORAGE plain', i);
		EXECUTE format('CREATE INDEX ON many_%s USING rencoder (v)
			WITH (pages_per_range = 1)', i);
		EXECUTE format('INSERT INTO many_%s
			SELECT g, repeat(''x'', 1000) FROM generate_series(1, 13) g', i);
	END LOOP; END $$});
ok($node->poll_query_until('postgres', q{SELECT count(*)
		FROM pg_index, rencoder_metapage(indexrelid)
		WHERE indrelid::regclass::text ~ '^many_'
			AND pg_relation_size(indrelid) / current_setting('block_size')::int > frontier}, '0'),
	'70 tables made and filled in one transaction');
sql("DROP TABLE many_$_") foreach 1 .. 70;

#
# Partitions, each with a tail of its own; one is too small for an index.
#
sql(q{CREATE TABLE part (id int, v int8, u text COLLATE "C", filler text) PARTITION BY RANGE (id);
	CREATE INDEX ON part USING rencoder (v);
	CREATE INDEX ON part USING rencoder (u);
	CREATE TABLE part_0 PARTITION OF part FOR VALUES FROM (0) TO (150);
	CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM (150) TO (12000);
	CREATE TABLE part_2 PARTITION OF part FOR VALUES FROM (12000) TO (24000);
	CREATE TABLE part_3 PARTITION OF part FOR VALUES FROM (24000) TO (38000)});
sql(q{INSERT INTO part SELECT g, hashint8extended(g, 3), 'https://www.example.com/' || md5(g::text),
	repeat('x', 120)
	FROM generate_series(1, 37999) g ORDER BY hashint8(g)});
wait_until_all_indexed("part_$_", "partition $_ has no tail") foreach 1 .. 3;
is(sql(q{SELECT count(*) FROM pg_index WHERE indrelid = 'part_0'::regclass
	AND pg_relation_size(indexrelid) > 8192}),
	'0', 'a table of less than 8 pages has nothing in its indexes');
cmp_ok(sql(q{SELECT min((c.table_pages - c.pages)::float8 / c.table_pages)
	FROM generate_series(1, 3) i,
		rencoder_candidates(('part_' || i || '_u_idx')::regclass,
			'https://www.example.com/none'::text COLLATE "C",
			'https://www.example.com/none'::text COLLATE "C") c}),
	'>=', 0.95, 'partitions: an absent value');
compare_many_with_seqscan($node, 'postgres',
	[ map { "SELECT * FROM part WHERE v = hashint8extended($_, 3)" }
		1, 1999, 2000, 11999, 20000, 37999, 50000 ],
	'partitions: rows');
sql('DROP TABLE part');

#
# One long load that has not committed: its rows are all that there is to learn from.
#
make_table('open_load');
sql("BEGIN; INSERT INTO open_load " . rows(1, 20000) . "; PREPARE TRANSACTION 'load'");
ok($node->poll_query_until('postgres', q{SELECT min(frontier) >= 32
		FROM pg_index, rencoder_metapage(indexrelid) WHERE indrelid = 'open_load'::regclass}),
	'rows in progress are indexed');
foreach my $column (@COLUMNS)
{
	is(sql("SELECT count(*) FROM open_load WHERE " . condition($column, 7)), '0',
		"open load, $column: not visible");
}
sql("COMMIT PREPARED 'load'; INSERT INTO open_load " . rows(20001, 20700));
wait_until_all_indexed('open_load', 'the end of the load');
check_index('open_load', $_, 0) foreach @COLUMNS;
sql('DROP TABLE open_load');

#
# The first ranges have no values: later ones must learn all the same, those of the same
# group, too.  Few rows come at first, for the worker to summarize: in a group that has
# summaries, an inserting session leaves it to VACUUM to begin anew with a coder.
#
make_table('late', 'pages_per_range = 4');
sql("INSERT INTO late (id, filler) SELECT g, repeat('x', 120) FROM generate_series(-30000, 0) g");
wait_until_all_indexed('late', 'only nulls');
sql("INSERT INTO late " . rows(1, 600));
wait_until_all_indexed('late', 'then some values');
sql("INSERT INTO late " . rows(601, 30000));
wait_until_all_indexed('late', 'then many');
foreach my $column ('u', 'p')
{
	check_index('late', $column, 0);
	is(sql("SELECT count(*) FROM late WHERE $column IS NULL"), '30001', "late, $column: nulls");
}
sql('DROP TABLE late');

#
# Places that come one after the other: what the first rows teach says nothing of the later
# ones, which get coders of their own.  VACUUM gives them to the groups before.
#
# Summarized by hand, in portions of 5,000 rows, so that the coders learn from the same
# rows each time.
sql(q{CREATE TABLE places (id int, p point, u text COLLATE "C", filler text);
	CREATE INDEX places_p ON places USING rencoder (p)
		WITH (pages_per_range = 4, autosummarize = off);
	CREATE INDEX places_u ON places USING rencoder (u)
		WITH (pages_per_range = 4, autosummarize = off)});
foreach my $portion (0 .. 19)
{
	sql(qq{INSERT INTO places SELECT g, point(g / 1e2, g / 3e2),
			'https://host' || g / 5000 || '.example.org/' || md5(g::text), repeat('x', 120)
		FROM generate_series($portion * 5000 + 1, $portion * 5000 + 5000) g});
	sql(q{SELECT rencoder_maintain_index('places_p'),
		rencoder_maintain_index('places_u')});
}
is(sql(unindexed('places')), '0', 'places');

sub passed_by_boxes
{
	return sql(q{SELECT sum(c.pages)::float8 / sum(c.table_pages)
		FROM places s, rencoder_candidates('places_p', point(p[0] + 0.001, p[1] + 0.0001),
			point(p[0] + 0.002, p[1] + 0.0002)) c
		WHERE id % 1000 = 0});
}
my $before = passed_by_boxes();
cmp_ok($before, '<=', 0.05, "boxes that lie along the way pass $before of the pages");
my @queries = map {
	my $host = int($_ / 5000);
	(   "SELECT * FROM places "
		  . "WHERE p <@ box(point($_ / 1e2 - 0.1, -1), point($_ / 1e2 + 0.1, 1e9))",
		"SELECT * FROM places WHERE u LIKE 'https://host$host.example.org/a0%'")
} 3, 500, 20000, 60000, 99999;
compare_many_with_seqscan($node, 'postgres', \@queries, 'several generations of coders');
sql('VACUUM places') foreach 1 .. 8;
my $after = passed_by_boxes();
cmp_ok($after, '<=', 0.02, "after VACUUM $after");
compare_many_with_seqscan($node, 'postgres', \@queries, 'after VACUUM');
sql("SELECT rencoder_index_check('places_$_', true)") foreach 'p', 'u';

$node->stop;
done_testing();
