# A worker that does not get to it: who inserts, or scans, sees to it that scans read no more than a
# bound.  Pages are counted; that a scan came lately is seen to by trying until it did.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderTest;
use Test::More;
use Time::HiRes qw(time usleep);

# Pages behind the frontier, and of the pending list, from which on sessions help; each with what
# may come before the next help.
my ($TAIL, $PENDING) = (16, 9);
my ($MOST_TAIL, $MOST_PENDING) = ($TAIL + 16, $PENDING + 2);

# A scan is remembered for 5 seconds.
my $LATELY = 4;

my $node = new_node('main');
my $seed = rnd(1_000_000);

# 35 rows a page; room for each row's new version on its page in u, so that it becomes an entry.
$node->safe_psql('postgres', qq{
	CREATE TABLE t (id int, v int8, filler text);
	ALTER TABLE t ALTER filler SET STORAGE plain;
	INSERT INTO t SELECT i, hashint8extended(i, $seed), repeat('x', 180)
		FROM generate_series(1, 20000) i;
	CREATE INDEX t_v ON t USING rencoder (v);
	CREATE TABLE u (id int, v int8) WITH (fillfactor = 40);
	INSERT INTO u SELECT i, hashint8extended(i, $seed) FROM generate_series(1, 200000) i;
	CREATE INDEX u_v ON u USING rencoder (v);
	CREATE TABLE e (LIKE t INCLUDING STORAGE);
	INSERT INTO e SELECT * FROM t;
	CREATE INDEX e_v ON e USING rencoder (abs(v)) WHERE id > 0 AND filler IS NOT NULL;
	CREATE FUNCTION pages(tab text, key int8, OUT index_pages int, OUT heap_pages int)
	LANGUAGE plpgsql AS \$\$
	DECLARE
		plan jsonb;
	BEGIN
		SET LOCAL enable_seqscan = off;
		SET LOCAL enable_indexscan = off;
		EXECUTE format('EXPLAIN (FORMAT json, ANALYZE, BUFFERS, TIMING off)
			SELECT * FROM %I WHERE %s', tab, CASE tab WHEN 'e' THEN
				format('abs(v) = %s AND id > 0 AND filler IS NOT NULL', abs(key))
				ELSE format('v = %s', key) END) INTO plan;
		plan := plan -> 0 -> 'Plan';
		index_pages := (plan -> 'Plans' -> 0 ->> 'Shared Hit Blocks')::int
			+ (plan -> 'Plans' -> 0 ->> 'Shared Read Blocks')::int;
		heap_pages := (plan ->> 'Shared Hit Blocks')::int + (plan ->> 'Shared Read Blocks')::int
			- index_pages;
	END \$\$});

# The worker is there, but has no access to the tables as long as this session has them locked.
my $writer = $node->background_psql('postgres');
$writer->query_safe('BEGIN; LOCK TABLE t, u, e IN SHARE ROW EXCLUSIVE MODE');

my %WAITING = (
	t => q{SELECT unindexed FROM rencoder_candidates('t_v', 0::int8, 0::int8)},
	e => q{SELECT unindexed FROM rencoder_candidates('e_v', 0::int8, 0::int8)},
	u => q{SELECT pending_pages FROM rencoder_metapage('u_v')});

sub waiting
{
	my ($tab) = @_;

	return $node->safe_psql('postgres', $WAITING{$tab});
}

# A query; pages of the index, and of the table.
sub scan
{
	my ($tab) = @_;

	return split /\|/, $node->safe_psql('postgres',
		"SELECT * FROM pages('$tab', hashint8extended(" . rnd(20000) . ", $seed))");
}

my $round = 0;

sub write_rows
{
	my ($tab, $n) = @_;

	$round++;

	# A session makes a run each 10 ms at most.
	return $writer->query_safe($tab ne 'u'
		? "DO \$\$
			BEGIN
				FOR part IN 1 .. 10 LOOP
					INSERT INTO $tab SELECT i, hashint8extended(i, $seed + $round), repeat('x', 180)
					FROM generate_series($n / 10 * (part - 1) + 1, $n / 10 * part) i;
					PERFORM pg_sleep(0.03);
				END LOOP;
			END \$\$"
		: "UPDATE u SET v = hashint8extended(id, $seed + $round)
			WHERE id BETWEEN 5000 * ($round % 40) AND 5000 * ($round % 40) + $n");
}

# Of e the server's own functions are evaluated for rows of others.
foreach my $case ([ 't', $MOST_TAIL, 2000 ], [ 'e', $MOST_TAIL, 2000 ],
	[ 'u', $MOST_PENDING, 4000 ])
{
	my ($tab, $most, $rows) = @$case;
	my $patience = time() + $PostgreSQL::Test::Utils::timeout_default;

	# Nobody has scanned it, or not for a while.
	while (waiting($tab) <= 2 * $most && time() < $patience)
	{
		write_rows($tab, $rows);
	}
	cmp_ok(waiting($tab), '>', 2 * $most, "$tab: much waits that nobody reads");

	# Once a scan has read it, scans to come do not.
	while (waiting($tab) > $most && time() < $patience)
	{
		scan($tab);
		usleep(20_000);
	}
	cmp_ok(waiting($tab), '<=', $most, "$tab: scans help");

	# Where scans come, who inserts helps.
	my ($counted, $over) = (0, 0);
	while ($counted < 20 && time() < $patience)
	{
		my $begun = time();

		scan($tab);
		write_rows($tab, $rows);
		my $waits = waiting($tab);
		next if time() - $begun > $LATELY;
		$counted++;
		$over++ if $waits > $most;
	}
	is("$counted $over", '20 0', "$tab: who inserts helps");
	my ($index_pages, $heap_pages) = scan($tab);
	cmp_ok($index_pages, '<=', 40, "$tab: pages of the index");
	cmp_ok($heap_pages, '<=', 40, "$tab: pages of the table");
}
cmp_ok($node->safe_psql('postgres', q{SELECT count(*) FROM rencoder_runs('u_v')
	WHERE kind = 'delta'}), '>', 0, 'there are deltas');

# A transaction that must not write does not help.
my $patience = time() + $PostgreSQL::Test::Utils::timeout_default;
while (waiting('t') <= 2 * $MOST_TAIL && time() < $patience)
{
	write_rows('t', 2000);
}
my $before = waiting('t');
$node->safe_psql('postgres', "BEGIN READ ONLY; SET LOCAL enable_seqscan = off;
	SELECT count(*) FROM t WHERE v = $_; SELECT pg_sleep(0.02); COMMIT") foreach 1 .. 20;
is(waiting('t'), $before, 'nor does one that is read only');

$writer->query_safe('COMMIT');
$writer->quit;
foreach my $tab ('t', 'u', 'e')
{
	$node->safe_psql('postgres', "SELECT rencoder_index_check('${tab}_v', true)");
	compare_many_with_seqscan($node, 'postgres', [ map {
			my $seed_of = $seed + $round - $_;
			my $key = 'hashint8extended(' . rnd_between(1, 2000) . ", $seed_of)";
			"SELECT id FROM $tab WHERE "
				. ($tab eq 'e' ? "abs(v) = abs($key) AND id > 0 AND filler IS NOT NULL"
					: "v = $key")
		} 0 .. 20 ], "rows of $tab");
}

# Who makes a long run makes others of what comes meanwhile, if scans read it.  The reading stops at
# a row until we let it go on; it has an expression, which no session evaluates for rows of others.
create_stopping_function($node);
$node->safe_psql('postgres', q{
	CREATE TABLE w (id int, v int8, filler text);
	ALTER TABLE w ALTER filler SET STORAGE plain;
	INSERT INTO w SELECT i, CASE i WHEN 3001 THEN -1 ELSE hashint8extended(i, 0) END,
		repeat('x', 180) FROM generate_series(1, 40000) i;
	CREATE INDEX w_v ON w USING rencoder (f(v)) WITH (autosummarize = off);
	DELETE FROM w WHERE id % 2 = 0;
	VACUUM (INDEX_CLEANUP off) w});
my $blocks = $node->safe_psql('postgres', q{SELECT pg_relation_size('w') / 8192});
my ($stopper, $compact) = start_and_stop($node, "SELECT rencoder_compact('w_v', 0, $blocks)");
$node->safe_psql('postgres', q{INSERT INTO w SELECT i, hashint8extended(i, 1), repeat('x', 180)
	FROM generate_series(1, 30000) i});
# As many as a session counts at once, on a page that an index of 1,024 pages of a table has.
$node->safe_psql('postgres', join(';', 'SET enable_seqscan = off',
	map { "SELECT count(*) FROM w WHERE f(v) = $_" } 1 .. 120));
$stopper->query_safe('SELECT pg_advisory_unlock(1)');
$stopper->quit;
finish_sql($compact, 'rencoder_compact');
cmp_ok($node->safe_psql('postgres', $WAITING{t} =~ s/t_v/w_v/r), '<=', $MOST_TAIL,
	'the tail has a run');
is($node->safe_psql('postgres', q{SELECT count(DISTINCT run) FROM rencoder_runs('w_v')
	WHERE kind = 'base'}), 2, 'of its own');
$node->safe_psql('postgres', "SELECT rencoder_index_check('w_v', true)");
compare_many_with_seqscan($node, 'postgres', [ map {
		"SELECT id FROM w WHERE f(v) = hashint8extended($_, " . $_ % 2 . ')'
	} 2991 .. 3010, 29999, 30000 ],
	'rows that came before and while a base run was made');

$node->stop;
done_testing();
