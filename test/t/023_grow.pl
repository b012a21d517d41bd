# Groups that grow in place: each filter is logged once, a query reads each window
# once, and no bit is lost in the part of a page that is not in use yet (INV-5),
# whoever sets it: replay and full page images zero that part.
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
	CREATE FUNCTION add_slices(slices int) RETURNS void LANGUAGE sql AS \$\$
		INSERT INTO a SELECT hashint8extended(i, $seed), i
		FROM coalesce((SELECT max(n) FROM a), 0) AS first,
			generate_series(first + 1, first + slices * 8 * 8 * 185) i
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
	SELECT add_slices(16), rencoder_summarize_new_values('a_v');
});
is(sql("SELECT summarized, storage, sealed FROM rencoder_groups('a_v')"),
	'128|matrix|t', 'the first group');

my $windows = 0;
my $wal = 0;
my $group = "FROM rencoder_groups('a_v') WHERE group_no = 1";
foreach my $slice (1 .. 16)
{
	my ($ranges, $bytes) = split /\|/,
		sql("SELECT add_slices(1); SELECT * FROM summarize_logged()") =~ s/^\n//r;

	is($ranges, 8, "slice $slice: 8 ranges, $bytes bytes of WAL");
	$wal += $bytes;
	is( sql("SELECT summarized, storage, sealed, pages = windows $group"),
		8 * $slice . '|matrix|' . ($slice == 16 ? 't' : 'f') . '|t',
		"slice $slice: a band of a matrix");
	next if $slice != 1 && $slice != 10;

	# Metapage and directory are four reads; of each group two windows (kw 2), a
	# header where it is not sealed or something is found.
	is( sql(qq{
			SELECT bool_and(index_pages <= 4 + 2 * (1 + 2)) FROM generate_series(1, 200) i,
				LATERAL rencoder_candidates('a_v', hashint8extended(i, $seed) + 1,
					hashint8extended(i, $seed) + 1)}),
		't', "slice $slice: each window is read once");
}
$windows = sql("SELECT windows $group");
cmp_ok($windows, '>', 50, "$windows windows");
my $ratio = $wal / ($windows * 8160);
cmp_ok($ratio, '<=', 1.2, sprintf 'the WAL of the group is %.3f times its filters', $ratio);
sql("SELECT rencoder_index_check('a_v', true)");
compare_with_seqscan($primary, 'postgres',
	"SELECT n FROM a WHERE v BETWEEN $_ AND $_ + 100000000000000", index => 'a_v')
  foreach (-1000000000000000, 5000000000000000);

#
# Where checkpoints come more often than groups become full, page images make
# growing in place dear: the next group is made of slices, and the one after it
# as the times are then.
#
sql(q{
	CREATE TABLE c (v int8, n int4);
	CREATE INDEX c_v ON c USING rencoder (v)
		WITH (autosummarize = off, pages_per_range = 1, storage = filter);
	CREATE PROCEDURE add_ranges(ranges int, checkpoints bool) LANGUAGE plpgsql AS $$
	BEGIN
		FOR i IN 1 .. ranges / 32 LOOP
			INSERT INTO c SELECT hashint8extended(r, 3), r FROM generate_series(1, 32 * 185) r;
			PERFORM rencoder_summarize_new_values('c_v');
			IF checkpoints THEN
				CHECKPOINT;
			END IF;
		END LOOP;
	END $$});
my $kinds = "SELECT string_agg(storage, ' ' ORDER BY group_no) FROM rencoder_groups('c_v')";
sql('CALL add_ranges(128, true); CALL add_ranges(32, false)');
is(sql($kinds), 'matrix slices', 'a group behind one that saw many checkpoints');
sql('CALL add_ranges(96, false); CALL add_ranges(32, false)');
is(sql($kinds), 'matrix matrix matrix', 'a group behind one that saw none');
is(sql("SELECT sealed FROM rencoder_groups('c_v') WHERE group_no = 2"), 'f', 'grows in place');
sql("SELECT rencoder_index_check('c_v', true)");

#
# Bits beyond what is in use.  The index expression waits where it is told to;
# pages have room for more rows.
#
sql(q{
	CREATE EXTENSION pageinspect;
	CREATE FUNCTION waits(v int8) RETURNS int8 LANGUAGE plpgsql IMMUTABLE AS $$
	BEGIN
		IF current_setting('rencodertest.wait', true) = 'on' THEN
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
	-- Ends of window pages that are not all in use, in bands.
	CREATE FUNCTION ends(index regclass) RETURNS text LANGUAGE sql AS $$
		SELECT string_agg(DISTINCT ((lower - 24) / 510.0)::float8::text, ',')
		FROM generate_series(1, pg_relation_size(index) / 8192 - 1) AS b,
			LATERAL get_raw_page(index::text, b::int) AS p, LATERAL page_header(p)
		WHERE substr(p, 8191, 2) = '\xb4ff' AND lower <> special
	$$;
	SELECT add_pages(128), rencoder_summarize_new_values('w_v')});
# Checkpoints in the first group of w_two: the next one is made of slices.
sql("SELECT rencoder_summarize_range('w_two', 8 * $_); CHECKPOINT") foreach 0 .. 4;
sql(q{
	SELECT rencoder_summarize_new_values('w_two');
	SELECT add_pages(16), rencoder_summarize_new_values('w_v'),
		rencoder_summarize_new_values('w_two');
});
is(sql("SELECT pg_relation_size('w') / 8192"), 144, '30 rows a page');
is(sql("SELECT storage || ' ' || summarized FROM rencoder_groups('w_v') WHERE group_no = 1"),
	'matrix 16', 'a group that grows');
is(sql("SELECT ends('w_v')"), 2, 'two bands are in use');
is(sql("SELECT string_agg(storage, ' ') FROM rencoder_groups('w_two') WHERE group_no = 1"),
	'slices slices', 'one of slices');

my @QUERIES = (
	map({ "SELECT id, v FROM w WHERE waits(v) = $_" } 1 .. 9),
	'SELECT id, v FROM w WHERE waits(v) BETWEEN 0 AND 10',
	'SELECT id, v FROM w WHERE waits(v) BETWEEN 0 AND 10 AND few = 77');

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

# Of ranges without values no bit is set when they are summarized; those that
# come later are set by inserters alone.
sql(q{SELECT add_pages(8, true), rencoder_summarize_new_values('w_v'),
	rencoder_summarize_new_values('w_two')});
is(sql("SELECT ends('w_v')"), 2, 'a slice of nulls uses no band');
sql("UPDATE w SET v = 1, few = 77 WHERE ctid = '(147,3)'");
like(sql("SELECT ends('w_v')"), qr/3/, 'an inserter uses one');
verify_everywhere('values in a summarized range of nulls');

# The first change after a checkpoint logs a page whole; the next ones do not.
sql(q{SELECT add_pages(8, true), rencoder_summarize_new_values('w_v'),
	rencoder_summarize_new_values('w_two')});
sql('CHECKPOINT');
sql("UPDATE w SET v = 2, few = 77 WHERE ctid = '(153,3)'");
sql("UPDATE w SET v = 3 WHERE ctid = '(2,3)'");
like(sql("SELECT ends('w_v')"), qr/4/, 'a page image that has the bit');
verify_everywhere('after a checkpoint');

# While a slice is summarized, before its bits are merged.
sub stop_summarizing
{
	my ($index) = @_;
	my $stopper = $primary->background_psql('postgres');
	my ($in, $out) = ('', '');

	$stopper->query_safe('SELECT pg_advisory_lock(1)');
	my $handle = IPC::Run::start(
		[ 'psql', '-XqAt', '-d', $primary->connstr('postgres'), '-c',
			"SET rencodertest.wait = on; SELECT rencoder_summarize_new_values('$index')" ],
		'<', \$in, '>', \$out, '2>', \$out);
	$primary->poll_query_until('postgres',
		"SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock' "
		  . "AND wait_event = 'advisory'")
	  or die 'the summarizer does not wait';
	return ($stopper, $handle);
}

sub state_of
{
	my ($index, $range) = @_;

	return sql("SELECT string_agg(DISTINCT state, ',') FROM rencoder_ranges('$index') "
	  . "WHERE range_no = $range AND attnum = 1");
}

sql('SELECT add_pages(8)');
my ($stopper, $summarizer) = stop_summarizing('w_v');
is(state_of('w_v', 162), 'summarizing', 'a range is summarizing');
sql("UPDATE w SET v = 4, few = 77 WHERE ctid = '(162,3)'");
is(state_of('w_v', 162), 'summarizing', 'and stays so, since its column has storage');
like(sql("SELECT ends('w_v')"), qr/5/, 'the inserter was first in its band');
# rencoder_index_check() would wait for the summarizer here, on the standby it does not.
compare_many_with_seqscan($primary, 'postgres', \@QUERIES, 'while it is summarized');
wait_for_standby($primary, $standby);
verify($standby, 'while it is summarized, standby');
$primary->stop('immediate');
eval { $stopper->quit };
eval { $summarizer->finish };
$primary->start;
is(state_of('w_v', 162), 'summarizing', 'a crash leaves it so');
verify($primary, 'a crash while it is summarized');
sql("SELECT rencoder_summarize_new_values('w_v')");
is(state_of('w_v', 162), 'summarized', 'the next one finishes it');
verify_everywhere('summarized after a crash');

# Columns without storage take the range back.
($stopper, $summarizer) = stop_summarizing('w_two');
is(state_of('w_two', 162), 'summarizing', 'two columns: a range is summarizing');
sql("UPDATE w SET v = 5, few = 77 WHERE ctid = '(162,4)'");
is(state_of('w_two', 162), 'unsummarized', 'taken back');
is(state_of('w_two', 163), 'summarizing', 'not its neighbour');
$stopper->query_safe('SELECT pg_advisory_unlock(1)');
$stopper->quit;
$summarizer->finish;
is(state_of('w_two', 162), 'summarized', 'summarized in the end');
verify_everywhere('two columns');

# To the end: the last slice makes the group full.
sql(q{SELECT add_pages(88), rencoder_summarize_new_values('w_v'),
	rencoder_summarize_new_values('w_two')});
is( sql("SELECT string_agg(storage || ' ' || sealed, ', ') "
  . "FROM rencoder_groups('w_two') WHERE group_no = 1"),
	'matrix true, matrix true', 'the group is full');
sql("UPDATE w SET v = 6, few = 77 WHERE ctid IN ('(129,3)', '(200,1)', '(255,7)')");
verify_everywhere('full');
unlike(slurp_file($standby->logfile), qr/inconsistent page found/, 'no page was found different');

$standby->stop;
$primary->stop;
done_testing();
