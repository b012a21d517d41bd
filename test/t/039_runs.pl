# Keys that come to covered ranges, on the pending list and in deltas: they survive crashes at
# any moment, a standby has the same pages and finds the same rows, also while the primary makes,
# merges and frees deltas, and what a crash leaves of a run is freed.
use strict;
use warnings;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderTest;
use Test::More;
use Time::HiRes qw(usleep);

my $ROUNDS = 6;

# Rows up to 3000 keep their v for ever; half of each page is free.
my $TABLE = q{
	CREATE TABLE go (x int);
	CREATE TABLE t (id int, v int8, s text COLLATE "C", few int, filler text)
		WITH (fillfactor = 50);
	ALTER TABLE t ALTER filler SET STORAGE plain;
	INSERT INTO t SELECT i, hashint8extended(i, 1) >> 20,
		'https://example.org/' || md5((i / 3)::text),
		nullif(abs(hashint4(i)) % 30, 7), repeat('x', 60) FROM generate_series(1, 12000) i;
	CREATE INDEX t_idx ON t USING rencoder (v, s, few)
		WITH (storage = run, autosummarize = off, pages_per_range = 2);
	CREATE FUNCTION change(k int) RETURNS void LANGUAGE sql AS $$
		UPDATE t SET v = hashint8extended(id, k) >> 20,
			few = CASE WHEN id % 7 = 0 THEN NULL ELSE (few + 1) % 30 END,
			s = CASE WHEN id % 5 = 0 THEN 'https://example.org/' || md5(s || k) ELSE s END
		WHERE id > 3000 AND id % 25 = k % 25
	$$;
	CREATE PROCEDURE write_some() LANGUAGE plpgsql AS $$
	BEGIN
		FOR k IN 1 .. 1000000 LOOP
			PERFORM change(k);
			COMMIT;
			PERFORM pg_sleep(0.02);
		END LOOP;
	END $$;
	CREATE FUNCTION deltas() RETURNS TABLE (run int8, state text) LANGUAGE sql AS
		$$SELECT DISTINCT run, state FROM rencoder_runs('t_idx') WHERE kind = 'delta'$$;
	-- A row that has been there from the beginning is always found.
	CREATE FUNCTION look() RETURNS int LANGUAGE plpgsql
	SET enable_seqscan = off AS $$
	DECLARE
		row int;
		found int;
		count int := 0;
	BEGIN
		WHILE (SELECT count(*) FROM go) > 0 LOOP
			row := 1 + (random() * 2999)::int;
			SELECT count(*) INTO found FROM t WHERE v = hashint8extended(row, 1) >> 20 AND id = row;
			IF found <> 1 THEN
				RAISE EXCEPTION 'row % was found % times', row, found;
			END IF;
			count := count + 1;
			EXIT WHEN count = 60;
		END LOOP;
		RETURN count;
	END $$};

# VACUUM again and again, in a session.
sub start_vacuum
{
	my ($node) = @_;
	my ($in, $out, $err) = ('', '', '');

	return {
		err    => \$err,
		handle => IPC::Run::start(
			[ 'psql', '-XqAt', '-d', $node->connstr('postgres'),
				map { ('-c', 'VACUUM t') } 1 .. 1000 ],
			'<', \$in, '>', \$out, '2>', \$err)
	};
}

sub some_queries
{
	my @queries;

	foreach my $i (1 .. 8)
	{
		my $id = rnd_between(1, 12000);
		my $value = "(SELECT min(v) FROM t WHERE id = $id)";
		my $string = "(SELECT min(s) FROM t WHERE id = $id)";

		push @queries, "SELECT id FROM t WHERE v = $value",
		  "SELECT id FROM t WHERE v BETWEEN $value AND $value + " . 10**rnd(13),
		  "SELECT id FROM t WHERE s = $string AND few = " . rnd(30),
		  "SELECT id FROM t WHERE s BETWEEN $string AND $string || '~'",
		  "SELECT id FROM t WHERE few IS NULL AND v < " . -10**(10 + rnd(3));
	}
	return \@queries;
}

sub verify
{
	my ($node, $name) = @_;
	my ($ret, $out, $err) =
	  $node->psql('postgres', "SELECT rencoder_index_check('t_idx', true)");

	is($err, '', "$name: index is sound and covers all rows");
	compare_many_with_seqscan($node, 'postgres', some_queries(), $name);
	return;
}

#
# Crashes while a session updates and another one makes deltas.  Pages reach the disk early,
# late or not at all.
#
my $node = new_node('crash',
	conf => "shared_buffers = 2MB\nbgwriter_delay = 10ms\nwal_writer_delay = 10ms\n");
$node->safe_psql('postgres', $TABLE);
ok(uses_index($node, 'postgres', 'SELECT id FROM t WHERE v = 5', 't_idx'), 'queries use the index');
my $left_over = 0;
my $merged = 0;
# Rounds more, until a crash has met a run that was being made or freed.
for (my $round = 1; $round <= $ROUNDS || ($left_over == 0 && $round <= 10 * $ROUNDS); $round++)
{
	my $writer = start_sql($node, 'CALL write_some()');
	my $vacuum = start_vacuum($node);

	usleep(rnd_between(100_000, 900_000));
	$node->safe_psql('postgres', 'CHECKPOINT') if $round % 3 == 0;
	$node->stop('immediate');
	$_->{handle}->finish foreach ($writer, $vacuum);
	$node->start;
	$left_over += $node->safe_psql('postgres',
		"SELECT count(*) FROM deltas() WHERE state <> 'live'");
	$merged = $node->safe_psql('postgres', 'SELECT coalesce(max(run), 0) FROM deltas()');
	verify($node, "crash $round");
	$node->safe_psql('postgres', "VACUUM t");
	verify($node, "after crash $round");
	is($node->safe_psql('postgres', "SELECT count(*) FROM deltas() WHERE state <> 'live'"), 0,
		"after crash $round: nothing is left of other runs");
	cmp_ok($node->safe_psql('postgres', 'SELECT count(*) FROM deltas()'), '<=', 20,
		"after crash $round: deltas are merged");
}
cmp_ok($left_over, '>', 0, "$left_over runs were being made or freed in a crash");
note("runs so far: $merged");
$node->stop;

#
# A standby: the same pages, and scans beside replay.
#
my ($primary, $standby) = start_primary_with_standby(
	conf => "wal_consistency_checking = 'generic'\nwal_keep_size = '2GB'\n" .
		"max_standby_streaming_delay = -1\n");
$primary->safe_psql('postgres', $TABLE);
$primary->safe_psql('postgres', 'INSERT INTO go VALUES (1)');
my $state = q{SELECT string_agg(r::text, ' ' ORDER BY r::text) FROM rencoder_runs('t_idx') r
	UNION ALL SELECT m::text FROM rencoder_metapage('t_idx') m};
my @steps = (
	[ 'pending', 'SELECT change(1)' ],
	[ 'a delta', 'SELECT change(2); VACUUM t' ],
	[ 'more', join('; ', map { ("SELECT change($_)", 'VACUUM t') } 3 .. 8) ],
	[ 'desummarized',
		q{SELECT count(rencoder_desummarize_range('t_idx', b)) FROM generate_series(5, 300, 9) b;
			SELECT change(9)} ],
	[ 'slices', q{SELECT rencoder_summarize_new_values('t_idx'); SELECT change(10); VACUUM t} ],
	[ 'by sessions',
		q{UPDATE t SET v = v + 1 WHERE id > 3000; UPDATE t SET few = few + 1 WHERE id > 3000} ],
	# The worker cannot make a delta while the table is locked, and VACUUM frees many pages.
	[ 'spare pages are freed',
		q{ALTER INDEX t_idx SET (autosummarize = on); BEGIN;
			LOCK TABLE t IN SHARE ROW EXCLUSIVE MODE;
			UPDATE t SET v = v + 1 WHERE id > 3000; UPDATE t SET few = few + 1 WHERE id > 3000;
			COMMIT; ALTER INDEX t_idx SET (autosummarize = off); VACUUM t} ],
	[ 'again', 'VACUUM t; REINDEX INDEX t_idx; SELECT change(11)' ]);
foreach my $step (@steps)
{
	my ($name, $sql) = @$step;

	$primary->safe_psql('postgres', $sql);
	wait_for_standby($primary, $standby);
	is($standby->safe_psql('postgres', $state), $primary->safe_psql('postgres', $state),
		"$name: the same runs on the standby");
	verify($standby, $name);
}
unlike(slurp_file($standby->logfile), qr/inconsistent page found/,
	'no page was found different');

my $writer = start_sql($primary, 'CALL write_some()');
my $vacuum = start_vacuum($primary);
my $before = $primary->safe_psql('postgres', "SELECT max(run) FROM rencoder_runs('t_idx')");
foreach my $i (1 .. 2)
{
	my ($ret, $out, $err) = $standby->psql('postgres', 'SELECT look()');
	is("$out$err", 60, "standby: each row is found while deltas come and go, $i");
	($ret, $out, $err) = $primary->psql('postgres', 'SELECT look()');
	is("$out$err", 60, "primary: likewise, $i");
}
cmp_ok($primary->safe_psql('postgres', "SELECT max(run) FROM rencoder_runs('t_idx')"),
	'>', $before + 3,
	'deltas came meanwhile');
$primary->safe_psql('postgres', q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity
	WHERE query LIKE 'CALL write\_some%'});
$vacuum->{handle}->kill_kill;
$writer->{handle}->finish;
wait_for_standby($primary, $standby);
verify($primary, 'primary at the end');
verify($standby, 'standby at the end');
unlike(slurp_file($standby->logfile), qr/inconsistent page found/,
	'no page was found different at the end');
$standby->stop;
$primary->stop;
done_testing();
