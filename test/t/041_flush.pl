# Base runs that are made in use: whatever moment a crash comes at, no row is lost and the next
# maintenance tidies up; a standby has the same pages and finds the same rows, also while the
# primary makes, merges and frees runs; the worker makes them by itself.
use strict;
use warnings;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderTest;
use Test::More;
use Time::HiRes qw(usleep);

my $ROUNDS = 4;

# Four rows a page, half of which is free, so 512 rows a group.  Rows up to 1000 keep their v.
my $TABLE = q{
	CREATE TABLE go (x int);
	CREATE SEQUENCE ids START 3001;
	CREATE TABLE t (id int, v int8, s text COLLATE "C", few int, filler text)
		WITH (fillfactor = 50);
	ALTER TABLE t ALTER filler SET STORAGE plain;
	CREATE FUNCTION fill(first int, last int) RETURNS void LANGUAGE sql AS $$
		INSERT INTO t SELECT i, hashint8extended(i, 1) >> 20,
			'https://example.org/' || md5((i / 3)::text),
			nullif(abs(hashint4(i)) % 30, 7), repeat('x', 850) FROM generate_series(first, last) i
	$$;
	SELECT fill(1, 3000);
	CREATE FUNCTION change(k int) RETURNS void LANGUAGE sql AS $$
		UPDATE t SET v = hashint8extended(id, k) >> 20,
			few = CASE WHEN id % 7 = 0 THEN NULL ELSE (few + 1) % 30 END,
			s = CASE WHEN id % 5 = 0 THEN 'https://example.org/' || md5(s || k) ELSE s END
		WHERE id > 1000 AND id % 97 = k % 97
	$$;
	CREATE PROCEDURE write_some() LANGUAGE plpgsql AS $$
	BEGIN
		FOR k IN 1 .. 1000000 LOOP
			PERFORM change(k), fill(i, i + 24)
				FROM (SELECT nextval('ids') * 25 AS i) q WHERE i < 400000;
			COMMIT;
			PERFORM pg_sleep(0.02);
		END LOOP;
	END $$;
	-- A row that has been there from the beginning is always found.
	CREATE FUNCTION look() RETURNS int LANGUAGE plpgsql
	SET enable_seqscan = off AS $$
	DECLARE
		row int;
		found int;
		count int := 0;
	BEGIN
		WHILE (SELECT count(*) FROM go) > 0 LOOP
			row := 1 + (random() * 999)::int;
			SELECT count(*) INTO found FROM t WHERE v = hashint8extended(row, 1) >> 20 AND id = row;
			IF found <> 1 THEN
				RAISE EXCEPTION 'row % was found % times', row, found;
			END IF;
			count := count + 1;
			EXIT WHEN count = 60;
		END LOOP;
		RETURN count;
	END $$};
my $INDEX = q{CREATE INDEX t_idx ON t USING rencoder (v, s, few)
	WITH (storage = run, autosummarize = off, pages_per_range = 1)};
my $BASES = q{SELECT count(DISTINCT run) FROM rencoder_runs('t_idx') WHERE kind = 'base'};
my $LEFT = q{SELECT count(*) FROM rencoder_runs('t_idx') WHERE kind = 'base' AND state <> 'live'};

# VACUUM and compaction again and again, in a session.
sub start_maintenance
{
	my ($node) = @_;
	my ($in, $out, $err) = ('', '', '');

	return {
		err    => \$err,
		handle => IPC::Run::start(
			[
				'psql', '-XqAt', '-d', $node->connstr('postgres'),
				map { ('-c', 'VACUUM t',
					'-c', $_ % 3 ? 'SELECT 1' : "SELECT rencoder_compact('t_idx')") } 1 .. 1000
			],
			'<', \$in, '>', \$out, '2>', \$err)
	};
}

sub verify
{
	my ($node, $name) = @_;
	my @queries;

	foreach my $i (1 .. 8)
	{
		my $id = rnd_between(1, 3000);
		my $value = "(SELECT min(v) FROM t WHERE id = $id)";
		my $string = "(SELECT min(s) FROM t WHERE id = $id)";

		push @queries, "SELECT id FROM t WHERE v = $value",
		  "SELECT id FROM t WHERE v BETWEEN $value AND $value + " . 10**rnd(13),
		  "SELECT id FROM t WHERE s = $string AND few = " . rnd(30),
		  "SELECT id FROM t WHERE s BETWEEN $string AND $string || '~'",
		  "SELECT id FROM t WHERE few IS NULL AND v < " . -10**(10 + rnd(3));
	}
	my ($ret, $out, $err) =
	  $node->psql('postgres', "SELECT rencoder_index_check('t_idx', true)");
	is($err, '', "$name: index is sound and covers all rows");
	compare_many_with_seqscan($node, 'postgres', \@queries, $name);
	return;
}

#
# Crashes.  Pages reach the disk early, late or not at all.  Rounds more, until a crash has met
# a base run that was being made or freed.
#
my $node = new_node('crash',
	conf => "shared_buffers = 2MB\nbgwriter_delay = 10ms\nwal_writer_delay = 10ms\n");
$node->safe_psql('postgres', $TABLE);
$node->safe_psql('postgres', $INDEX);
ok(uses_index($node, 'postgres', 'SELECT id FROM t WHERE v = 5', 't_idx'), 'queries use the index');
my $met = 0;
for (my $round = 1; $round <= $ROUNDS || ($met == 0 && $round <= 6 * $ROUNDS); $round++)
{
	my $writer = start_sql($node, 'CALL write_some()');
	my $maintenance = start_maintenance($node);

	usleep(rnd_between(300_000, 1_500_000));
	$node->stop('immediate');
	$_->{handle}->finish foreach $writer, $maintenance;
	unlike(${ $maintenance->{err} }, qr/^(?!.*(terminat|server closed|connection)).*ERROR/m,
		"round $round: no error before the crash");
	$node->start;
	$met++ if $node->safe_psql('postgres', $LEFT) > 0;
	verify($node, "crash $round");
	$node->safe_psql('postgres', 'VACUUM t');
	is($node->safe_psql('postgres', $LEFT), '0', "crash $round: what it left is freed");
	verify($node, "after crash $round, tidied up");
}
cmp_ok($met, '>', 0, 'crashes have met base runs that were being made or freed');
$node->safe_psql('postgres', $_) foreach 'VACUUM t', q{SELECT rencoder_compact('t_idx')};
is($node->safe_psql('postgres', $BASES), '1', 'one base run of all');
verify($node, 'compacted');
unlike(slurp_file($node->logfile), qr/TRAP:|PANIC:|invalid page in block/,
	'no panic, no damaged page');
$node->stop;

#
# A standby, with queries while the primary is at work.
#
my ($primary, $standby) = start_primary_with_standby(
	conf => "hot_standby_feedback = on\nwal_receiver_status_interval = 1\n");
$primary->safe_psql('postgres', $TABLE);
$primary->safe_psql('postgres', $INDEX);
$primary->safe_psql('postgres', 'INSERT INTO go VALUES (1)');
wait_for_standby($primary, $standby);
my $writer = start_sql($primary, 'CALL write_some()');
my $maintenance = start_maintenance($primary);
my $wrong = 0;
foreach my $look (1 .. 5)
{
	foreach my $server ($primary, $standby)
	{
		my ($ret, $out, $err) = $server->psql('postgres', 'SELECT look()');

		next if $err =~ /conflict with recovery/;
		$wrong++ if $err ne '';
		diag($err) if $err ne '';
	}
}
is($wrong, 0, 'rows are found on both servers all the time');
$primary->safe_psql('postgres', q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity
	WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()});
$_->{handle}->finish foreach $writer, $maintenance;
wait_for_standby($primary, $standby);
is($standby->safe_psql('postgres', $BASES), $primary->safe_psql('postgres', $BASES),
	'the standby has the same runs');
verify($_, $_->name) foreach $primary, $standby;

#
# The worker does it.
#
$primary->safe_psql('postgres', q{DELETE FROM t WHERE id > 3000; VACUUM t;
	ALTER INDEX t_idx SET (autosummarize = on); REINDEX INDEX t_idx});
is($primary->safe_psql('postgres', $BASES), '1', 'the index is made anew');
$primary->safe_psql('postgres', "SELECT fill(500001 + $_ * 500, 500500 + $_ * 500)") foreach 0 .. 7;
$primary->poll_query_until('postgres', "SELECT ($BASES) > 1")
  or die 'the worker makes no run';
pass('the worker makes a run of full groups');
wait_for_standby($primary, $standby);
verify($_, $_->name . ', by the worker') foreach $primary, $standby;

$standby->stop;
$primary->stop;
done_testing();
