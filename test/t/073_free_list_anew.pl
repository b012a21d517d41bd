# The list of free pages is written anew when the end of the file is cut off (INV-21), perhaps onto
# pages of the list that was: wherever recovery ends, no page is named twice.
#
# The list has two pages, of which the last is the first page that is free then.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderDamage;
use RencoderTest;
use Test::More;

my $node = new_node('main',
	streaming => 1,
	conf => "ignore_checksum_failure = on\nautovacuum = off\nwal_keep_size = '1GB'\n");

sub query
{
	return $node->safe_psql('postgres', $_[0]);
}

# Changes rows, and makes runs anew from what is free.
my $use = join(' ',
	map { "UPDATE t SET v = v + 1 WHERE id % 7 = $_; SELECT rencoder_compact('t_v');" } 1 .. 3);

query("CREATE EXTENSION pg_walinspect;
	CREATE TABLE t (id int, v int8) WITH (fillfactor = 40);
	INSERT INTO t SELECT i, i * 7919 % 20011 FROM generate_series(1, 20000) i;
	CREATE INDEX t_v ON t USING rencoder (v) WITH (autosummarize = off, pages_per_range = 1);
	UPDATE t SET v = v + 1 WHERE id % 7 = 0; SELECT rencoder_compact('t_v'); VACUUM t");
my $path = index_path($node, 't_v');

# Behind the index, which has no free page, an empty page of a list; one before it in the list,
# which names pages at the end; and these.
$node->stop;
damage_file(
	$path,
	sub {
		my ($data) = @_;
		my $n      = length($$data) / $BLCKSZ;
		my $run    = first_page($data, 'run');
		my $page   = substr($$data, $run * $BLCKSZ, $BLCKSZ - 8);
		my $opaque = substr($$data, ($run + 1) * $BLCKSZ - 4, 4);
		my $empty  = substr($page, 0, $PAYLOAD) . "\0" x ($BLCKSZ - 8 - $PAYLOAD);

		substr($empty, 12, 2) = pack('v', $BLCKSZ - 8);    # pd_lower

		is(scalar(pages_of_type($data, 'free')), 0, 'no page is free');
		$$data .= $empty . pack('Vvv', $_, unpack('v', $opaque), 0xFFB3) foreach $n, $n + 1;
		$$data .= $page . pack('V', $_) . $opaque foreach $n + 2 .. $n + 205;
		poke($data, $n + 1, 0, pack('VV', $n, 3));
		poke($data, $n + 1, 8, pack('V*', $n + 3, 1, $n + 5, 1, $n + 7, 199));
		poke($data, 0, 28, pack('V', $n + 1));
	});
$node->start;
is(query("SELECT free_extents FROM rencoder_metapage('t_v')"),
	3, 'the list is the one that was made');
query('CHECKPOINT');
$node->backup('later', backup_options => ['--no-verify-checksums']);

my $before = $node->lsn('insert');
my $long   = -s $path;

query('VACUUM t');
cmp_ok(-s $path, '<', $long / 2, 'the file is shorter');

# Those of the metapage, and the truncation.
my @targets = split /\n/, query(
	"SELECT start_lsn FROM pg_get_wal_records_info('$before', '" . $node->lsn('flush') . "')
		WHERE resource_manager = 'Generic' AND block_ref ~ 'blk 0(\\D|\$)'
			OR resource_manager = 'Storage' AND record_type = 'TRUNCATE' ORDER BY 1");

cmp_ok(scalar @targets, '>=', 2, 'records of it');
shift @targets while @targets > 3;
query(q{SELECT pg_logical_emit_message(true, 'rencoder', '')});
foreach my $target (@targets)
{
	my $recovered = PostgreSQL::Test::Cluster->new('recovered_' . ($target =~ s/\W/_/r));

	$recovered->init_from_backup($node, 'later', has_streaming => 1);
	recover_to($recovered, $target, 'recovery_target_inclusive = off');
	$recovered->safe_psql('postgres', "SELECT rencoder_index_check('t_v', true); $use VACUUM t");
	is($recovered->safe_psql('postgres', "SELECT rencoder_index_check('t_v', true)"),
		'', "before $target: sound, and stays so");
	compare_with_seqscan($recovered, 'postgres', 'SELECT id FROM t WHERE v BETWEEN 700 AND 720');
	$recovered->stop;
	$recovered->clean_node;
}
done_testing();
