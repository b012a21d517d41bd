# Values that leave TOAST between the moment when their row is looked at and the one
# when they are fetched: no command fails, and the range always matches.
#
# The window is the rows of a page.  Here it is opened: the first column's key
# function waits for an advisory lock, and what it waits for happens to the second
# column's value, of rows that are read page by page as of all plain columns, and by
# PostgreSQL's own scan as for a partial index.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderTest;
use Test::More;

my $node = new_node('main', conf => "rencoder.sample_rate = 0\n");

$node->safe_psql('postgres', <<~'SQL');
	CREATE FUNCTION wait_key(w int8) RETURNS int8 LANGUAGE plpgsql IMMUTABLE AS $$
	BEGIN
		IF w = 5 AND current_setting('test.wait', true) = 'on' THEN
			PERFORM pg_catalog.pg_advisory_lock_shared(7), pg_catalog.pg_advisory_unlock_shared(7);
		END IF;
		RETURN w;
	END $$;
	CREATE OPERATOR CLASS wait_ops FOR TYPE int8 USING rencoder AS
		OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
		FUNCTION 1 wait_key(int8);
	CREATE FUNCTION make_table(partial boolean) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		DROP TABLE IF EXISTS t;
		CREATE TABLE t (id int, w int8, v text, pad text);
		ALTER TABLE t ALTER v SET STORAGE external, ALTER pad SET STORAGE plain;
		INSERT INTO t SELECT g, 0, 'key ' || g || repeat('x', 5000), repeat('y', 1000)
		FROM generate_series(1, 100) g;
		EXECUTE 'CREATE INDEX t_i ON t USING rencoder (w wait_ops, v)
			WITH (pages_per_range = 1, autosummarize = off)' ||
			CASE WHEN partial THEN ' WHERE id > 0' ELSE '' END;
		INSERT INTO t SELECT g, 0, 'key ' || g || repeat('x', 5000), repeat('y', 1000)
		FROM generate_series(101, 150) g;
	END $$;
SQL

my $gate = $node->background_psql('postgres');
my $writer = $node->background_psql('postgres');

# Lets a command wait at a row that is in progress, or, "deleted", committed; the row
# is rolled back, or deleted, and its value removed; then the command goes on.
sub lose_value
{
	my ($name, $partial, $command, $deleted) = @_;

	$node->safe_psql('postgres', "SELECT make_table($partial)");
	my $toast = $node->safe_psql('postgres',
		q{SELECT reltoastrelid::regclass FROM pg_class WHERE oid = 't'::regclass});
	my $insert = q{INSERT INTO t VALUES (1000, 5, 'key 1000' || repeat('x', 5000), 'pad')};

	$gate->query_safe('SELECT pg_advisory_lock(7)');
	if ($deleted)
	{
		$node->safe_psql('postgres', $insert);
	}
	else
	{
		$writer->query_safe("BEGIN; $insert");
	}
	my $session = $node->background_psql('postgres', on_error_stop => 0);

	$session->query_safe("SET test.wait = 'on'");
	$session->query_until(qr/starting/, "\\echo starting\n$command;\n\\echo ended\n");
	$node->poll_query_until('postgres',
		q{SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'
			AND wait_event = 'advisory'})
	  or die 'the command does not wait';
	if ($deleted)
	{
		$node->safe_psql('postgres', 'DELETE FROM t WHERE id = 1000');
	}
	else
	{
		$writer->query_safe('ROLLBACK');
	}
	$node->safe_psql('postgres', "VACUUM $toast");
	$gate->query_safe('SELECT pg_advisory_unlock(7)');
	$session->query_until(qr/ended/, "\\echo\n");
	unlike($session->{stderr}, qr/ERROR/, "$name: no error");
	$session->quit;
	is( $node->safe_psql('postgres',
			q{SELECT sum(nulls) FROM rencoder_runs('t_i') WHERE attnum = 2}),
		1, "$name: the row always matches");
	is( $node->safe_psql('postgres', q{SELECT greatest(pg_relation_size('t')
			/ current_setting('block_size')::int - frontier, 0) FROM rencoder_metapage('t_i')}),
		0, "$name: all pages are indexed");
	$node->safe_psql('postgres', q{SELECT rencoder_index_check('t_i', true)});
	compare_many_with_seqscan($node, 'postgres',
		[ map { "SELECT id FROM t WHERE v LIKE 'key $_%' AND id > 0" } 100 .. 150 ], "$name: rows");
	return;
}

foreach my $partial ('false', 'true')
{
	my $of = $partial eq 'true' ? 'a partial index' : 'plain columns';

	lose_value("summarizing, rolled back, $of", $partial,
		q{SELECT rencoder_maintain_index('t_i')}, 0);
	lose_value("VACUUM, rolled back, $of", $partial, 'VACUUM t', 0);
	lose_value("VACUUM, deleted, $of", $partial, 'VACUUM t', 1);
}

$gate->quit;
$writer->quit;
done_testing();
