# The WAL rule of facts (INV-16): a page of facts reaches the disk after all WAL that its facts rely
# on.  Ranges are summarized, facts are made of them, and the pages of facts, nothing else, are
# driven out of the buffers.  Then the server crashes, and rows come with the keys that the facts
# deny.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderDamage;
use RencoderTest;
use Test::More;

# Nobody flushes WAL or writes pages but who needs a buffer.  Hints log nothing.
my $node = new_node('main', conf => <<~'CONF');
	shared_buffers = 8MB
	wal_buffers = 16MB
	synchronous_commit = off
	bgwriter_lru_maxpages = 0
	checkpoint_timeout = 1h
	autovacuum = off
	rencoder.sample_rate = 0
CONF

$node->safe_psql('postgres', <<~'SQL');
	CREATE EXTENSION pageinspect;
	CREATE TABLE other (pad text) WITH (autovacuum_enabled = off, fillfactor = 10);
	ALTER TABLE other ALTER pad SET STORAGE plain;
	INSERT INTO other SELECT repeat('x', 7000) FROM generate_series(1, 3000);
	-- Drives pages out of the buffers; those of the index stay in use, but for these.
	CREATE FUNCTION read_others(blocks int[]) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		FOR i IN 0 .. 49 LOOP
			PERFORM get_raw_page('f_a', n) FROM generate_series(0,
				pg_relation_size('f_a') / 8192 - 1) n WHERE n <> ALL (blocks);
			PERFORM get_raw_page('other', n) FROM generate_series(60 * i, 60 * i + 59) n;
		END LOOP;
	END $$;
	CREATE TABLE pool AS
		SELECT k, hashint8extended(k, 7) >> 20 AS key FROM generate_series(1, 100) k;
	CREATE FUNCTION rows_of(lookup int8, by_index bool) RETURNS int8 LANGUAGE plpgsql AS $$
	DECLARE
		n int8;
	BEGIN
		PERFORM set_config('enable_seqscan', (NOT by_index)::text, true),
			set_config('enable_bitmapscan', by_index::text, true),
			set_config('enable_indexscan', 'off', true);
		EXECUTE format('SELECT count(*) FROM f WHERE a = %s', lookup) INTO n;
		RETURN n;
	END $$;
	CREATE FUNCTION ask_all(by int DEFAULT 0) RETURNS int8 LANGUAGE sql AS
		$$ SELECT sum(rows_of(key + by, true)) FROM pool $$;
	-- Until WAL ends where a page of it does: its position is behind the header of the next one.
	CREATE FUNCTION fill_wal_page() RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		at int;
	BEGIN
		FOR less IN 40 .. 1000 LOOP
			at := (pg_current_wal_insert_lsn() - '0/0') % 8192;
			EXIT WHEN at = 24;
			PERFORM pg_logical_emit_message(false, '',
				repeat('x', greatest(8192 - at - less, 100)));
		END LOOP;
	END $$;
SQL

# Pages of four rows, which the index has from the beginning, and small rows behind them.
sub create_table
{
	my ($storage, $pages) = @_;

	$node->safe_psql('postgres', <<~"SQL");
		DROP TABLE IF EXISTS f;
		CREATE TABLE f (id int, a int8, pad text) WITH (autovacuum_enabled = off);
		ALTER TABLE f ALTER pad SET STORAGE plain;
		INSERT INTO f SELECT -i, hashint8extended(i, 1) >> 20, repeat('x', 1900)
			FROM generate_series(1, 4 * $pages) i;
		ALTER TABLE f SET (fillfactor = 50);
		CREATE INDEX f_a ON f USING rencoder (a)
			WITH ($storage, pages_per_range = 1, autosummarize = off);
		SELECT ask_all(), ask_all(), ask_all();
		INSERT INTO f SELECT i, hashint8extended(i, 2) >> 20 FROM generate_series(1, 5000) i;
		SELECT count(*) FROM f;
	SQL
	return;
}

# Facts of the small rows' pages in an image of a page.
sub new_facts
{
	my ($pages, $data, $block) = @_;

	return grep { unpack('V', peek($data, $block, 32 * $_ + 24, 4)) >= $pages } 0 .. 251;
}

# The same of the file.
sub facts_on_disk
{
	my ($pages, $path) = @_;
	my $data = slurp_file($path);

	return scalar map { new_facts($pages, \$data, $_) } pages_of_type(\$data, 'facts');
}

# Who would flush WAL.
sub stop_others
{
	my ($name) = @_;
	my @pids = split /\n/, $node->safe_psql('postgres', 'SELECT pid FROM pg_stat_activity '
		  . "WHERE backend_type IN ('walwriter', 'background writer', 'checkpointer')");

	is(kill('STOP', @pids), 3, "$name: others are stopped");
	return;
}

sub crash_after
{
	my ($name, $storage, $pages, $maintenance) = @_;

	create_table($storage, $pages);
	# Of catalogs, too, so that nothing is left to prune, which would be logged.
	$node->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP off); CHECKPOINT');
	my $path = index_path($node, 'f_a');
	my $file = slurp_file($path);
	my @facts = pages_of_type(\$file, 'facts');
	my $list = join ',', @facts;
	is(@facts, 4, "$name: there are pages of facts");
	stop_others($name);
	my ($lsn, $flushed, @images) = split /\n/, $node->safe_psql('postgres', <<~"SQL");
		SELECT $maintenance AS n \\gset
		SELECT pg_current_wal_insert_lsn() AS lsn \\gset
		SELECT :'lsn';
		SELECT pg_current_wal_flush_lsn() >= :'lsn';
		SELECT ask_all() + ask_all() + ask_all() AS n \\gset
		SELECT encode(get_raw_page('f_a', n), 'hex') FROM unnest(ARRAY[$list]) n;
	SQL
	my $new = map { my $image = pack 'H*', $_; new_facts($pages, \$image, 0) } @images;

	is($flushed, 'f', "$name: the summary is not flushed yet");
	cmp_ok($new, '>', 20, "$name: there are facts that rely on it");
	for (1 .. 100)
	{
		last if facts_on_disk($pages, $path) == $new;
		$node->safe_psql('postgres', "SELECT read_others(ARRAY[$list])");
	}
	is(facts_on_disk($pages, $path), $new, "$name: the pages of facts are written");
	is($node->safe_psql('postgres', "SELECT pg_current_wal_flush_lsn() >= '$lsn'"), 't',
		"$name: so is the WAL that they rely on");
	$node->stop('immediate');
	$node->start;
	$node->safe_psql('postgres', <<~'SQL');
		UPDATE f SET a = key FROM pool WHERE id > 0 AND k = 1 + id % 100;
		SELECT rencoder_maintain_index('f_a');
	SQL
	is($node->safe_psql('postgres', <<~'SQL'), '', "$name: all rows are found");
		SELECT ask_all() AS n \gset
		SELECT format('%s: %s, not %s', k, by_index, by_heap) FROM pool,
			LATERAL (SELECT rows_of(key, true) AS by_index, rows_of(key, false) AS by_heap) AS rows
		WHERE by_index <> by_heap;
	SQL
	my ($ret, $out, $err) = $node->psql('postgres', "SELECT rencoder_index_check('f_a', true)");
	is($err, '', "$name: the index is sound");
	return;
}

my $run = 'storage = run, resolution = pages, bits_per_key = 8';

crash_after('pages behind the frontier', $run, 1200, "rencoder_maintain_index('f_a')");
crash_after('a run', $run, 1200, "rencoder_compact('f_a')");

# A page of facts that relies on all of a page of WAL, and not on the header of the next one.
sub fill_wal
{
	create_table($run, 1200);
	$node->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP off); CHECKPOINT');
	my $file = slurp_file(index_path($node, 'f_a'));
	my $list = join ',', pages_of_type(\$file, 'facts');

	stop_others('end of a page');
	my ($ret, $out, $err) = $node->psql('postgres', <<~"SQL");
		SELECT ask_all(1) AS n \\gset
		SELECT fill_wal_page() AS n \\gset
		SELECT ask_all(1) AS n \\gset
		SELECT (lsn - '0/0') % 8192 FROM page_header(get_raw_page('f_a', (ARRAY[$list])[1]));
		SELECT count(read_others(ARRAY[$list]));
	SQL
	is($err, '', 'end of a page: facts are written');
	is($out, "0\n1", 'end of a page: they rely on WAL up to there');
	return;
}

fill_wal();
$node->stop('immediate');
done_testing();
