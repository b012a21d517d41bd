# RencoderBuild.pm
#		For tests of CREATE INDEX by several processes: a server with two tables, and
#		builds that say who has built what.
package RencoderBuild;

use strict;
use warnings;

use Exporter 'import';
use PostgreSQL::Test::Utils;
use RencoderTest;
use Test::More;

our @EXPORT = qw($LIMITS start_node build);

our $LIMITS = 'autosummarize = off, pages_per_range = 1';

# 8 rows a page.
# What slow() does is said by a setting, which workers are handed on; who waits does so
# however late the others are.  That a process has begun is noted by a file, the one thing
# that it can leave behind in parallel mode.
my $TABLES = q{
	CREATE TABLE t (id int, v int8, few int4, word text, filler text)
	WITH (fillfactor = 80, parallel_workers = 2, autovacuum_enabled = off);
	ALTER TABLE t ALTER filler SET STORAGE plain;
	INSERT INTO t SELECT i, hashint8extended(i, 1) >> 20,
		nullif(abs(hashint4extended(i, 1)) % 30, 7), md5(i::text), repeat('x', 700)
	FROM generate_series(1, 4120) i;
	CREATE TABLE narrow (v int8, n int4) WITH (parallel_workers = 2, autovacuum_enabled = off);
	INSERT INTO narrow SELECT hashint8extended(i, 2) >> 10, i FROM generate_series(1, 60000) i;
	CREATE FUNCTION is_worker() RETURNS bool LANGUAGE sql AS
		'SELECT backend_type = ''parallel worker'' FROM pg_stat_activity
			WHERE pid = pg_backend_pid()';
	CREATE FUNCTION begin_work() RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		EXECUTE format('COPY (SELECT 1) TO %L',
			current_setting('data_directory') || '/begun.' || pg_backend_pid());
	END $$;
	CREATE FUNCTION wait_for(what text) RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		patience timestamptz := clock_timestamp() + PATIENCE * interval '1 s';
		is_so bool;
	BEGIN
		LOOP
			PERFORM pg_stat_clear_snapshot();
			EXECUTE 'SELECT ' || what INTO is_so;
			EXIT WHEN is_so;
			IF clock_timestamp() > patience THEN
				RAISE EXCEPTION 'waited in vain for: %', what;
			END IF;
			PERFORM pg_sleep(0.01);
		END LOOP;
	END $$;
	CREATE FUNCTION wait_until_begun(n int) RETURNS void LANGUAGE sql AS $$
		SELECT wait_for(n || ' <= (SELECT count(*) FROM pg_ls_dir(''.'') f WHERE f ~ ''^begun'')')
	$$;
	CREATE FUNCTION wait_for_workers() RETURNS void LANGUAGE sql AS $$
		SELECT wait_for('2 = (SELECT count(*) FROM pg_stat_activity
			WHERE backend_type = ''parallel worker'' AND wait_event = ''PgSleep'')')
	$$;
	CREATE FUNCTION wait_for_gate() RETURNS void LANGUAGE sql AS $$
		SELECT wait_for('NOT EXISTS (SELECT FROM pg_locks WHERE locktype = ''advisory'')')
	$$;
	CREATE FUNCTION slow(id int, v int8) RETURNS int8 LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
	SET search_path = public AS $$
	DECLARE
		mode text := current_setting('test.mode', true);
	BEGIN
		IF id % 8 <> 0 THEN
			RETURN v;
		ELSIF mode = 'slow leader' THEN
			IF is_worker() THEN
				PERFORM begin_work();
			ELSE
				PERFORM wait_until_begun(1);
			END IF;
		ELSIF mode = 'all together' THEN
			PERFORM begin_work();
			PERFORM wait_until_begun(3);
		ELSIF mode = 'gate' THEN
			PERFORM wait_for_gate();
		ELSIF mode = 'slow workers' AND NOT is_worker() THEN
			PERFORM wait_for_workers();
		ELSIF mode = 'slow' OR mode = 'slow workers' THEN
			PERFORM pg_sleep(1);
		ELSIF mode = 'workers fail' THEN
			IF is_worker() THEN
				PERFORM begin_work();
				RETURN v / (id - id);
			END IF;
			PERFORM wait_until_begun(1);
		END IF;
		RETURN v;
	END $$;
	-- The last row of "narrow" fails, when keys have been spilled by whatever process.
	CREATE FUNCTION last_fails(n int) RETURNS int LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
	SET search_path = public AS $$
	BEGIN
		IF n = 60000 THEN
			PERFORM wait_for('EXISTS (SELECT FROM pg_ls_dir(''base/pgsql_tmp'', true, false))');
		END IF;
		RETURN 60000 / (60000 - n);
	END $$;
	VACUUM ANALYZE t, narrow;
};
$TABLES =~ s/PATIENCE/$PostgreSQL::Test::Utils::timeout_default/;

my $node;

# Makes the server, with the tables in database postgres.
sub start_node
{
	# Without samples, which would have a say in the next build.
	$node = new_node('main',
		conf => "max_worker_processes = 8\nmax_parallel_workers = 8\nlog_min_messages = warning\n"
		  . "rencoder.sample_rate = 0\n");
	$node->safe_psql('postgres', $TABLES);
	is( $node->safe_psql('postgres', "SELECT pg_relation_size('t') / 8192"),
		4 * 128 + 3, 'pages of the table');
	return $node;
}

# Runs a command with "workers" workers; returns the pages that each process has read,
# as it says itself.
sub build
{
	my ($workers, $command, $mode) = @_;

	unlink glob $node->data_dir . '/begun.*';
	my ($ret, $out, $err) = $node->psql(
		'postgres', "
		SET client_min_messages = debug1;
		SET max_parallel_maintenance_workers = $workers;
		SET test.mode = '" . ($mode // '') . "';
		$command");

	is($ret, 0, "$workers workers: $command") or diag($err);
	my @pages = $err =~ /this process has read (\d+) pages/g;
	return @pages;
}

1;
