# The tail of a table that is read while it grows: the worker notes it, so that queries are told its
# rows, and notes behind a load; few rows of that come to noted ranges; a standby and who is
# promoted find all rows; and a delta that noted ranges need is missed if it goes.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderDamage;
use RencoderTest;
use Test::More;

my $patience = $PostgreSQL::Test::Utils::timeout_default;
my ($node, $standby) = start_primary_with_standby(conf => "ignore_checksum_failure = on\n");
sub sql { return $node->safe_psql('postgres', $_[0]); }

sql(q{
	CREATE TABLE t (id bigserial, v int8, w int8, s text COLLATE "C", p point, filler text)
		WITH (autovacuum_enabled = off);
	ALTER TABLE t ALTER filler SET STORAGE plain;
	CREATE FUNCTION grow(n int) RETURNS void LANGUAGE sql AS $$
		INSERT INTO t (v, w, s, p, filler)
		SELECT hashint8extended(i, 1), -i, 'key ' || i, point(i % 1000, i), repeat('x', 300)
		FROM (SELECT currval('t_id_seq') + g AS i FROM generate_series(1, n) g) s
	$$;
	SELECT nextval('t_id_seq');
	SELECT grow(3000);
	CREATE INDEX t_v ON t USING rencoder (v) WITH (pages_per_range = 8, storage = run);
	CREATE INDEX t_w ON t USING rencoder (w, s) WITH (pages_per_range = 8, storage = run);
	CREATE INDEX t_p ON t USING rencoder (p) WITH (pages_per_range = 8, storage = run);
	CREATE VIEW states AS SELECT count(*) FILTER (WHERE state = 'noted') AS noted,
		count(*) FILTER (WHERE state = 'summarized' AND NOT covered) AS filtered,
		count(*) FILTER (WHERE state = 'unsummarized') AS unsummarized
		FROM rencoder_ranges('t_v') WHERE attnum = 1;
});

sub queries
{
	return [ map {
			my $id = rnd_between(1, sql('SELECT max(id) FROM t'));

			(   "SELECT id FROM t WHERE v = hashint8extended($id, 1)",
				"SELECT id FROM t WHERE v = hashint8extended($id, 1) + 1",
				"SELECT id FROM t WHERE w BETWEEN -$id AND 5 - $id",
				"SELECT id FROM t WHERE w > -$id AND s = 'key $id'",
				"SELECT id FROM t WHERE p <@ box(point(0, $id - 20), point(999, $id))")
		} 1 .. 8 ];
}

sub verify
{
	my ($name, $where) = @_;

	$where ||= $node;
	is($where->safe_psql('postgres',
			"SELECT count(rencoder_index_check(i, true))
			FROM unnest('{t_v,t_w,t_p}'::regclass[]) i"), 3, "$name: sound");
	compare_many_with_seqscan($where, 'postgres', queries(), $name);
	return;
}

#
# Loads, so many rows at a time, between so many queries, until the states of ranges are as wanted.
# It waits for a worker that is late.
#
sql(qq{CREATE PROCEDURE load_until(wanted text, n int, queries int) LANGUAGE plpgsql AS \$\$
	DECLARE
		patience timestamptz := clock_timestamp() + $patience * interval '1 s';
		found bigint;
		s states;
		done bool;
	BEGIN
		PERFORM set_config('enable_seqscan', 'off', false), nextval('t_id_seq');
		LOOP
			SELECT * INTO s FROM states;
			EXECUTE 'SELECT ' || wanted || ' FROM (SELECT (\$1).*) s' INTO done USING s;
			EXIT WHEN done;
			IF clock_timestamp() > patience THEN
				RAISE EXCEPTION 'states of ranges: %', s;
			END IF;
			IF s.unsummarized < 64 THEN
				PERFORM grow(n);
			END IF;
			FOR q IN 1 .. queries LOOP
				SELECT count(*) INTO found FROM t WHERE v = q;
			END LOOP;
			COMMIT;
			PERFORM pg_sleep(0.01);
			COMMIT;
		END LOOP;
	END \$\$});

sub load_until
{
	my ($name, $wanted, $n, $queries) = @_;

	finish_sql(start_sql($node, "CALL load_until('$wanted', $n, $queries)"), $name);
	return;
}

# Ranges that are full are among them; a query of a row of the last moment is told where it is.
load_until('the tail is noted while it grows', 'noted >= 9 AND unsummarized = 0', 5, 30);
verify('noted by the worker');
my $row = sql('SELECT hashint8extended(max(id) - 30, 1) FROM t');
is(sql("SELECT pages <= 3 AND unsummarized = 0 FROM rencoder_candidates('t_v', $row, $row)"),
	't', 'a query for one of the last rows is told its page');

# Old snapshots on a standby, then what it is when it goes on alone.
wait_for_standby($node, $standby);
verify('standby', $standby);

#
# A load comes to the noted ranges that are there, and hardly to others, though scans have paid for
# ranges behind it: what is noted is complete by then.  Entries are records of its transaction; each
# index may get those of the rows of 64 pages, of some 21 rows.
#
sql("SELECT setval('t_id_seq', 100000)");
sql('CREATE EXTENSION pg_walinspect');
my $lsn = sql('SELECT pg_current_wal_insert_lsn()');
my $xid = sql(q{BEGIN; DO $$ BEGIN PERFORM nextval('t_id_seq'), grow(40000); END $$;
	SELECT pg_current_xact_id()::xid; COMMIT});
cmp_ok(sql("SELECT count(*) FROM pg_get_wal_records_info('$lsn', pg_current_wal_flush_lsn())
	WHERE resource_manager = 'Generic' AND xid::text = '$xid'"),
	'<', 3 * 64 * 22, 'few rows of a load come to noted ranges');
verify('after a load');

#
# Behind a load that nobody asks about the worker notes ranges for what was asked before, if it was
# enough; else they get filters.  A worker that is new to the index takes it to have paid for a
# group and one range, and for no more.  Eight ranges of a load could be paid for as not full.
#
sub is_noted_behind
{
	my ($name) = @_;

	load_until("$name: a load", 'noted >= 20 OR filtered > 0', 25, 0);
	is(sql('SELECT filtered FROM states'), '0', $name);
	return;
}

sql('SELECT rencoder_compact($$t_v$$)');
$node->restart;
cmp_ok(sql(q{SELECT scans FROM rencoder_index_stats('t_v')}), '>=', 8, 'the index was asked');
is_noted_behind('a new worker notes behind a load');
load_until('more is not paid for', 'filtered > 0', 100, 0);

# To one that knows it, queries pay for ranges that will come, where there is no tail to be read.
sql('SELECT rencoder_compact($$t_v$$)');
sql(q{SET enable_seqscan = off;
	DO $$
	DECLARE
		found bigint;
	BEGIN
		FOR q IN 1 .. 300 LOOP
			SELECT count(*) INTO found FROM t WHERE v = -q;
		END LOOP;
	END $$;
	SELECT scans FROM rencoder_index_stats('t_v')});
my $asked = sql('SELECT clock_timestamp()');
ok($node->poll_query_until('postgres', "SELECT count(*) = count(*) FILTER (WHERE
	query LIKE '%\"t_v\"%' AND query_start > '$asked')
	FROM pg_stat_activity WHERE backend_type = 'rencoder worker'"),
	'the worker looks, or has gone');
is_noted_behind('it notes behind another load');
verify('noted behind a load');

#
# Scans that read much of the tail are counted at once, though their session asks no more.  Four
# ranges are too few to be noted.
#
sql(q{
	CREATE TABLE small (v int8, filler text) WITH (fillfactor = 10, autovacuum_enabled = off);
	ALTER TABLE small ALTER filler SET STORAGE plain;
	INSERT INTO small SELECT i, repeat('x', 1000) FROM generate_series(1, 1100) i;
	CREATE INDEX small_v ON small USING rencoder (v) WITH (pages_per_range = 512, storage = run);
	INSERT INTO small SELECT i, repeat('x', 1000) FROM generate_series(1, 700) i;
	CREATE TABLE enough (why text);
});
my $reader = start_sql($node, qq{SET enable_seqscan = off;
	DO \$\$
	DECLARE
		patience timestamptz := clock_timestamp() + 2 * $patience * interval '1 s';
		found bigint;
	BEGIN
		FOR q IN 1 .. 10 LOOP
			SELECT count(*) INTO found FROM small WHERE v = -q;
			PERFORM pg_sleep(0.006);
		END LOOP;
		WHILE clock_timestamp() < patience AND NOT EXISTS (SELECT FROM enough) LOOP
			PERFORM pg_sleep(0.01);
		END LOOP;
	END \$\$});
ok($node->poll_query_until('postgres', q{SELECT scans >= 2 FROM rencoder_index_stats('small_v')}),
	'scans of the tail are counted at once');
sql('INSERT INTO enough SELECT $$counted$$');
finish_sql($reader, 'the reader ends');

#
# CREATE INDEX CONCURRENTLY beside it, TRUNCATE, and a table that is empty.
#
sql('REINDEX INDEX CONCURRENTLY t_p');
verify('reindexed');
sql(q{SELECT rencoder_note_tail(i) FROM unnest('{t_v,t_w,t_p}'::regclass[]) i});
verify('noted again');
sql(q{BEGIN; TRUNCATE t; SELECT nextval('t_id_seq'), grow(1000); SELECT rencoder_note_tail('t_v');
	SELECT grow(100); COMMIT; SELECT rencoder_note_tail('t_v')});
verify('truncated');
sql(q{SELECT nextval('t_id_seq'), grow(2000); SELECT rencoder_note_tail('t_w');
	BEGIN; SELECT grow(200); SAVEPOINT a; UPDATE t SET v = v + 1 WHERE id % 3 = 0; ROLLBACK TO a;
	UPDATE t SET w = w + 1 WHERE id % 3 = 1; COMMIT});
verify('subtransactions');
wait_for_standby($node, $standby);
verify('standby, truncated', $standby);

#
# A delta that noted ranges need.
#
sql('ALTER INDEX t_v SET (autosummarize = off); SELECT rencoder_compact($$t_v$$)');
sql(q{SELECT nextval('t_id_seq'), grow(3000); SELECT rencoder_note_tail('t_v')});
is(sql(q{SELECT count(*) > 0 FROM rencoder_runs('t_v') WHERE kind = 'delta'}), 't', 'a delta');
wait_for_standby($node, $standby);
$node->stop;
$standby->promote;
($node, $standby) = ($standby, $node);
verify('promoted');
sql(q{SELECT nextval('t_id_seq'), grow(500); SELECT rencoder_note_tail(i)
	FROM unnest('{t_v,t_w,t_p}'::regclass[]) i});
verify('promoted, noted');
sql('VACUUM t');
verify('promoted, vacuumed');

# Pages of a small run are logged without the zeros behind what is on them.
sql(q{CREATE TABLE tiny AS SELECT i AS id, hashint4(i) AS v FROM generate_series(1, 3000) i;
	CREATE INDEX tiny_v ON tiny USING rencoder (v) WITH (pages_per_range = 1, autosummarize = off);
	UPDATE tiny SET v = 5 WHERE id % 2 = 0});
$lsn = sql('SELECT pg_current_wal_insert_lsn()');
sql(q{SELECT rencoder_compact('tiny_v'); SELECT pg_logical_emit_message(true, 'rencoder', '')});
cmp_ok(sql("SELECT count(*) FROM pg_get_wal_records_info('$lsn', pg_current_wal_flush_lsn())
	WHERE resource_manager = 'XLOG' AND record_type = 'FPI' AND record_length < 4096"),
	'>=', 3, 'images of a small run are small');

# Of t_w, which has no base run yet, all rows are in deltas: the first in the list goes (offsets:
# src/store/meta.h, run_format.h).
my $path = index_path($node, 't_w');
$node->stop;
damage_file($path, sub { return poke($_[0], 0, 6336 + 6, "\3"); });
$node->start;
my (undef, undef, $err) =
  $node->psql('postgres', q{SELECT rencoder_index_check('t_w', true)});
like($err, qr/has key 0x[0-9a-f]+ of column 1, which a query does not find/,
	'rencoder_index_check: a delta is missing');
$node->stop;
done_testing();
