# RencoderWorker.pm
#		For tests of the background worker: a server, a table that grows by pages, and
#		what the worker is doing.
package RencoderWorker;

use strict;
use warnings;

use Exporter 'import';
use PostgreSQL::Test::Utils;
use RencoderTest;
use Test::More;

our @EXPORT = qw(
  $LIMIT $WORKERS $WORKER_PID $BUSY $SCHEMA $SESSION
  start_node sql seed unindexed pages wait_until wait_for_tail make_busy end_worker
);

# Two batches of 8 block ranges: what may be left when nobody inserts.
our $LIMIT = 16;

my $WORKER = "FROM pg_stat_activity WHERE backend_type = 'rencoder worker'";
our $WORKERS    = "SELECT count(*) $WORKER";
our $WORKER_PID = "SELECT pid $WORKER";

# In slow_in_worker(), below.
our $BUSY = "$WORKERS AND state = 'active' AND wait_event IN ('PgSleep', 'advisory')";

# In every database: tables of one row a page, so that n rows fill n pages.
our $SCHEMA = q{
	CREATE TABLE t (id bigserial, v int8, filler text) WITH (fillfactor = 10);
	ALTER TABLE t ALTER filler SET STORAGE plain;
	CREATE OR REPLACE FUNCTION grow(n int, seed int) RETURNS void LANGUAGE sql AS $$
		INSERT INTO t (v, filler)
		SELECT hashint8extended(i, seed), repeat('x', 1000) FROM generate_series(1, n) i
	$$;
	-- Whatever the worker evaluates it for: an error, or delay.
	CREATE OR REPLACE FUNCTION of_sessions(v int8) RETURNS int8 LANGUAGE plpgsql IMMUTABLE AS $$
	BEGIN
		IF current_setting('rencodertest.session', true) IS DISTINCT FROM 'on' THEN
			RAISE EXCEPTION 'not in a session of the test';
		END IF;
		RETURN v;
	END $$;
	-- The worker waits as long as somebody holds the advisory lock 1, and then takes at
	-- least 0.0125 s for a row.  It counts the rows.
	CREATE OR REPLACE FUNCTION slow_in_worker(v int8) RETURNS int8 LANGUAGE plpgsql IMMUTABLE AS $$
	BEGIN
		IF current_setting('rencodertest.session', true) IS DISTINCT FROM 'on' THEN
			PERFORM pg_advisory_lock_shared(1), pg_advisory_unlock_shared(1);
			PERFORM pg_sleep(0.0125);
			PERFORM nextval('public.slow_calls');
		END IF;
		RETURN v;
	END $$;
	-- Unlogged: no transaction gets an id by it.
	CREATE UNLOGGED SEQUENCE IF NOT EXISTS slow_calls;
};
our $SESSION = 'SET rencodertest.session = on;';

my ($node, $seed);

# Makes the server, with the schema in database postgres.
sub start_node
{
	$node = new_node('main');
	$seed = rnd(1_000_000);
	sql($SCHEMA);
	return $node;
}

# The seed of grow().
sub seed
{
	return $seed;
}

sub sql
{
	my ($sql, $dbname) = @_;

	return $node->safe_psql($dbname // 'postgres', $sql);
}

# Pages of the table that are not indexed, and all.
sub unindexed
{
	my ($index) = @_;

	return sql("SELECT unindexed FROM rencoder_candidates('$index', 0::int8, 0::int8)");
}

sub pages
{
	my ($index) = @_;

	return sql("SELECT table_pages FROM rencoder_candidates('$index', 0::int8, 0::int8)");
}

# Until the query gives the result.
sub wait_until
{
	my ($query, $expected, $name) = @_;

	ok($node->poll_query_until('postgres', $query, $expected), $name);
	return;
}

sub wait_for_tail
{
	my ($index, $name) = @_;

	return wait_until(
		"SELECT unindexed < $LIMIT "
		  . "FROM rencoder_candidates('$index', 0::int8, 0::int8)",
		't', $name);
}

# The worker has 400 rows to do, and has begun: it stands still at the first until the
# session lets it go on.
sub make_busy
{
	my ($name, $gate) = @_;

	sql("$SESSION TRUNCATE t; DROP INDEX IF EXISTS t_slow;
		CREATE INDEX t_slow ON t USING rencoder (slow_in_worker(v))
			WITH (pages_per_range = 1)");
	$gate->query_safe('SELECT pg_advisory_lock(1)');
	sql("$SESSION SELECT grow(400, $seed)");
	wait_until("$WORKERS AND wait_event = 'advisory'", '1', "$name: the worker is busy");
	return;
}

# It would stay for another try of an index that fails.
sub end_worker
{
	sql("SELECT pg_terminate_backend(pid) $WORKER");
	wait_until($WORKERS, '0', 'no worker');
	return;
}

1;
