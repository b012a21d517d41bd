# What a reading of the table takes for dead may be needed by a snapshot on a
# standby, also where the oldest transaction id that a table is needed by goes
# backwards before the scan ends (INV-9).
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderTest;
use Test::More;

my ($primary, $standby) = start_primary_with_standby(
	standby_conf => "hot_standby_feedback = off\nmax_standby_streaming_delay = -1\n");

# One row a page; two of them keep whoever encodes them waiting.  The
# key is computed by a function, so that the test can stop a scan there.
$primary->safe_psql(
	'postgres', q{
	CREATE DATABASE other;
	CREATE FUNCTION key(v int) RETURNS int LANGUAGE plpgsql IMMUTABLE
	SET search_path = public AS $$
	BEGIN
		IF v IN (-1, -2) THEN
			PERFORM pg_advisory_lock(-v);
			PERFORM pg_advisory_unlock(-v);
			-- Until whoever opened the gate has no snapshot any more.
			WHILE EXISTS (SELECT FROM pg_stat_activity
				WHERE application_name = 'gates' AND state <> 'idle') LOOP
				PERFORM pg_sleep(0.01), pg_stat_clear_snapshot();
			END LOOP;
		END IF;
		RETURN v;
	END $$;
	CREATE TABLE t (id int, v int, filler text) WITH (fillfactor = 50, autovacuum_enabled = off);
	ALTER TABLE t ALTER filler SET STORAGE plain;
	CREATE INDEX t_key ON t USING rencoder (key(v))
		WITH (autosummarize = off, pages_per_range = 1);
	INSERT INTO t SELECT i, CASE i WHEN 1 THEN -1 WHEN 265 THEN -2 ELSE i END, repeat('x', 4000)
	FROM generate_series(1, 300) i;
});
is($primary->safe_psql('postgres', "SELECT frontier FROM rencoder_metapage('t_key')"),
	'0', 'all pages are to be read');

# The oldest transaction runs in another database.
my $elsewhere = $primary->background_psql('other');
$elsewhere->query_safe('BEGIN');
$elsewhere->query_safe('SELECT pg_current_xact_id()');
wait_for_standby($primary, $standby);
my $reader = $standby->background_psql('postgres');
$reader->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
my $rows = "SELECT count(*) FROM t WHERE key(v) = 260";
my $by_index = 'SET enable_seqscan = off; SET enable_indexscan = off; SET enable_bitmapscan = on;';
is($reader->query_safe("SET enable_seqscan = on; SET enable_indexscan = off; "
  . "SET enable_bitmapscan = off; $rows"),
	1, 'the row is there');

# A snapshot of this database holds the table's horizon back ..
sub hold_back
{
	my $session = $primary->background_psql('postgres');

	$session->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
	$session->query_safe('SELECT 1');
	return $session;
}
my $holder = hold_back();
my $gates  = $primary->background_psql('postgres');
$gates->query_safe(q{SET application_name = 'gates'});
$gates->query_safe('SELECT pg_advisory_lock(1), pg_advisory_lock(2)');
$primary->safe_psql('postgres', 'DELETE FROM t WHERE id = 260');

# Looks from another database: snapshots of this one would hold the horizon back.
sub wait_for_gate
{
	my ($gate) = @_;

	$primary->poll_query_until('other',
		"SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' "
		  . "AND objid = $gate AND NOT granted)")
	  or die "nobody waits at gate $gate";
	return;
}
my $vacuum = $primary->background_psql('postgres');
$vacuum->query_until(qr/started/, "\\echo started\nVACUUM t;\n\\echo finished\n");
wait_for_gate(1);

# .. until the first 256 pages are read, and not up to the end.
$holder->query_safe('COMMIT');
$holder->quit;
$gates->query_safe('SELECT pg_advisory_unlock(1)');
wait_for_gate(2);

# From there on it is where it was.
$holder = hold_back();
$gates->query_safe('SELECT pg_advisory_unlock(2)');
$vacuum->query_until(qr/done/, "SELECT 'done';\n");
$vacuum->quit;
is($primary->safe_psql('postgres', "SELECT frontier FROM rencoder_metapage('t_key')"),
	'300', 'VACUUM has made a run');
is($primary->safe_psql('postgres', "SELECT sum(rows) FROM rencoder_runs('t_key')"),
	'299', 'the deleted row was taken for dead');

# Does the standby still have its row?
wait_for_standby($primary, $standby);
is($reader->query_safe($rows), 1, 'an old snapshot on the standby has the row');
is($reader->query_safe("$by_index $rows"),
	1, 'the index finds it');
like($reader->query_safe("$by_index EXPLAIN (COSTS OFF) $rows"),
	qr/Bitmap Index Scan on t_key/, 'by the index indeed');
$reader->query_safe('COMMIT');

# A transaction that has run all the time makes no run useless that it need not.
$holder->quit;
$elsewhere->query_safe('COMMIT');
wait_for_standby($primary, $standby);
is($reader->query_safe($rows), 0, 'a new snapshot does not see the row');
foreach my $node ($primary, $standby)
{
	is( $node->safe_psql('postgres',
			"SELECT unindexed FROM rencoder_candidates('t_key', 1, 2)"),
		0, 'and trusts the run, on the ' . $node->name);
}
my $writer = $primary->background_psql('postgres');
$writer->query_safe('BEGIN');
$writer->query_safe('SELECT pg_current_xact_id()');
$primary->safe_psql('postgres',
	"INSERT INTO t SELECT i, i, repeat('x', 4000) FROM generate_series(301, 700) i");
$primary->safe_psql('postgres', 'VACUUM t');
is( $primary->safe_psql('postgres',
		"SELECT unindexed FROM rencoder_candidates('t_key', 1, 2)"),
	0, 'a run by VACUUM is trusted while a writer goes on that was there before');
$writer->query_safe('COMMIT');

# CREATE INDEX CONCURRENTLY: of a row that came while the table was read, before
# inserters cared for the index, and went before the second look at the table the
# index knows nothing.  The primary waits for snapshots that see it; a standby's
# it does not know.
$primary->safe_psql(
	'postgres', q{
	CREATE TABLE c (id int, v int) WITH (autovacuum_enabled = off);
	INSERT INTO c SELECT i, CASE i WHEN 5 THEN -1 ELSE i END FROM generate_series(1, 8) i;
});
$gates->query_safe('SELECT pg_advisory_lock(1)');
my $builder = $primary->background_psql('postgres');
$builder->query_until(qr/started/, "\\echo started
CREATE INDEX CONCURRENTLY c_key ON c USING rencoder (key(v))
	WITH (autosummarize = off, pages_per_range = 1);\n");
wait_for_gate(1);
$primary->safe_psql('postgres', 'INSERT INTO c VALUES (100, 100)');
$holder = $primary->background_psql('postgres');
$holder->query_safe('BEGIN');
$holder->query_safe('LOCK TABLE c IN ROW EXCLUSIVE MODE');
$gates->query_safe('SELECT pg_advisory_unlock(1)');
$primary->poll_query_until('postgres',
	"SELECT indisready FROM pg_index WHERE indexrelid = to_regclass('c_key')")
  or die 'the first look at the table does not end';
wait_for_standby($primary, $standby);
$rows = 'SELECT count(*) FROM c WHERE key(v) = 100';
$reader->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
is($reader->query_safe("SET enable_seqscan = on; SET enable_indexscan = off; "
  . "SET enable_bitmapscan = off; $rows"),
	1, 'the row is there, between the two looks at the table');
$primary->safe_psql('postgres', 'DELETE FROM c WHERE id = 100');
$holder->query_safe('COMMIT');
$builder->query_until(qr/done/, "SELECT 'done';\n");
$builder->quit;
wait_for_standby($primary, $standby);
is($reader->query_safe("$by_index $rows"), 1,
	'an old snapshot finds it by an index that was created concurrently');
like($reader->query_safe("$by_index EXPLAIN (COSTS OFF) $rows"),
	qr/Bitmap Index Scan on c_key/, 'by the index indeed');
$reader->query_safe('COMMIT');
wait_for_standby($primary, $standby);
is($reader->query_safe($rows), 0, 'a new snapshot does not see the row');
is( $standby->safe_psql('postgres', "SELECT unindexed, pages "
  . "FROM rencoder_candidates('c_key', 100, 100)"),
	'0|0', 'and trusts the run');

$_->quit foreach $reader, $elsewhere, $gates, $writer, $holder;
$standby->stop;
$primary->stop;
done_testing();
