# Groups that grow: each filter is logged once where a matrix has room for all ranges of the group,
# that of the first group is copied wider, a query reads each window once, and no bit is lost in the
# part of a page that is not in use yet (INV-5): replay and full page images zero that part.  Only
# maintainers set bits.  Rows that come to a range that is being or has been summarized are entries
# of the pending list, and change neither storage nor state (INV-2, INV-3).
use strict;
use warnings;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderTest;
use Test::More;

# No checkpoint but those of the test: page images would be counted, too.
my ($primary, $standby) = start_primary_with_standby(
	conf => "checkpoint_timeout = 1h\nmax_wal_size = 4GB\nwal_consistency_checking = 'generic'\n");

sub sql
{
	my ($sql) = @_;

	return $primary->safe_psql('postgres', $sql);
}

#
# WAL and reads, exactly.  185 rows are a page, eight pages a range.
#
my $seed = rnd(1_000_000);
sql(qq{
	CREATE TABLE a (v int8, n int4);
	CREATE INDEX a_v ON a USING rencoder (v)
		WITH (autosummarize = off, pages_per_range = 8, storage = filter);
	CREATE FUNCTION add_slice() RETURNS void LANGUAGE sql AS \$\$
		INSERT INTO a SELECT hashint8extended(i, $seed), i
		FROM coalesce((SELECT max(n) FROM a), 0) AS first,
			generate_series(first + 1, first + 8 * 8 * 185) i
	\$\$;
	-- Ranges that are summarized, and the WAL that takes.
	CREATE FUNCTION summarize_logged(OUT ranges int, OUT bytes numeric) LANGUAGE plpgsql AS \$\$
	DECLARE
		before int := (SELECT sum(summarized) FROM rencoder_groups('a_v'));
		plan json;
	BEGIN
		SET LOCAL wal_consistency_checking = '';
		EXECUTE 'EXPLAIN (ANALYZE, WAL, FORMAT JSON) SELECT rencoder_summarize_new_values(''a_v'')'
			INTO plan;
		bytes := (plan->0->'Plan'->>'WAL Bytes')::numeric;
		ranges := (SELECT sum(summarized) FROM rencoder_groups('a_v')) - coalesce(before, 0);
	END \$\$;
});

# Bands that a matrix has room for, when it has got one slice after the other.
my @WIDTHS = ([ 1, 2, (4) x 2, (8) x 4, (16) x 8 ], [ (16) x 16 ]);

# WAL, in bands of 16 to a filter: what is made or copied is logged whole; what comes to a band, by
# itself.  In a matrix of all ranges a slice is made as a band, too.
my @BANDS = (1 + 2 + 4 + 8 + 16 + 15, 16);

foreach my $number (0, 1)
{
	my $group = "FROM rencoder_groups('a_v') WHERE group_no = $number";
	my $wal = 0;

	foreach my $slice (1 .. 16)
	{
		my ($ranges, $bytes) = split /\|/,
			sql("SELECT add_slice(); SELECT * FROM summarize_logged()") =~ s/^\n//r;
		my $width = $WIDTHS[$number][ $slice - 1 ];
		my $name = "group $number, slice $slice";

		is($ranges, 8, "$name: 8 ranges, $bytes bytes of WAL");
		$wal += $bytes;
		is( sql("SELECT summarized, storage, sealed, pages = (windows * $width + 15) / 16 $group"),
			8 * $slice . '|matrix|' . ($slice == 16 ? 't' : 'f') . '|t',
			"$name: a matrix of $width bands");
		next if $slice != 1 && $slice != 10;

		# Metapage and directory are four reads; of each group two windows (kw 2), a
		# header where it is not sealed or something is found.
		is( sql(qq{
				SELECT bool_and(index_pages <= 4 + ($number + 1) * (1 + 2))
				FROM generate_series(1, 200) i,
					LATERAL rencoder_candidates('a_v', hashint8extended(i, $seed) + 1,
						hashint8extended(i, $seed) + 1)}),
			't', "$name: each window is read once");
	}
	my $windows = sql("SELECT windows $group");
	cmp_ok($windows, '>', 50, "group $number: $windows windows");
	my $ratio = $wal / ($windows * 8160);
	cmp_ok($ratio, '<=', 1.2 * $BANDS[$number] / 16,
		sprintf "group $number: WAL is %.3f times its filters", $ratio);
}
sql("SELECT rencoder_index_check('a_v', true)");
compare_with_seqscan($primary, 'postgres',
	"SELECT n FROM a WHERE v BETWEEN $_ AND $_ + 100000000000000", index => 'a_v')
  foreach (-1000000000000000, 5000000000000000);

#
# Bits beyond what is in use.  The index expression waits at the value that it is told; pages have
# room for more rows.
#
sql(q{
	CREATE EXTENSION pageinspect;
	CREATE FUNCTION waits(v int8) RETURNS int8 LANGUAGE plpgsql IMMUTABLE AS $$
	BEGIN
		IF current_setting('rencodertest.wait', true) = v::text THEN
			PERFORM pg_catalog.pg_advisory_lock_shared(1);
			PERFORM pg_catalog.pg_advisory_unlock_shared(1);
		END IF;
		RETURN v;
	END $$;
	CREATE TABLE w (id serial, v int8, few int4, filler text) WITH (fillfactor = 50);
	ALTER TABLE w ALTER filler SET STORAGE plain;
	CREATE INDEX w_v ON w USING rencoder (waits(v))
		WITH (autosummarize = off, pages_per_range = 1, storage = filter);
	CREATE INDEX w_two ON w USING rencoder (waits(v), few)
		WITH (autosummarize = off, pages_per_range = 1, storage = filter);
	-- Rows that fill so many pages: 30 each.
	CREATE FUNCTION add_pages(pages int, nulls bool DEFAULT false) RETURNS void LANGUAGE sql AS $$
		INSERT INTO w (v, few, filler)
			SELECT CASE WHEN NOT nulls THEN hashint8extended(i, 7) END, i % 3,
				repeat('x', CASE WHEN nulls THEN 88 ELSE 76 END)
			FROM coalesce((SELECT max(id) FROM w), 0) AS first,
				generate_series(first + 1, first + pages * 30) i
	$$;
	CREATE FUNCTION summarize() RETURNS void LANGUAGE sql AS $$
		SELECT rencoder_summarize_new_values('w_v'), rencoder_summarize_new_values('w_two')
	$$;
	-- Where the bytes end that pages of a type use.
	CREATE FUNCTION ends(index regclass, id bytea) RETURNS SETOF int LANGUAGE sql AS $$
		SELECT lower FROM generate_series(1, pg_relation_size(index) / 8192 - 1) AS b,
			LATERAL get_raw_page(index::text, b::int) AS p, LATERAL page_header(p)
		WHERE substr(p, 8191, 2) = id
	$$;
	-- Bands in use, of window pages that are not all in use.
	CREATE FUNCTION bands(index regclass) RETURNS text LANGUAGE sql AS $$
		SELECT string_agg(DISTINCT ((e - 24) / 510.0)::float8::text, ',')
		FROM ends(index, '\xb4ff') e WHERE e < 24 + 16 * 510
	$$;
	-- Entries of the pending list: 16 bytes stand before them, each has 12 and 12 for a column.
	CREATE FUNCTION entries(index regclass) RETURNS int LANGUAGE sql AS $$
		SELECT coalesce(sum((e - 24 - 16) / ((12 + 12 * natts + 7) / 8 * 8)), 0)
		FROM rencoder_metapage(index), ends(index, '\xbdff') e
	$$;
	SELECT add_pages(128), summarize();
	SELECT add_pages(16), summarize()});
is(sql("SELECT pg_relation_size('w') / 8192"), 144, '30 rows a page');
is( sql("SELECT storage || ' ' || summarized FROM rencoder_groups('w_v') WHERE group_no = 1"),
	'matrix 16', 'a group that grows');

# Values that come later.  They are far apart: filters take neighbours for the same.
my $STEP = '100000000000000000';
my @QUERIES = (
	map({ "SELECT id, v FROM w WHERE waits(v) = $_ * $STEP" } 1 .. 12),
	"SELECT id, v FROM w WHERE waits(v) BETWEEN 0 AND 13 * $STEP AND few = 77");

sub verify
{
	my ($node, $name) = @_;

	foreach my $index ('w_v', 'w_two')
	{
		my ($ret, $out, $err) =
		  $node->psql('postgres', "SELECT rencoder_index_check('$index', true)");

		is($err, '', "$name: $index is sound and covers all rows");
	}
	compare_many_with_seqscan($node, 'postgres', \@QUERIES, $name);
	return;
}

# On both, as they are and after a crash of either.
sub verify_everywhere
{
	my ($name) = @_;

	verify($primary, $name);
	wait_for_standby($primary, $standby);
	verify($standby, "$name, standby");
	$primary->stop('immediate');
	$primary->start;
	verify($primary, "$name, after a crash");
	wait_for_standby($primary, $standby);
	$standby->stop('immediate');
	$standby->start;
	verify($standby, "$name, standby after a crash");
	return;
}

# Bands in use of both indexes.  Those of a group that is full, and of one that was made at once,
# are all in use.
sub bands_are
{
	my ($w_v, $w_two, $name) = @_;

	is(sql("SELECT bands('w_v'), bands('w_two')"), "$w_v|$w_two", $name);
	return;
}

# A row gets a value in a range that is being or has been summarized in so many of the two
# indexes: there it is an entry, and nothing else.
sub change_row
{
	my ($ctid, $value, $name, $number) = @_;
	my $entries = "SELECT entries('w_v') + entries('w_two')";
	my $others = q{SELECT bands('w_v'), bands('w_two'),
		md5(string_agg(r::text, '' ORDER BY r::text)) FROM (
			SELECT i, range_no, attnum, state, min_key, max_key
			FROM unnest('{w_v,w_two}'::regclass[]) i, rencoder_ranges(i)) r};
	my ($before, $others_before) = map { sql($_) } ($entries, $others);

	is( sql("WITH u AS (UPDATE w SET v = $value * $STEP, few = 77 WHERE ctid = '$ctid' RETURNING 1)
			SELECT count(*) FROM u"),
		1, "$name: a row of $ctid");
	is(sql($entries) - $before, $number // 2, "$name: an entry each");
	is(sql($others), $others_before, "$name: states and storage stay as they are");
	return;
}

# No bit is set of ranges without values; what comes to them is on the pending list alone.
bands_are(2, 2, 'two bands are in use');
sql('SELECT add_pages(8, true), summarize()');
bands_are(2, '2,3', 'a slice of nulls uses no band');
change_row('(147,3)', 1, 'a value in a range of nulls');
verify_everywhere('a value in a range of nulls');

# The first change after a checkpoint logs a page whole; the next ones do not.  Another slice of
# nulls is left out between.
sql('SELECT add_pages(8, true), summarize(); SELECT add_pages(8)');
sql('CHECKPOINT');
sql('SELECT summarize()');
bands_are(5, 5, 'page images that have the bits');
sql('SELECT add_pages(8), summarize()');
bands_are(6, 6, 'and deltas');
change_row('(162,3)', 2, 'a value in one of these bands');
verify_everywhere('bands after a checkpoint');

# What is there is read once more: bits below the last band that is in use.
sql(q{SELECT rencoder_desummarize_range(i, 147), rencoder_summarize_range(i, 147)
	FROM unnest('{w_v,w_two}'::regclass[]) i});
bands_are(6, 6, 'a range is summarized again');
change_row('(147,4)', 3, 'a value comes again');
verify_everywhere('a range summarized again');

# In the middle of summarizing: the reader stands at page 179 of the table.
sub stop_summarizing
{
	my ($index) = @_;
	my $value = sql("SELECT v FROM w WHERE ctid = '(179,1)'");
	my $stopper = $primary->background_psql('postgres');
	my ($in, $out) = ('', '');

	$stopper->query_safe('SELECT pg_advisory_lock(1)');
	my $handle = IPC::Run::start(
		[ 'psql', '-XqAt', '-d', $primary->connstr('postgres'), '-c',
			"SET rencodertest.wait = '$value'; SELECT rencoder_summarize_new_values('$index')" ],
		'<', \$in, '>', \$out, '2>', \$out);
	$primary->poll_query_until('postgres',
		"SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock' "
		  . "AND wait_event = 'advisory'")
	  or die "the summarizer does not wait: $out";
	return ($stopper, $handle);
}

# That of the slice's eight ranges.
sub slice_is
{
	my ($index, $state, $name) = @_;

	is( sql("SELECT string_agg(DISTINCT state, ','), count(*) FROM rencoder_ranges('$index') "
		  . 'WHERE range_no BETWEEN 176 AND 183 AND attnum = 1'),
		"$state|8", $name);
	return;
}

sql('SELECT add_pages(8)');
my ($stopper, $summarizer) = stop_summarizing('w_v');
slice_is('w_v', 'summarizing', 'a slice is summarizing');
change_row('(177,3)', 4, 'a value where the reader was', 1);
change_row('(182,3)', 5, 'a value where the reader was not yet', 1);
slice_is('w_v', 'summarizing', 'it stays so');
# rencoder_index_check() would wait for the summarizer here, on the standby it does not.
compare_many_with_seqscan($primary, 'postgres', \@QUERIES, 'while it is summarized');
wait_for_standby($primary, $standby);
verify($standby, 'while it is summarized, standby');
$primary->stop('immediate');
eval { $stopper->quit };
eval { $summarizer->finish };
$primary->start;
slice_is('w_v', 'summarizing', 'a crash leaves it so');
verify($primary, 'a crash while it is summarized');
change_row('(178,3)', 6, 'a value after the crash', 1);
sql("SELECT rencoder_summarize_new_values('w_v')");
slice_is('w_v', 'summarized', 'the next one finishes it');
bands_are(7, 6, 'with its bits');
verify_everywhere('summarized after a crash');

# Two columns.  What came where the reader was is found by its entry alone.
($stopper, $summarizer) = stop_summarizing('w_two');
change_row('(177,4)', 7, 'two columns: where the reader was');
change_row('(183,3)', 8, 'two columns: where the reader was not yet');
slice_is('w_two', 'summarizing', 'two columns: it stays summarizing');
$stopper->query_safe('SELECT pg_advisory_unlock(1)');
$stopper->quit;
$summarizer->finish;
slice_is('w_two', 'summarized', 'two columns: it is summarized');
bands_are(7, 7, 'two columns: its bits');
verify_everywhere('two columns');

# To the end: the last slice makes the group full.
sql('SELECT add_pages(72), summarize()');
is( sql("SELECT string_agg(storage || ' ' || sealed, ', ') "
	  . "FROM rencoder_groups('w_two') WHERE group_no = 1"),
	'matrix true, matrix true', 'the group is full');
bands_are('', '', 'all bands are in use');
change_row('(129,3)', 9, 'full, the first slice');
change_row('(200,1)', 10, 'full, in the middle');
change_row('(255,7)', 11, 'full, the last range');
verify_everywhere('full');

# More than a tenth of the keys of a group are on the list: its filters are made anew, with them.
# VACUUM then has nothing to make a delta of.
my @before = split /\|/, sql("SELECT entries('w_v'), entries('w_two')");
my $late = sql(qq{WITH u AS (UPDATE w SET v = 12 * $STEP, few = id
		WHERE id % 5 = 0 AND ctid >= '(128,0)' RETURNING 1)
	SELECT count(*) FROM u});
cmp_ok($late, '>', 128 * 30 / 10, "$late rows come");
is(sql("SELECT entries('w_v'), entries('w_two')"),
	join('|', map { $_ + $late } @before), 'each is an entry');
is(sql("SELECT rencoder_retune('w_v'), rencoder_retune('w_two')"), '1|1', 'a group is made anew');
$primary->safe_psql('postgres', 'VACUUM w');
is( sql("SELECT runs, pending_pages FROM unnest('{w_v,w_two}'::regclass[]) i, "
	  . 'rencoder_metapage(i)'),
	"0|1\n0|1", 'it has all keys');
verify_everywhere('made anew');
unlike(slurp_file($standby->logfile), qr/inconsistent page found/, 'no page was found different');

$standby->stop;
$primary->stop;
done_testing();
