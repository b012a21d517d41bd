# What pg_stat_progress_create_index says of a build: the phases have names, blocks and rows reach
# their totals.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderTest;
use Test::More;

my $node = new_node('progress');
$node->safe_psql('postgres', q{
	CREATE TABLE t (id int, v int8, filler text);
	INSERT INTO t SELECT i, i * 7919 % 30011, repeat('x', 500) FROM generate_series(1, 30000) i;
	CREATE FUNCTION wait_at_last(id int, v int8) RETURNS int8 LANGUAGE plpgsql IMMUTABLE AS $$
	BEGIN
		IF id = 29000 THEN
			PERFORM pg_advisory_lock_shared(1);
			PERFORM pg_advisory_unlock_shared(1);
		END IF;
		RETURN v;
	END $$});

is($node->safe_psql('postgres', q{
	SELECT string_agg(pg_indexam_progress_phasename(oid, i), ', ' ORDER BY i)
	FROM pg_am, generate_series(0, 10) i WHERE amname = 'rencoder'}),
	'initializing, scanning table, sorting keys, writing run, writing WAL', 'names of phases');

# The build waits for the lock in the expression, that is, while it reads the table; then, when all
# is done, for one on the catalog.
sub watch
{
	my ($name, $workers) = @_;
	my $locker = $node->background_psql('postgres');
	my $seen = q{SELECT phase, blocks_done <= blocks_total, tuples_done, tuples_total
		FROM pg_stat_progress_create_index};
	my $build;

	$locker->query_safe('SELECT pg_advisory_lock(1)');
	$build = start_sql($node, "SET max_parallel_maintenance_workers = $workers; "
		  . 'SET min_parallel_table_scan_size = 0; '
		  . 'CREATE INDEX t_i ON t USING rencoder (wait_at_last(id, v), id) '
		  . 'WITH (pages_per_range = 1)');
	$node->poll_query_until('postgres',
		q{SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted)})
	  or die 'nobody waits for the lock';
	like($node->safe_psql('postgres', $seen), qr/^building index: scanning table\|t\|0\|/,
		"$name: while the table is read");
	$locker->query_safe('BEGIN; LOCK TABLE pg_class IN SHARE MODE; SELECT pg_advisory_unlock(1)');
	$node->poll_query_until('postgres', q{SELECT EXISTS (SELECT FROM pg_locks
		WHERE relation = 'pg_class'::regclass AND NOT granted)})
	  or die 'nobody waits for the catalog';
	is($node->safe_psql('postgres', $seen), 'building index: writing WAL|t|60000|60000',
		"$name: when all is written");
	$locker->query_safe('COMMIT');
	finish_sql($build, "$name: the index is built");
	$locker->quit;
	$node->safe_psql('postgres', q{SELECT rencoder_index_check('t_i', true); DROP INDEX t_i});
	return;
}

watch('one process', 0);
$node->safe_psql('postgres', 'ALTER FUNCTION wait_at_last PARALLEL SAFE');
watch('several processes', 2);
$node->stop;

done_testing();
