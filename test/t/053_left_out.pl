# Rows whose keys a reading of the table leaves out (INV-15) are not lost: not if their deleter is
# killed or the server crashes, not if their values are damaged, nor by anything that comes in any
# order.  If they were, rencoder_index_check would say so.  The orders that matter are those of
# specs/left-out.spec.
use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderDamage;
use RencoderTest;
use Test::More;

# Clusters of PostgreSQL 18 have checksums; we want to see our own errors.
my $node = new_node('main',
	conf => "ignore_checksum_failure = on\nrencoder.sample_rate = 0\nrestart_after_crash = off\n");

# Of each row the columns have the same value, of which one in five stands in TOAST; five rows a
# page.  Their indexes keep it in runs, by default, and of rows that
# PostgreSQL's own scan reads.
my %INDEX = (a => 't_run', b => 't_default', d => 't_own');
my @INDEXES = sort values %INDEX;

$node->safe_psql('postgres', <<~'SQL');
	SET check_function_bodies = off;
	CREATE FUNCTION put(first int, last int) RETURNS void LANGUAGE sql AS $$
		INSERT INTO t SELECT g, v, v, v, 0, repeat('p', 1450)
		FROM generate_series(first, last) g, LATERAL (SELECT 'v' || lpad(g::text, 6, '0') ||
			CASE g % 5 WHEN 0 THEN repeat('x', 3000) ELSE '' END) AS s(v)
	$$;
	CREATE FUNCTION make_table(rows int) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		DROP TABLE IF EXISTS t;
		CREATE TABLE t (id int, a text, b text, d text, n int, pad text)
			WITH (autovacuum_enabled = off);
		ALTER TABLE t ALTER a SET STORAGE external, ALTER b SET STORAGE external,
			ALTER d SET STORAGE external,
			ALTER pad SET STORAGE plain;
		-- Cells that are so narrow that none of them has the key of another row.
		CREATE INDEX t_run ON t USING rencoder (a)
			WITH (pages_per_range = 1, storage = run, false_pages = 0.001, autosummarize = off);
		CREATE INDEX t_default ON t USING rencoder (b)
			WITH (pages_per_range = 1, false_pages = 0.001, autosummarize = off);
		CREATE INDEX t_own ON t USING rencoder (d)
			WITH (pages_per_range = 1, storage = run, false_pages = 0.001, autosummarize = off)
			WHERE n >= 0;
		PERFORM put(1, rows);
	END $$;
	CREATE FUNCTION page_of(ctid tid) RETURNS int LANGUAGE sql IMMUTABLE AS
		$$SELECT (ctid::text::point)[0]::int$$;
	CREATE FUNCTION wanted(col text, value text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
		SELECT format('%I LIKE %L', col, left(value, 7) || '%') ||
			CASE col WHEN 'd' THEN ' AND n >= 0' ELSE '' END
	$$;
	-- Values of rows from one id to another that are in the table, by a sequential scan, and that
	-- an index does not find.
	CREATE FUNCTION lost(first int, last int) RETURNS text LANGUAGE plpgsql STABLE
	SET enable_seqscan = off SET enable_indexscan = off SET max_parallel_workers_per_gather = 0
	AS $$
	DECLARE
		r record;
		found int;
		col text;
		result text := '';
	BEGIN
		FOR r IN SELECT left(a, 7) AS value, count(*) AS n FROM t
			WHERE id BETWEEN first AND last GROUP BY 1 ORDER BY 1
		LOOP
			FOREACH col IN ARRAY '{a,b,d}'::text[] LOOP
				EXECUTE 'SELECT count(*) FROM t WHERE ' || wanted(col, r.value) INTO found;
				IF found <> r.n THEN
					result := concat(result, col, ' ', r.value, ': ', found, ' of ', r.n, '; ');
				END IF;
			END LOOP;
		END LOOP;
		RETURN result;
	END $$;
	CREATE FUNCTION check_all() RETURNS bigint LANGUAGE sql AS $$
		SELECT count(rencoder_index_check(i::regclass, true)::text)
		FROM unnest('{t_run,t_default,t_own}'::text[]) i
	$$;
	-- How many rows of runs have no key?
	CREATE FUNCTION always() RETURNS text LANGUAGE sql AS $$
		SELECT string_agg((SELECT coalesce(sum(nulls), 0)
			FROM rencoder_runs(i::regclass))::text, ' ')
		FROM unnest('{t_run,t_default,t_own}'::text[]) i
	$$;
SQL

sub sql
{
	my ($sql) = @_;

	return $node->safe_psql('postgres', $sql);
}

# A session that has begun a transaction; it may be killed.
sub begin
{
	my ($sql) = @_;
	my $session = $node->background_psql('postgres', on_error_stop => 0);

	$session->query_safe("BEGIN; $sql");
	return $session;
}

# Row 300, on page 59, is being deleted; VACUUM makes a run of its page.
sub vacuum_beside_deleter
{
	sql('SELECT make_table(700)');
	my $deleter = begin('DELETE FROM t WHERE id = 300');

	sql('VACUUM t');
	return $deleter;
}

# ---- The deleter does not come to an end ----

my $deleter = vacuum_beside_deleter();
foreach my $col (sort keys %INDEX)
{
	ok( uses_index($node, 'postgres',
			'SELECT id FROM t WHERE ' . sql("SELECT wanted('$col', 'v000300')"), $INDEX{$col}),
		"index $INDEX{$col} is used");
}
is(sql('SELECT always()'), '1 1 1', 'a row of each index has a key that was not read');
my $pid = $deleter->query_safe('SELECT pg_backend_pid()');
sql("SELECT pg_terminate_backend($pid)");
$node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $pid")
  or die 'the session does not end';
$deleter->quit;
is(sql('SELECT lost(1, 700)'), '', 'the deleter was killed: nothing is lost');
sql('SELECT check_all()');

# What VACUUM has logged last is on disk after a commit that logs something itself.
$deleter = vacuum_beside_deleter();
sql("SELECT pg_logical_emit_message(true, 'rencoder', '')");
$node->stop('immediate');
$deleter->quit;
$node->start;
is(sql('SELECT lost(1, 700)'), '', 'the server crashed: nothing is lost');
is(sql('SELECT always()'), '1 1 1', '.. by the same rows');
sql('SELECT check_all()');

# ---- Would the check find it, if it were lost? ----

# Takes the tree of rows without a key from runs: offsets in src/store/meta.h, run_format.h.
sub forget_keyless
{
	my ($data) = @_;

	foreach my $i (1 .. unpack('V', peek($data, 0, 36, 4)))
	{
		my $entry = 96 + 120 * ($i - 1);
		my ($info, $npages) = unpack('VV', peek($data, 0, $entry + 20, 8));

		next if unpack('v', peek($data, 0, $entry + 10, 2)) == 0;
		poke($data, 0, $entry + 10, "\0\0");
		poke($data, 0, $entry + 24, pack('V', $npages - 1));
		poke($data, $info, 8 + 72, "\0" x 72);
	}
	return undef;
}

# A value without a key (sql/runs_keyless.sql).
sql(slurp_file("$FindBin::RealBin/../../sql/include/polygon_ops.sql"));
sql(<<~'SQL');
	CREATE TABLE areas (id int, g polygon, pad text);
	ALTER TABLE areas ALTER pad SET STORAGE plain;
	INSERT INTO areas
	SELECT i, CASE i WHEN 300 THEN '((0,0),(0,3),(3,3))' ELSE format('((%s,%s))', i, i)
		END::polygon,
		repeat('p', 1450) FROM generate_series(1, 700) i;
	CREATE INDEX areas_run ON areas USING rencoder (g) WITH (storage = run, pages_per_range = 1);
SQL
my %path = map { $_ => index_path($node, $_) } @INDEXES, 'areas_run';
$node->stop;
damage_file($path{$_}, \&forget_keyless) foreach sort keys %path;
$node->start;

my $not_found = qr/Row \(\d+,\d+\) has key .* of column 1, which a query does not find/;
my $keyless   = qr/has a value without key of column 1, which a query does not find/;
my %says = (
	map({ $_ => $not_found } qw(t_run t_default t_own)),
	areas_run => $keyless);

# Each index is asked by a function that runs SQL and returns the error.
sub check_says
{
	my ($ask, $when) = @_;

	foreach my $index (sort keys %says)
	{
		like($ask->("SELECT rencoder_index_check('$index', true)"),
			$says{$index}, "$index: the check finds what is lost, $when");
	}
	return;
}

sub error_of { return ($node->psql('postgres', $_[0]))[2] // ''; }
my $delete = 'DELETE FROM t WHERE id = 300; DELETE FROM areas WHERE id = 300';

isnt(sql('SELECT lost(300, 300)'), '', 'without them a row is lost');
check_says(\&error_of, 'of a row that is there');
check_says(sub { error_of("BEGIN; $delete; $_[0]") }, 'of a row that the session is deleting');
$deleter = begin($delete);
check_says(\&error_of, 'of a row that is being deleted');
my $old = $node->background_psql('postgres', on_error_stop => 0);
$old->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
$deleter->query_safe('COMMIT');
$deleter->quit;
check_says(
	sub {
		$old->query("SAVEPOINT s; $_[0]; ROLLBACK TO s");
		my $said = $old->{stderr};

		$old->{stderr} = '';
		return $said;
	},
	'of a row that a snapshot sees');
$old->quit;
is(error_of("SELECT rencoder_index_check('$_', true)"), '', "$_: that was all that is lost")
  foreach qw(areas_run t_default t_own t_run);

# ---- Values that are damaged ----

# Row 300's values are gone from TOAST, and nobody has deleted it.  Whoever wants it is told so, by
# an index as by a sequential scan, and rows beside it are found.
SKIP:
{
	skip 'no pg_surgery', 1
	  if sql(q{SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_surgery'}) == 0;
	sql('CREATE EXTENSION pg_surgery; SELECT make_table(700)');
	my $toast = sql(q{SELECT reltoastrelid::regclass FROM pg_class WHERE oid = 't'::regclass});

	is(sql("SELECT count(DISTINCT chunk_id) FROM $toast"), 3 * 700 / 5, 'values are in TOAST');
	sql("SELECT heap_force_kill('$toast', array_agg(c.ctid)) FROM $toast c JOIN (SELECT chunk_id,
			row_number() OVER (ORDER BY chunk_id) AS n FROM $toast GROUP BY 1) i USING (chunk_id)
		WHERE n BETWEEN 3 * 59 + 1 AND 3 * 60");
	my %wanted = map {
		$_ => sql("SELECT wanted('$_', 'v000300')")
	} sort keys %INDEX;
	my $by_index = 'SET enable_seqscan = off; SET enable_indexscan = off;';

	foreach my $how ('VACUUM t', map({ "SELECT rencoder_compact('$_')" } qw(t_run t_default t_own)))
	{
		my @said;

		sql(q{SELECT rencoder_maintain_index(i::regclass)
			FROM unnest('{t_run,t_default,t_own}'::text[]) i}) if $how !~ /VACUUM/;
		is(error_of($how), '', "$how: damaged values do not fail it");
		foreach my $col (sort keys %wanted)
		{
			push @said, "$col: " . error_of("$by_index SELECT id FROM t WHERE $wanted{$col}");
		}
		is(scalar(grep { /missing chunk/ } @said), 3, "$how: the indexes find the row")
		  or diag("@said");
	}
	is(sql('SELECT always()'), '1 1 1', 'by rows without a key');
	sql('DELETE FROM t WHERE id = 300; VACUUM t');
	is(sql('SELECT lost(1, 700)'), '', 'nothing is lost beside them');
	sql('SELECT check_all()');
}

# ---- All in any order ----

# Rows come and are changed; some are being deleted or updated, by sessions that commit, roll back
# or are killed, while the table is maintained; a snapshot of before looks, too.
my @rounds = (0 .. 9);
my $last = 1400;
my $change = join ', ', map { "$_ = 'w' || $_" } sort keys %INDEX;
my ($compared, $by_vacuum, $unread) = (0, 0, 0);
my $NEWEST = q{SELECT coalesce(max(run), 0) FROM rencoder_runs('t_run')
	WHERE kind = 'base' AND from_page = 0};

sub toasted_ids
{
	my @ids = split /\n/,
	  sql('SELECT id FROM t WHERE page_of(ctid) < 250 AND id % 5 = 0 ORDER BY 1');
	my @chosen;

	while (@chosen < 6)
	{
		push @chosen, splice(@ids, rnd(scalar @ids), 1);
	}
	return @chosen;
}

sub maintain
{
	my ($how) = @_;

	return sql('VACUUM t') if $how eq 'vacuum';
	return sql(q{SELECT rencoder_maintain_index(i::regclass)
		FROM unnest('{t_run,t_default,t_own}'::text[]) i;
		SELECT rencoder_compact('t_run'), rencoder_compact('t_default'),
			rencoder_compact('t_own')});
}

# What sessions find is compared with what they see: all rows of before, and those that came.
sub none_lost
{
	my ($session, $name) = @_;
	my $answer = $session->query_safe("SELECT lost(1, $last)");

	$compared++;
	is($answer, '', $name);
	return;
}

sql("SELECT make_table($last)");
foreach my $round (@rounds)
{
	my @ids = toasted_ids();
	my $reader = $node->background_psql('postgres');
	my $other = $node->background_psql('postgres');
	my $how = $round % 3 == 2 ? 'compact' : 'vacuum';
	my @deleters;

	# So many come late that VACUUM reads all pages again, as soon as deltas have them.
	sql("UPDATE t SET n = n WHERE id % 10 <> 0 AND id % 7 = $round % 7");
	$reader->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1') if $round % 2;
	foreach my $i (0 .. 2)
	{
		my $where = "WHERE id IN ($ids[2 * $i], $ids[2 * $i + 1])";

		push @deleters,
		  begin( rnd_pick(
				"DELETE FROM t $where",
				"UPDATE t SET n = n + 1 $where",
				"SAVEPOINT s; DELETE FROM t $where; ROLLBACK TO s; UPDATE t SET $change $where"));
	}
	my $run = sql($NEWEST);

	maintain($how);
	if ($how eq 'vacuum' && sql($NEWEST) > $run)
	{
		$by_vacuum++;
		$unread += sql('SELECT always()') =~ /^[1-9]/ ? 1 : 0;
	}
	none_lost($other, "round $round: beside deleters");
	sql('SELECT put(' . ($last + 1) . ', ' . ($last + 5) . ')');
	$last += 5;
	foreach my $session (@deleters)
	{
		my $end = rnd_pick('ROLLBACK', 'ROLLBACK', 'COMMIT', 'kill');

		if ($end eq 'kill')
		{
			my $pid = $session->query_safe('SELECT pg_backend_pid()');

			sql("SELECT pg_terminate_backend($pid)");
			$node->poll_query_until('postgres',
				"SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $pid")
			  or die 'the session does not end';
		}
		else
		{
			$session->query_safe($end);
		}
		$session->quit;
		maintain(rnd_pick('vacuum', 'compact')) if rnd(3) == 0;
	}
	none_lost($reader, "round $round: " . ($round % 2 ? 'an old snapshot' : 'afterwards'));
	is(sql('SELECT check_all()'), 3, "round $round: all rows are covered");
	$reader->quit;
	$other->quit;
}
is($compared, 2 * @rounds, 'all rounds were compared');
cmp_ok($by_vacuum, '>', 2, "$by_vacuum times VACUUM read them again");
is($unread, $by_vacuum, "each VACUUM of $by_vacuum met rows whose key it did not read");
done_testing();
