# RencoderRuns.pm
#		A table whose index keeps its keys in runs: base runs, deltas, pending
#		list, groups of filters and a tail, whatever the test does to it.
package RencoderRuns;

use strict;
use warnings;

use Exporter 'import';
use RencoderTest;
use Test::More;

our @EXPORT = qw(
  load_runs_table create_runs_index start_repeatedly verify_runs runs_state
);

# Four rows a page, half of which is free, so 512 rows a group.
my $TABLE = q{
	CREATE TABLE t (id int, v int8, s text COLLATE "C", few int, filler text)
		WITH (fillfactor = 50);
	ALTER TABLE t ALTER filler SET STORAGE plain;
	CREATE SEQUENCE batches;
	CREATE FUNCTION fill(first int, last int) RETURNS void LANGUAGE sql AS $$
		INSERT INTO t SELECT i, hashint8extended(i, 1) >> 20,
			'https://example.org/' || md5((i / 3)::text),
			nullif(abs(hashint4(i)) % 30, 7), repeat('x', 850) FROM generate_series(first, last) i
	$$;
	-- Rows that nobody has put yet.
	CREATE FUNCTION put(n int) RETURNS void LANGUAGE sql AS
		$$SELECT fill(b * 1000 + 100001, b * 1000 + 100000 + n)
			FROM CAST(nextval('batches') AS int) b$$;
	-- One row of 41 gets other values, from row 500 on.  Rows that others have locked are left
	-- out: two sessions that change many would wait for each other.
	CREATE FUNCTION change(k int) RETURNS void LANGUAGE sql AS $$
		UPDATE t SET v = hashint8extended(id, k) >> 20,
			few = CASE WHEN id % 7 = 0 THEN NULL ELSE (few + 1) % 30 END,
			s = CASE WHEN id % 5 = 0 THEN 'https://example.org/' || md5(s || k) ELSE s END
		FROM (SELECT id AS mine FROM t WHERE id >= 500 AND id % 41 = k % 41
			FOR UPDATE SKIP LOCKED) l
		WHERE id = mine
	$$;
	CREATE PROCEDURE write_some() LANGUAGE plpgsql AS $$
	BEGIN
		FOR k IN 1 .. 1000000 LOOP
			PERFORM change(k), put(12);
			COMMIT;
			PERFORM pg_sleep(0.02);
		END LOOP;
	END $$};

# The table with rows 1 .. n.
sub load_runs_table
{
	my ($node, $n) = @_;

	$node->safe_psql('postgres', $TABLE);
	$node->safe_psql('postgres', "SELECT fill(1, $n)");
	return;
}

sub create_runs_index
{
	my ($node) = @_;

	$node->safe_psql('postgres', q{CREATE INDEX t_idx ON t USING rencoder (v, s, few)
		WITH (storage = run, autosummarize = off, pages_per_range = 1)});
	return;
}

# A session that runs commands again and again until it or the server is stopped.
sub start_repeatedly
{
	my ($node, @commands) = @_;
	my ($in, $out, $err) = ('', '', '');

	return {
		err    => \$err,
		handle => IPC::Run::start(
			[
				'psql', '-XqAt', '-d', $node->connstr('postgres'),
				map { map { ('-c', $_) } @commands } 1 .. 300
			],
			'<', \$in, '>', \$out, '2>', \$err)
	};
}

# Queries of a row each, and of parts of the table; the same list for both servers of a test.
sub some_queries
{
	my ($n) = @_;
	my @queries;

	foreach my $i (1 .. $n)
	{
		my $row = '(SELECT $ FROM t WHERE id >= ' . rnd_between(1, 3000)
		  . ' AND v IS NOT NULL AND s IS NOT NULL ORDER BY id LIMIT 1)';
		my ($value, $string) = map { $row =~ s/\$/$_/r } ('v', 's');

		push @queries, "SELECT id FROM t WHERE v = $value",
		  "SELECT id FROM t WHERE v BETWEEN $value AND $value + " . 10**rnd(13),
		  "SELECT id FROM t WHERE s = $string AND few = " . rnd(30),
		  "SELECT id FROM t WHERE s BETWEEN $string AND $string || '~'",
		  "SELECT id FROM t WHERE few IS NULL AND v < " . -10**(10 + rnd(3));
	}
	return \@queries;
}

# Two tests: the index is sound and has all rows; it finds what a sequential scan finds.
sub verify_runs
{
	my ($node, $name, $nqueries) = @_;
	my ($ret, $out, $err) = $node->psql('postgres', "SELECT rencoder_index_check('t_idx', true)");

	is($err, '', "$name: index is sound and covers all rows");
	compare_many_with_seqscan($node, 'postgres', some_queries($nqueries // 5), $name);
	return;
}

# How many runs there are: state and kind => number, such as "live base".
sub runs_state
{
	my ($node) = @_;

	return map { split /\|/ } split /\n/, $node->safe_psql('postgres',
		q{SELECT state || ' ' || kind, count(DISTINCT run) FROM rencoder_runs('t_idx') GROUP BY 1});
}

1;
