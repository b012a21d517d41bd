# Free extents of an index that are too many for a page: the list has a second page, and a third one
# when the first is full.  Space is taken from all and comes back.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderDamage;
use RencoderTest;
use Test::More;

# Extents of a page (src/store/space.h).
my $MOST = int(($BLCKSZ - $PAYLOAD - 8 - 8) / 8);

my $node = new_node('main', conf => "ignore_checksum_failure = on\nautovacuum = off\n");
my ($index, $extents) = ('t_v', 0);

sub query
{
	return $node->safe_psql('postgres', $_[0]);
}

# Rows that are late, and pages that are read again: other runs take the place of those there are.
sub change
{
	my ($rest) = @_;

	query("UPDATE t SET v = v + 1 WHERE id % 7 = $rest; SELECT rencoder_compact('$index')");
	$extents = query("SELECT free_extents FROM rencoder_metapage('$index')");
	query("SELECT rencoder_index_check('$index', true)");
	compare_with_seqscan($node, "postgres", "SELECT id FROM t WHERE v BETWEEN 700 AND 720");
	return;
}

# Puts pages behind the index, of which every other one is free: as many as one page of the list can
# name.  They look like pages of runs that are gone.
sub fill_list
{
	my ($data) = @_;
	my ($list) = pages_of_type($data, 'free');
	my $blocks = length($$data) / $BLCKSZ;
	my $page   = substr($$data, first_page($data, 'run') * $BLCKSZ, $BLCKSZ - 8);
	my $n      = unpack('V', peek($data, $list, 4, 4));
	my $opaque = substr($$data, (first_page($data, 'run') + 1) * $BLCKSZ - 4, 4);

	foreach my $i ($n .. $MOST - 1)
	{
		my $block = $blocks + 2 * ($i - $n);

		$$data .= $page . pack('V', $block) . $opaque . $page . pack('V', $block + 1) . $opaque;
		poke($data, $list, 8 + 8 * $i, pack('VV', $block, 1));
	}
	poke($data, $list, 4, pack('V', $MOST));

	# Behind them another page of the list, which names the page behind it.
	my $second = $blocks + 2 * ($MOST - $n);
	my $free   = substr($$data, $list * $BLCKSZ, $BLCKSZ);

	$$data .= substr($free, 0, $BLCKSZ - 8) . pack('V', $second) . substr($free, $BLCKSZ - 4);
	$$data .= $page . pack('V', $second + 1) . $opaque;
	poke($data, $second, 0, pack('VV', 0, 1) . pack('VV', $second + 1, 1));
	poke($data, $second, 16, "\0" x (8 * ($MOST - 1)));
	poke($data, $list, 0, pack('V', $second));
	return;
}

query("CREATE TABLE t (id int, v int8) WITH (fillfactor = 40);
	INSERT INTO t SELECT i, i * 7919 % 20011 FROM generate_series(1, 20000) i;
	CREATE INDEX $index ON t USING rencoder (v)
		WITH (autosummarize = off, pages_per_range = 1)");
change(0);
cmp_ok($extents, '>', 0, 'there are free pages');

my $path = index_path($node, $index);

$node->stop;
damage_file($path, \&fill_list);
$node->start;
is(query("SELECT free_extents FROM rencoder_metapage('$index')"), $MOST + 1, 'a page is full');
is(query("SELECT rencoder_index_check('$index')"), '', 'the list has two pages');
change($_) foreach 1 .. 4;
cmp_ok($extents, '>', $MOST / 2, 'there are many free extents');

query('VACUUM t');
query("SELECT rencoder_index_check('$index', true)");
$node->stop;

my $data = slurp_file($path);

cmp_ok(scalar(pages_of_type(\$data, 'free')), '>', 2, 'a third page heads the list');

done_testing();
