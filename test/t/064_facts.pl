# Facts (INV-16): queries that are asked again and again, of a table that changes in every way, find
# all rows.  So they do after crashes that lose commits, on a standby, when that is promoted, after
# recovery to a point of time, and with damaged pages of facts.
#
# RENCODER_FACT_STEPS says how many steps each part has (default 120), RENCODER_FACT_SECONDS how
# long all parts take together at least.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderDamage;
use RencoderTest;
use Test::More;

my $STEPS = $ENV{RENCODER_FACT_STEPS} || 120;
my $SECONDS = $ENV{RENCODER_FACT_SECONDS} || 0;
my $POOL  = 40;
my @INDEXES = qw(t_pages t_parts t_filter t_grow);

# Clusters of PostgreSQL 18 have checksums; a damaged page is to be met by us.  Commits get lost.
my $CONF = "synchronous_commit = off\nmax_prepared_transactions = 5\nrencoder.sample_rate = 0\n"
  . "shared_buffers = 4MB\nbgwriter_delay = 10ms\nwal_writer_delay = 10s\n"
  . "ignore_checksum_failure = on\n";

# Four rows a page.  Runs whose cells are wide, so that they name pages in vain, by pages and by
# parts of pages; filters with few bits.  A row whose n changes moves, often to another page.
my $SCHEMA = <<~"SQL";
	CREATE TABLE t (id int, v int8, w int8, x int8, y int8, n int, hot int, pad text)
		WITH (autovacuum_enabled = off);
	ALTER TABLE t ALTER pad SET STORAGE plain;
	CREATE SEQUENCE ids;
	CREATE FUNCTION put(rows int) RETURNS void LANGUAGE sql AS \$\$
		INSERT INTO t SELECT i, r, r, r, r, i, 0, repeat('p', 1800)
		FROM (SELECT nextval('ids') AS i, (random() * 1e6)::int8 AS r
			FROM generate_series(1, rows)) AS s
	\$\$;
	-- What is asked, and what rows get as values.
	CREATE TABLE pool AS SELECT k, lo, lo + (ARRAY[0, 0, 3, 100])[1 + k % 4] AS hi
		FROM generate_series(1, $POOL) k, LATERAL (SELECT (random() * 1e6)::int8 + 0 * k AS lo) l;
	CREATE FUNCTION rows_of(col text, lo int8, hi int8, indexed bool) RETURNS text
		LANGUAGE plpgsql AS \$\$
	DECLARE
		result text;
	BEGIN
		PERFORM set_config('enable_seqscan', (NOT indexed)::text, true),
			set_config('enable_bitmapscan', indexed::text, true),
			set_config('enable_indexscan', 'off', true);
		EXECUTE format('SELECT string_agg(id || '' '' || n, '','' ORDER BY id) FROM t '
			'WHERE %I BETWEEN %s AND %s', col, lo, hi) INTO result;
		RETURN coalesce(result, '');
	END \$\$;
	-- '' if the index finds what is there.
	CREATE FUNCTION ask(number int, col text) RETURNS text LANGUAGE plpgsql AS \$\$
	DECLARE
		p pool;
		by_index text;
		by_heap text;
	BEGIN
		SELECT * INTO p FROM pool WHERE k = number;
		by_heap := rows_of(col, p.lo, p.hi, false);
		by_index := rows_of(col, p.lo, p.hi, true);
		RETURN CASE WHEN by_index = by_heap THEN ''
			ELSE format('%s in %s: "%s" not "%s"; ', number, col, by_index, by_heap) END;
	END \$\$;
	-- All queries; of the table's rows each column is read once.
	CREATE FUNCTION ask_all() RETURNS text LANGUAGE plpgsql AS \$\$
	DECLARE
		result text := '';
		col text;
		r record;
		by_index text;
	BEGIN
		FOREACH col IN ARRAY '{v,w,x,y}'::text[] LOOP
			PERFORM set_config('enable_seqscan', 'on', true),
				set_config('enable_bitmapscan', 'off', true),
				set_config('enable_indexscan', 'off', true);
			FOR r IN EXECUTE format('SELECT k, lo, hi, coalesce(string_agg(id || '' '' || n, '','' '
				'ORDER BY id), '''') AS by_heap FROM pool LEFT JOIN t ON %I BETWEEN lo AND hi '
				'GROUP BY k, lo, hi ORDER BY k', col)
			LOOP
				by_index := rows_of(col, r.lo, r.hi, true);
				IF by_index <> r.by_heap THEN
					result := result || format('%s in %s: "%s" not "%s"; ', r.k, col, by_index,
						r.by_heap);
				END IF;
			END LOOP;
		END LOOP;
		RETURN result;
	END \$\$;
	-- Pages that all queries of a column visit, moved by so much.
	CREATE FUNCTION pages_asked(col text, by int) RETURNS bigint LANGUAGE plpgsql AS \$\$
	DECLARE
		result bigint := 0;
		plan json;
		p pool;
	BEGIN
		SET LOCAL enable_seqscan = off;
		SET LOCAL enable_indexscan = off;
		FOR p IN SELECT * FROM pool LOOP
			EXECUTE format('EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, FORMAT json) SELECT * FROM t '
				'WHERE %I BETWEEN %s AND %s', col, p.lo + by, p.hi + by) INTO plan;
			result := result + (plan -> 0 -> 'Plan' ->> 'Exact Heap Blocks')::int +
				(plan -> 0 -> 'Plan' ->> 'Lossy Heap Blocks')::int;
		END LOOP;
		RETURN result;
	END \$\$;
	SELECT setseed(SEED);
	SELECT put(4600);
	CREATE INDEX t_n ON t (n);
	CREATE INDEX t_pages ON t USING rencoder (v) WITH (storage = run, resolution = pages,
		false_pages = 60, pages_per_range = 1, autosummarize = off);
	CREATE INDEX t_parts ON t USING rencoder (w) WITH (storage = run,
		false_pages = 60, pages_per_range = 2, autosummarize = off);
	CREATE INDEX t_filter ON t USING rencoder (x)
		WITH (bits_per_key = 8, pages_per_range = 1, autosummarize = off);
	CREATE INDEX t_grow ON t USING rencoder (y)
		WITH (bits_per_key = 8, pages_per_range = 16, autosummarize = off);
SQL
my $fraction = rnd(1000) / 1000;
$SCHEMA =~ s/SEED/$fraction/;

my ($node, $main, $old, $prepared, $wrong);
my $compared = 0;

sub sessions
{
	$main = $node->background_psql('postgres', on_error_stop => 0);
	$old  = $node->background_psql('postgres', on_error_stop => 0);
	$old->query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pool');
	return;
}

sub end_sessions
{
	eval { $_->quit } foreach $main, $old;
	return;
}

# A row of those that prepared transactions leave alone: any, or one with a value of the pool.
sub row
{
	my $k = rnd_between(1, $POOL);

	return 'id = ' . (1 + rnd(4500)) . ' AND id % 40 <> 0' if rnd(3) == 0;
	return "id = (SELECT id FROM t, pool WHERE k = $k AND v BETWEEN lo AND hi AND id % 40 <> 0 "
	  . 'LIMIT 1)';
}

sub value
{
	my $k = rnd_between(1, $POOL);
	my $v = rnd(4) == 0 ? rnd(1_000_000) : "(SELECT lo FROM pool WHERE k = $k)";

	return "v = $v, w = $v, x = $v, y = $v";
}

sub ask
{
	my ($session) = @_;
	my $k = rnd_between(1, $POOL);
	my $col = rnd_pick(qw(v w x y));

	$wrong .= $session->query("SELECT ask($k, '$col')");
	$compared++;
	return;
}

# All that is asked, by a session or by one of its own: that asks twice, since a session heeds facts
# of what it has asked before.
sub ask_all
{
	my ($session) = @_;

	$compared += ($session ? 4 : 8) * $POOL;
	return $session->query('SELECT ask_all()') if $session;
	return $node->safe_psql('postgres', 'SELECT ask_all() || ask_all()');
}

# What an index may be told to do.
sub maintain
{
	my $index = rnd_pick(@INDEXES);
	my $page  = rnd(1100);

	return rnd_pick('VACUUM t', 'VACUUM t', "SELECT rencoder_compact('$index')",
		"SELECT rencoder_maintain_index('$index')",
		"SELECT rencoder_compact('$index', $page, $page + 1)", 'CHECKPOINT');
}

sub change
{
	my $what = rnd(14);

	return 'UPDATE t SET n = n + 1 WHERE ' . row() if $what < 5;
	return 'UPDATE t SET hot = hot + 1 WHERE ' . row() if $what < 7;
	return 'UPDATE t SET ' . value() . ' WHERE ' . row() if $what < 11;
	return 'DELETE FROM t WHERE ' . row() if $what == 11;
	return 'DELETE FROM t WHERE id % 40 <> 0 AND random() < 0.01' if $what == 12;
	return 'SELECT put(' . (1 + rnd(60)) . ')';
}

sub prepare_or_end
{
	if ($prepared)
	{
		$main->query(rnd_pick('COMMIT', 'ROLLBACK') . " PREPARED 'p'");
		$prepared = 0;
		return;
	}
	my $id = 40 * rnd_between(1, 100);

	$main->query('BEGIN; UPDATE t SET ' . rnd_pick('n = n + 1', 'hot = hot + 1', value())
		  . " WHERE id IN ($id, $id + 40); PREPARE TRANSACTION 'p'");
	$prepared = 1;
	return;
}

sub change_with_savepoints
{
	$main->query('BEGIN; ' . change() . '; SAVEPOINT s; ' . change());
	ask($main);
	$main->query(rnd_pick('ROLLBACK TO s', 'RELEASE s') . '; ' . change());
	ask($main);
	$main->query(rnd_pick('COMMIT', 'COMMIT', 'ROLLBACK'));
	return;
}

sub step
{
	my $what = rnd(100);

	if    ($what < 58) { ask($main) }
	elsif ($what < 62) { ask($old) }
	elsif ($what < 80) { $main->query(change()) }
	elsif ($what < 83) { $main->query('BEGIN; ' . change() . '; ' . change() . '; ROLLBACK') }
	elsif ($what < 85) { change_with_savepoints() }
	elsif ($what < 89) { prepare_or_end() }
	elsif ($what < 91)
	{
		$old->query('COMMIT; BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pool');
	}
	else { $main->query(maintain()) }
	return;
}

# Seven parts do so.  A session has a time limit as a whole.
sub steps
{
	my ($n) = @_;
	my $end = time + $SECONDS / 7;

	for (my $i = 1; $i <= $n || time < $end; $i++)
	{
		step();
		end_sessions(), sessions() if $i % 400 == 0;
	}
	return;
}

# One test of many steps.  At the end all is asked three times, so that there are facts of all.
sub exercise
{
	my ($name) = @_;

	$wrong = '';
	sessions();
	steps($STEPS);
	$wrong .= ask_all($main) for 1 .. 3;
	$wrong .= ask_all($old);
	is($wrong, '', "$name: all rows are found");
	return;
}

sub sound
{
	my ($name) = @_;
	my ($ret, $out, $err) = $node->psql('postgres', join ';',
		map { "SELECT rencoder_index_check('$_', true)" } @INDEXES);

	is($err, '', "$name: indexes are sound");
	return;
}

sub saved
{
	return $node->safe_psql('postgres', 'SELECT ' . join ' + ',
		map { "(SELECT saved_pages FROM rencoder_index_stats('$_'))" } @INDEXES);
}

# Crashes.
$node = new_node('main', conf => $CONF);
$node->safe_psql('postgres', $SCHEMA);
foreach my $round (1 .. 3)
{
	my $before = saved();

	exercise("round $round");
	cmp_ok(saved(), '>', $before, "round $round: facts save pages");
	# Facts reach the disk, and what came before them may not.
	$main->query('CHECKPOINT') if $round == 1;
	$node->stop('immediate');
	end_sessions();
	$node->start;
	$prepared = $node->safe_psql('postgres', 'SELECT count(*) FROM pg_prepared_xacts');
	is(ask_all(), '', "round $round: after the crash");
	sound("round $round");
}

# A crash that loses the WAL of a row's removal, but not the page of the fact that relies on it: the
# removal has to be flushed before that page is written.  Nobody writes anything but who asks, who
# writes the index's pages by an ALTER INDEX that is rolled back.
sub wal_rule
{
	my $others = "backend_type IN ('walwriter', 'background writer', 'checkpointer')";

	$node->safe_psql('postgres', <<~'SQL');
		SET allow_in_place_tablespaces = on;
		CREATE TABLESPACE other LOCATION '';
		SELECT rencoder_compact('t_pages');
		SELECT ask_all();
		SELECT ask_all();
		CHECKPOINT;
	SQL
	# The only row with its value, on a full page, which is pruned as soon as the row is deleted.
	my $v = $node->safe_psql('postgres', <<~'SQL');
		SELECT min(v) FROM (SELECT v, count(*) OVER (PARTITION BY (ctid::text::point)[0]) AS rows,
				count(*) OVER (PARTITION BY v) AS twins FROM t) s
		WHERE rows = 4 AND twins = 1 AND NOT EXISTS (SELECT FROM pool WHERE v BETWEEN lo AND hi)
	SQL
	my @pids = split /\n/,
	  $node->safe_psql('postgres', "SELECT pid FROM pg_stat_activity WHERE $others");

	is(kill('STOP', @pids), 3, 'lost WAL: others are stopped');
	my $flushed = $node->safe_psql('postgres', <<~"SQL");
		DELETE FROM t WHERE v = $v;
		CREATE TEMP TABLE deleted AS SELECT pg_current_wal_insert_lsn() AS lsn;
		SELECT count(*) AS n FROM t \\gset
		SELECT rows_of('v', $v, $v, true) AS one \\gset
		SELECT rows_of('v', $v, $v, true) AS two \\gset
		SELECT pg_current_wal_flush_lsn() < lsn FROM deleted;
		BEGIN;
		ALTER INDEX t_pages SET TABLESPACE other;
		ROLLBACK;
		SELECT pg_current_wal_flush_lsn() >= lsn FROM deleted;
	SQL
	is($flushed, "t\nt", 'lost WAL: it is flushed when the page of facts is written');
	$node->stop('immediate');
	$node->start;
	my $before = saved();
	my ($by_index, $by_heap) = map { "SELECT rows_of('v', $v, $v, $_);" } qw(true false);

	is($node->safe_psql('postgres', $by_index x 2), $node->safe_psql('postgres', $by_heap x 2),
		'lost WAL: what is there is found');
	cmp_ok(saved(), '>', $before, 'lost WAL: the fact was written');
	return;
}

$prepared and $node->safe_psql('postgres', "ROLLBACK PREPARED 'p'");
$prepared = 0;
$node->append_conf('postgresql.conf',
	"shared_buffers = 128MB\nbgwriter_lru_maxpages = 0\ncheckpoint_timeout = 1h\n");
$node->restart;
wal_rule();

# Damage: facts that name pages which have a row of the query, torn pages, other pages.
$node->safe_psql('postgres', 'SELECT ask_all() UNION ALL SELECT ask_all()');
foreach my $round (1 .. 3)
{
	my $changed = 0;
	my %range = (t_grow => 16);
	my %path = map { $_ => index_path($node, $_) } @INDEXES;
	my %page = split /[|\n]/, $node->safe_psql('postgres',
		'SELECT lo, (min(t.ctid)::text::point)[0] FROM t, pool WHERE v BETWEEN lo AND hi '
		  . 'GROUP BY lo');

	$node->stop;
	foreach my $index (@INDEXES)
	{
		my $range = $range{$index} || 1;

		damage_file($path{$index}, sub {
			my ($data) = @_;

			foreach my $block (pages_of_type($data, 'facts'))
			{
				foreach my $slot (0 .. 251)
				{
					my ($lo) = unpack('Q<', peek($data, $block, 32 * $slot, 8));
					my $page = $page{$lo ^ 1 << 63};

					next if $lo == 0 || $round == 2 && rnd(2) == 0 || $round == 1 && !defined $page;
					poke($data, $block, 32 * $slot + 24, pack('V', $page - $page % $range))
					  if $round == 1;
					poke($data, $block, 32 * $slot + rnd(32), chr(rnd(256))) if $round == 2;
					$changed++;
				}
				poke($data, $block, rnd(8000), "\0" x 100) if $round == 2;
				substr($$data, $block * $BLCKSZ, $BLCKSZ) = "\0" x $BLCKSZ if $round == 3;
			}
			return undef;
		});
	}
	cmp_ok($changed, '>', 50, "damage $round: there are facts") if $round < 3;
	$node->start;
	is(ask_all(), '', "damage $round: all rows are found");
}
$node->stop;

# A standby has the facts of full page images, which checksums ask for.  It is promoted; what
# another server recovers to a point of time has the facts of its backup.
my ($primary, $standby) = start_primary_with_standby(conf => $CONF, checksums => 1);
$primary->enable_archiving;
$primary->restart;
$node = $primary;
$prepared = 0;
$node->safe_psql('postgres', $SCHEMA);
exercise('primary');
$main->query('CHECKPOINT');
exercise('primary, again') if end_sessions() || 1;
$primary->backup('later');
steps($STEPS / 2);
my $target = $primary->safe_psql('postgres',
	"SELECT pg_logical_emit_message(true, 'rencoder', ''), pg_current_wal_insert_lsn()");
$target =~ s/.*\|//;
step() for 1 .. $STEPS / 2;
$main->query('CHECKPOINT');
$wrong .= ask_all($main) for 1 .. 3;
is($wrong, '', 'primary, third part: all rows are found');
# The image of a page of facts has those that were made before a checkpoint, and the first after it.
my $pages = "SELECT pages_asked('v', 0)";
my $others = "SELECT pages_asked('v', 500)";
$primary->safe_psql('postgres',
	"SELECT rencoder_compact('t_pages'); $pages; $pages; CHECKPOINT; $others; $others");
$primary->safe_psql('postgres', 'SELECT pg_switch_wal()');
wait_for_standby($primary, $standby);
$node = $standby;
is(ask_all(), '', 'standby: all rows are found');
my ($first, $second, $third) =
  split /\n/, $standby->safe_psql('postgres', "$pages; $pages; $pages");
cmp_ok($second, '<', $first, 'standby: facts are heeded when a query is asked again');
is($third, $second, 'standby: and none are made');
$primary->stop('immediate');
end_sessions();
$standby->promote;
$node = $standby;
$prepared = $node->safe_psql('postgres', 'SELECT count(*) FROM pg_prepared_xacts');
exercise('promoted');
sound('promoted');
end_sessions();
$standby->stop;

$node = PostgreSQL::Test::Cluster->new('pitr');
$node->init_from_backup($primary, 'later', has_restoring => 1);
$node->append_conf('postgresql.conf',
	"recovery_target_lsn = '$target'\nrecovery_target_action = promote\n");
$node->start;
$node->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()') or die 'no recovery';
$prepared = $node->safe_psql('postgres', 'SELECT count(*) FROM pg_prepared_xacts');
is(ask_all(), '', 'recovered: all rows are found');
exercise('recovered');
sound('recovered');
end_sessions();
$node->stop;
note("$compared comparisons");

done_testing();
