# HOT chains: entries name the line pointer of a chain's root, so whatever becomes of chains, of old
# line pointers and of indexed values, plain scans and bitmaps find what a sequential scan of the
# same snapshot finds, and no row twice.
#
# RENCODER_HOT_STEPS says how many steps there are (default 400), RENCODER_HOT_SECONDS how long it
# takes at least.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderTest;
use Test::More;

my $STEPS = $ENV{RENCODER_HOT_STEPS} || 400;
my $SECONDS = $ENV{RENCODER_HOT_SECONDS} || 0;
my $ROWS = 4000;
my @INDEXES = qw(t_v t_two t_s t_filter);

# Some 40 rows a page, a third of it free.  Indexes that name parts of pages, of one column and of
# two; of strings; and filters.
my $SCHEMA = <<~"SQL";
	CREATE TABLE t (id int, v int8, few int, s text COLLATE "C", x int8, other int, pad text)
		WITH (autovacuum_enabled = off, fillfactor = 65);
	ALTER TABLE t ALTER pad SET STORAGE plain;
	CREATE FUNCTION put(first int, last int) RETURNS void LANGUAGE sql AS \$\$
		INSERT INTO t
		SELECT i, r, CASE WHEN r % 7 <> 0 THEN r % 40 END, 's' || r, r, 0, repeat('p', 60)
		FROM (SELECT i, (random() * $ROWS)::int8 AS r FROM generate_series(first, last) i) AS q
	\$\$;
	CREATE TABLE asked AS SELECT * FROM unnest('{v = %1\$s, v BETWEEN %1\$s AND %1\$s + 30,
		v < %1\$s, v IS NULL, few = %2\$s, few IS NULL, few = 3 AND v > %1\$s,
		few IS NULL AND v BETWEEN %1\$s AND %1\$s + 900, "few IN (%2\$s, 4, 5)",
		s = ''s%1\$s'', s LIKE ''s%1\$s%%'', x = %1\$s, x BETWEEN %1\$s AND %1\$s + 20}'::text[])
		WITH ORDINALITY AS a (condition, number);
	CREATE FUNCTION rows_of(condition text, way text) RETURNS text LANGUAGE plpgsql AS \$\$
	DECLARE
		result text;
	BEGIN
		PERFORM set_config('enable_seqscan', (way = 'heap')::text, true),
			set_config('enable_bitmapscan', (way = 'bitmap')::text, true),
			set_config('enable_indexscan', (way = 'plain')::text, true);
		EXECUTE 'SELECT string_agg(ctid || '' '' || id || '' '' || other, '','' ORDER BY ctid) '
			'FROM t WHERE ' || condition INTO result;
		RETURN coalesce(result, '');
	END \$\$;
	-- '' if both scans of an index find what is there.
	CREATE FUNCTION ask(n int, value int) RETURNS text LANGUAGE plpgsql AS \$\$
	DECLARE
		c text := (SELECT format(condition, value, value % 40) FROM asked WHERE number = n);
		truth text := rows_of(c, 'heap');
		result text := '';
		way text;
	BEGIN
		FOREACH way IN ARRAY '{bitmap,plain}'::text[] LOOP
			IF rows_of(c, way) <> truth THEN
				result := result || format('%s by %s: "%s" not "%s"; ', c, way,
					rows_of(c, way), truth);
			END IF;
		END LOOP;
		RETURN result;
	END \$\$;
	SELECT setseed(SEED);
	SELECT put(1, $ROWS);
	CREATE INDEX t_v ON t USING rencoder (v) WITH (resolution = rows, pages_per_range = 2,
		autosummarize = off);
	CREATE INDEX t_two ON t USING rencoder (few, v) WITH (pages_per_range = 1, autosummarize = off);
	CREATE INDEX t_s ON t USING rencoder (s) WITH (pages_per_range = 4, autosummarize = off);
	CREATE INDEX t_filter ON t USING rencoder (x) WITH (pages_per_range = 1,
		autosummarize = off);
SQL
my $fraction = rnd(1000) / 1000;
$SCHEMA =~ s/SEED/$fraction/;

my $node = new_node('main',
	conf => "rencoder.sample_rate = 0\nmax_parallel_workers_per_gather = 0\n");
$node->safe_psql('postgres', $SCHEMA);
my $questions = $node->safe_psql('postgres', 'SELECT count(*) FROM asked');
my $next_id = $ROWS + 1;
my ($main, $old, $writer, $open);
my ($wrong, $compared) = ('', 0);

# An error of a statement is one of the test.
sub run
{
	my ($session, $sql) = @_;
	my $out = $session->query($sql);

	$wrong .= "$sql: $session->{stderr}; " if $session->{stderr} =~ /ERROR/;
	return $out;
}

sub snapshot { return 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM asked'; }

sub begin_sessions
{
	$_ = $node->background_psql('postgres', on_error_stop => 0) foreach $main, $old, $writer;
	run($old, snapshot());
	$open = 0;
	return;
}

sub end_sessions
{
	$_->quit foreach $main, $old, $writer;
	return;
}

sub ask
{
	my ($session) = @_;
	my ($n, $value) = (1 + rnd($questions), rnd($ROWS));

	$wrong .= run($session, "SELECT ask($n, $value)");
	$compared += 2;
	return;
}

# Rows of one session, so that none waits for another's: the writer's have odd numbers.
sub rows
{
	my ($odd) = @_;
	my $id = rnd($next_id);

	return "id % 2 = $odd AND id " . rnd_pick('= ' . ($id + ($id + $odd) % 2), "% 97 = $odd + 2",
		"BETWEEN $id AND $id + 40");
}

# HOT updates, which from PostgreSQL 16 on are those of indexed columns, too; deletions, new rows.
sub change
{
	my ($odd) = @_;
	my ($what, $value) = (rnd(16), rnd($ROWS));

	if ($what == 15)
	{
		my $first = $next_id;

		$next_id += 1 + rnd(60);
		return "SELECT put($first, $next_id - 1)";
	}
	return 'DELETE FROM t WHERE ' . rows($odd) if $what == 14;
	return 'UPDATE t SET '
	  . ( $what < 6 ? 'other = other + 1'
		: $what < 8 ? "v = $value"
		: $what < 9 ? 'v = NULL'
		: $what < 10 ? "few = NULL, s = 's$value'"
		: $what < 12 ? "few = $value % 40"
		: $what < 13 ? "x = $value, v = $value"
		:              "pad = repeat('q', $value % 90), s = 's$value'")
	  . ' WHERE ' . rows($odd);
}

sub change_with_savepoints
{
	run($main, 'BEGIN; ' . change(0) . '; SAVEPOINT s; ' . change(0));
	ask($main);
	run($main, rnd_pick('ROLLBACK TO s', 'RELEASE s') . '; ' . change(0));
	ask($main);
	run($main, rnd_pick('COMMIT', 'COMMIT', 'ROLLBACK'));
	return;
}

# Another session's transaction, which lasts for some steps.
sub write_beside
{
	if ($open)
	{
		run($writer, rnd_pick('COMMIT', 'ROLLBACK'));
		$open = 0;
		return;
	}
	run($writer, 'BEGIN; ' . change(1) . '; ' . change(1));
	$open = 1;
	return;
}

# A sequential scan prunes pages; VACUUM makes line pointers free, which then are used again.
sub maintain
{
	my $index = rnd_pick(@INDEXES);

	return rnd_pick('VACUUM t', 'VACUUM t', 'VACUUM (INDEX_CLEANUP off) t',
		'SELECT count(*) FROM t WHERE pad IS NULL', "SELECT rencoder_compact('$index')",
		"SELECT rencoder_maintain_index('$index')",
		"SELECT rencoder_compact('$index', " . rnd(100) . ', 130)', "REINDEX INDEX $index");
}

sub step
{
	my $what = rnd(100);

	if    ($what < 45) { ask($main) }
	elsif ($what < 52) { ask($old) }
	elsif ($what < 54) { run($old, 'COMMIT; ' . snapshot()) }
	elsif ($what < 76) { run($main, change(0)) }
	elsif ($what < 80) { run($main, 'BEGIN; ' . change(0) . '; ' . change(0) . '; ROLLBACK') }
	elsif ($what < 84) { change_with_savepoints() }
	elsif ($what < 90) { write_beside() }
	else
	{
		# REINDEX waits for who has written or used the index.
		write_beside() if $open;
		run($old, 'COMMIT; ' . snapshot());
		run($main, maintain());
	}
	return;
}

foreach my $n (1 .. $questions)
{
	my $where = $node->safe_psql('postgres',
		"SELECT format(condition, 7, 7) FROM asked WHERE number = $n");

	like($node->safe_psql('postgres', "SET enable_seqscan = off; SET $_ = off; "
			  . "EXPLAIN SELECT * FROM t WHERE $where"),
		qr/(Bitmap Index Scan on|Index Scan using) t_/, "$where: with $_ = off an index is used")
	  foreach 'enable_bitmapscan', 'enable_indexscan';
}
my $end = time + $SECONDS;
begin_sessions();
for (my $i = 1; $i <= $STEPS || time < $end; $i++)
{
	step();
	end_sessions(), begin_sessions() if $i % 400 == 0;
	last if $wrong ne '';
}
is($wrong, '', 'all rows are found, and none twice');
end_sessions();
cmp_ok($compared, '>', $STEPS, 'that was asked');
note("$compared scans were compared");
foreach my $index (@INDEXES)
{
	my ($ret, $out, $err) = $node->psql('postgres', "SELECT rencoder_index_check('$index', true)");

	is($err, '', "$index is sound");
}
cmp_ok($node->safe_psql('postgres', "SELECT pg_stat_get_tuples_hot_updated('t'::regclass)"),
	'>', $STEPS, 'there were HOT updates');

$node->stop;
done_testing();
