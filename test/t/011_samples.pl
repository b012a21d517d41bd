# Query samples are hints: they survive what they can survive, and whatever
# becomes of their pages, no query fails or returns other rows for it.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderTest;
use Test::More;

my $BLCKSZ      = 8192;
my $PAYLOAD     = 24;
my $PAGE_ID     = 0xFFB6;    # src/store/page.h
my $PAGES       = 4;         # src/store/hint_pages.h
my $ENTRIES     = 8;         # where they begin in the payload
my $ENTRY       = 24;
my $SAMPLES_ROOT = 7776;     # in the metapage's payload, behind 64 runs (src/store/meta.h)

my $RECORD = 'SET rencoder.sample_rate = 1; SET enable_seqscan = off; SET enable_indexscan = off;'
  . ' SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_material = off;';

# Seven rows a page, a thousand pages and some.
my $TABLE = q{
	CREATE TABLE t (id int, v int8, filler text);
	ALTER TABLE t ALTER filler SET STORAGE plain;
	CREATE FUNCTION fill(n int, seed int) RETURNS void LANGUAGE sql AS $$
		INSERT INTO t SELECT i, hashint8extended(i, seed), repeat('x', 1000)
			FROM generate_series(1, n) i
	$$;
	SELECT fill(7500, 1);
	CREATE INDEX t_v ON t USING rencoder (v) WITH (storage = filter);
	VACUUM ANALYZE t};

# Scans for keys $first .. $last (small numbers, which no row has).
sub scan_for
{
	my ($node, $first, $last) = @_;

	return $node->safe_psql('postgres', "$RECORD
		DO \$\$
		DECLARE
			n int := 0;
		BEGIN
			FOR i IN $first .. $last LOOP
				PERFORM FROM t WHERE v = i;
				n := n + FOUND::int;
			END LOOP;
			PERFORM set_config('test.n', n::text, false);
		END \$\$;
		SELECT current_setting('test.n')");
}

sub samples
{
	my ($node) = @_;

	return $node->safe_psql('postgres',
		"SELECT source, lo_key, hi_key FROM rencoder_query_samples('t_v') ORDER BY 1, 2, 3");
}

sub count_samples
{
	my ($node) = @_;

	return $node->safe_psql('postgres', "SELECT count(*) FROM rencoder_query_samples('t_v')");
}

# Those of keys that scan_for asks for, from $first on.
sub count_samples_from
{
	my ($node, $first) = @_;
	my $key = sprintf '0x8%015x', $first;

	return $node->safe_psql('postgres',
		"SELECT count(*) FROM rencoder_query_samples('t_v') WHERE lo_key >= '$key'");
}

sub check_index
{
	my ($node, $name) = @_;
	my ($ret, $out, $err) =
	  $node->psql('postgres', "SELECT rencoder_index_check('t_v', true)");

	is($err, '', "$name: the index is sound");
	return;
}

# Records while it compares.
sub compare
{
	my ($node, $name) = @_;

	$node->safe_psql('postgres', 'ALTER SYSTEM SET rencoder.sample_rate = 1');
	$node->reload;
	compare_many_with_seqscan($node, 'postgres',
		[ map { "SELECT id FROM t WHERE v = hashint8extended(" . rnd_between(1, 9000)
		  . ', 1)' } 1 .. 30 ],
		$name);
	$node->safe_psql('postgres', 'ALTER SYSTEM SET rencoder.sample_rate = 0');
	$node->reload;
	return;
}

#
# Replication: pages are logged whole or not at all, so that replay agrees
# with them (wal_consistency_checking) whatever was not logged.
#
my ($primary, $standby) = start_primary_with_standby(
	conf => "wal_consistency_checking = 'generic'\nrencoder.sample_rate = 0\n");
$primary->safe_psql('postgres', $TABLE);
foreach my $round (1 .. 5)
{
	scan_for($primary, $round * 1000, $round * 1000 + 300);
	$primary->safe_psql('postgres',
		"SELECT rencoder_add_query_sample('t_v', -i, -i) "
		  . "FROM generate_series($round * 100, $round * 100 + 20) i");
	$primary->safe_psql('postgres', 'CHECKPOINT') if $round == 3;
	$primary->safe_psql('postgres', "SELECT fill(200, $round + 10); VACUUM t");
}
wait_for_standby($primary, $standby);
check_index($_, $_->name) foreach ($primary, $standby);
cmp_ok(count_samples($standby), '>=', 100, 'the standby has what was added');
unlike(slurp_file($standby->logfile), qr/inconsistent page found/,
	'no page was found different');

my $before = samples($standby);
is(scan_for($standby, 90000, 90300), 0, 'scans on the standby');
is(samples($standby), $before, 'record nothing');
my ($ret, $out, $err) =
  $standby->psql('postgres', "SELECT rencoder_add_query_sample('t_v', 1, 2)");
like($err, qr/ERROR:  recovery is in progress/, 'and nothing can be added there');
$primary->stop;
$standby->promote;
scan_for($standby, 90000, 90300);
# A scan leaves out what would have to wait: the checkpoint of the promotion may be writing
# the page.
cmp_ok(count_samples_from($standby, 90000), '>=', 1, 'a promoted standby records');
check_index($standby, 'promoted');
$standby->stop;

#
# Restart and crash, with checksums, which are computed of hints too.
#
# No checkpoint but those of the test: each has page images logged once more.  Nor does
# anybody else write a page, whose lock a scan would not wait for: all that one session
# asks for is recorded, as long as it fits into one page.
my $SCANS = 300;
my $node = new_node('checksums',
	conf => "rencoder.sample_rate = 0\ncheckpoint_timeout = '1h'\nbgwriter_lru_maxpages = 0\n");
if ($node->safe_psql('postgres', 'SHOW data_checksums') eq 'off')
{
	$node->stop;
	command_ok([ 'pg_checksums', '--enable', '--no-sync', '-D', $node->data_dir ],
		'checksums are enabled');
	$node->start;
}
$node->safe_psql('postgres', $TABLE);

sub verify_checksums
{
	my ($name) = @_;

	$node->stop;
	command_ok([ 'pg_checksums', '--check', '-D', $node->data_dir ],
		"$name: checksums are right");
	$node->start;
	return;
}

# What a scan logs of them, since a checkpoint: each page at most once.
$node->safe_psql('postgres', 'CREATE EXTENSION pg_walinspect; CHECKPOINT');
my $start_lsn = $node->safe_psql('postgres', 'SELECT pg_current_wal_insert_lsn()');
scan_for($node, 1, $SCANS);
my $end_lsn = $node->safe_psql('postgres', 'SELECT pg_switch_wal()');
$node->safe_psql('postgres', "SELECT pg_logical_emit_message(true, 'rencoder', '')");
my $file = $node->safe_psql('postgres', "SELECT split_part(pg_relation_filepath('t_v'), '/', 3)");
my $images = $node->safe_psql('postgres',
	"SELECT count(*) FROM pg_get_wal_records_info('$start_lsn', '$end_lsn') "
	  . "WHERE record_type = 'FPI_FOR_HINT' AND block_ref LIKE '%/$file %'");
cmp_ok($images, '>=', 1, 'with checksums a scan may log a page');
cmp_ok($images, '<=', $PAGES + 1, 'each page, and that of counts, once after a checkpoint');
is(count_samples($node), $SCANS, 'all scans are recorded');

$before = samples($node);
$node->restart;
is(samples($node), $before, 'samples survive a restart');
$node->safe_psql('postgres', 'CHECKPOINT');
scan_for($node, 50001, 50100);
$node->stop('immediate');
$node->start;
cmp_ok(count_samples($node), '>=', $SCANS, 'and a crash, those of before the last checkpoint');
check_index($node, 'after a crash');
scan_for($node, 60001, 60100);
verify_checksums('after a crash and more');
compare($node, 'after a crash');
check_index($node, 'after all');

# A page whose checksum is wrong.
my $path = $node->data_dir . '/'
  . $node->safe_psql('postgres', "SELECT pg_relation_filepath('t_v')");

# Blocks of sample pages.
sub sample_pages
{
	my ($data) = @_;

	my (undef, @page) = grep { unpack('v', substr($$data, ($_ + 1) * $BLCKSZ - 2, 2)) == $PAGE_ID }
	  0 .. length($$data) / $BLCKSZ - 1;

	return @page;
}

# change_file(NODE, PATH, SUB): SUB changes the content while the server is down.
sub change_file
{
	my ($server, $file, $change) = @_;

	$server->stop;
	my $data = slurp_file($file);
	$change->(\$data);
	open my $handle, '>:raw', $file or die "$file: $!";
	print $handle $data;
	close $handle;
	$server->start;
	return;
}

change_file($node, $path, sub {
	my ($data) = @_;

	substr($$data, $_ * $BLCKSZ + 1000, 4) ^= "\1\2\3\4" foreach sample_pages($data);
});
($ret, $out, $err) = $node->psql('postgres',
	"$RECORD SELECT count(*) FROM generate_series(1, 50) i, LATERAL (SELECT FROM t WHERE v = i) x");
is("$ret $out", '0 0', 'pages with wrong checksums do not stop a scan');
like($err, qr/WARNING:  (page verification failed|invalid page)/, 'which warns');
compare($node, 'with wrong checksums');
$node->stop;

#
# Pages that are not what they should be.
#
$node = new_node('damaged', conf => "rencoder.sample_rate = 0\nignore_checksum_failure = on\n");
$node->safe_psql('postgres', $TABLE);
$node->safe_psql('postgres', "SELECT count(rencoder_add_query_sample('t_v', i, i)) "
  . "FROM generate_series(1, 3000) i");
my $full = count_samples($node);
my $per_page = $full / $PAGES;
is($per_page, int(($BLCKSZ - 32 - $ENTRIES) / $ENTRY), 'all slots are taken');
$path = $node->data_dir . '/'
  . $node->safe_psql('postgres', "SELECT pg_relation_filepath('t_v')");

# Entries: each byte counts.
change_file($node, $path, sub {
	my ($data) = @_;
	my ($block) = sample_pages($data);

	foreach my $byte (0 .. $ENTRY - 1)
	{
		my $offset = $block * $BLCKSZ + $PAYLOAD + $ENTRIES + $byte * $ENTRY + $byte;

		substr($$data, $offset, 1) ^= chr(rnd_between(1, 255));
	}
	# And where the next one goes.
	substr($$data, $block * $BLCKSZ + $PAYLOAD, 4) = "\377" x 4;
});
is(count_samples($node), $full - $ENTRY, 'damaged entries are ignored');
compare($node, 'with damaged entries');
check_index($node, 'damaged entries, which a crash may leave');

change_file($node, $path, sub {
	my ($data) = @_;
	my @block = sample_pages($data);

	# Garbage, a page of another type, an empty page.
	substr($$data, $block[0] * $BLCKSZ + $PAYLOAD, $BLCKSZ - 32) =
	  join '', map { chr rnd(256) } 1 .. $BLCKSZ - 32;
	substr($$data, $block[1] * $BLCKSZ, $BLCKSZ - 8) = substr($$data, 0, $BLCKSZ - 8);
	substr($$data, ($block[1] + 1) * $BLCKSZ - 2, 2) = pack('v', 0xFFB0);
	substr($$data, $block[2] * $BLCKSZ, $BLCKSZ) = "\0" x $BLCKSZ;
});
is(count_samples($node), $per_page, 'those of the sound page are left');
is(scan_for($node, 1, 100), 0, 'scans go on');
compare($node, 'with damaged pages');
($ret, $out, $err) = $node->psql('postgres', "SELECT rencoder_index_check('t_v')");
like($err, qr/is corrupted at block \d+\n.*Expected a hint page\./, 'the check finds them');
$node->safe_psql('postgres', "SELECT rencoder_add_query_sample('t_v', 1, 1) "
  . "FROM generate_series(1, 100)");
check_index($node, 'made anew by the next that is added');

# A reference to nowhere.
change_file($node, $path, sub {
	my ($data) = @_;

	substr($$data, $PAYLOAD + $SAMPLES_ROOT, 4) = pack('V', 1 << 30);
});
is(scan_for($node, 1, 100), 0, 'scans go on without sample pages');
is(count_samples($node), 0, 'there are none');
compare($node, 'without sample pages');
($ret, $out, $err) = $node->psql('postgres', "SELECT rencoder_index_check('t_v')");
like($err, qr/It refers to 4 pages from block 1073741824/, 'the check says so');
($ret, $out, $err) = $node->psql('postgres', "SELECT rencoder_add_query_sample('t_v', 1, 1)");
like($err, qr/is corrupted at block 0\n/, 'who adds one is told');
$node->safe_psql('postgres', 'REINDEX INDEX t_v');
check_index($node, 'REINDEX heals');
$node->safe_psql('postgres', "SELECT rencoder_add_query_sample('t_v', 1, 1)");
is(count_samples($node), 1, 'and there is room again');

$node->stop;

done_testing();
