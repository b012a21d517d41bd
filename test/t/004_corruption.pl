# Damaged pages: the error names index and block and says what to do, no query
# returns wrong rows, rencoder_index_check finds what is wrong, REINDEX heals.
#
# One index for each kind of damage, all alike; all damage is done in one stop
# of the server.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderDamage;
use RencoderTest;
use Test::More;

# Clusters of PostgreSQL 18 have checksums; we want to see our own errors.
my $node = new_node('main', conf => "ignore_checksum_failure = on\n");

# Offsets in a header's payload (src/store/group.h) and a directory
# entry (src/store/entry.h) of a one-column index.
my %HEADER = (
	group       => 0,
	attno       => 4,
	unused      => 6,
	config      => 8,
	nwindows    => 24,
	matrix      => 40,
	summarizing => 48,
	summarized  => 64,
	covered     => 80,
	flushing    => 96,
	always      => 112,
	has_null    => 144,
	min         => 160,
	max         => 1184,
	horizon     => 2208,
	cut         => 3232,
	run         => 3896,
	flushing_run => 3900,
	noted       => 3904);
my $HEADER_SIZE = 3920;
my %ENTRY = (
	size       => 96,
	header     => 0,
	flags      => 4,
	epoch      => 8,
	horizon    => 16,
	cut        => 24,
	run        => 32,
	min        => 40,
	config     => 56,
	matrix     => 88);

# The last window page of the growing group, whose last bands are not in use.
sub growing_page
{
	my ($data) = @_;
	my ($block, $base) = last_header($data);
	my ($start, $npages) = unpack('VV', peek($data, $block, $base + $HEADER{matrix}, 8));

	return $start + $npages - 1;
}

# The header of the first (sealed) and of the last (growing) group.
sub sealed_header { return first_page($_[0], 'header'); }

# The block of the latter, and where in its payload it begins: two groups share a page.
sub last_header
{
	my ($data) = @_;
	my %header;

	foreach my $block (pages_of_type($data, 'header'))
	{
		foreach my $base (0, $HEADER_SIZE)
		{
			my $group = unpack('V', peek($data, $block, $base + $HEADER{group}, 4));

			next if peek($data, $block, $base + $HEADER{summarized}, 16) eq "\0" x 16;
			$header{$group} = [ $block, $base ];
		}
	}
	return @{ $header{ (sort { $a <=> $b } keys %header)[-1] } };
}

sub poke_last
{
	my ($data, $field, $bytes, $offset) = @_;
	my ($block, $base) = last_header($data);

	return poke($data, $block, $base + $HEADER{$field} + ($offset || 0), $bytes);
}

sub poke_header
{
	my ($field, $bytes, $offset) = @_;

	return sub {
		my ($data) = @_;

		return poke($data, sealed_header($data), $HEADER{$field} + ($offset || 0), $bytes);
	};
}

sub poke_entry
{
	my ($field, $bytes) = @_;

	return poke_first('directory', $ENTRY{$field}, $bytes);
}

# The same in the configuration of the first header and of its entry.
sub poke_config
{
	my ($field, $bytes) = @_;

	return sub {
		my ($data) = @_;

		poke($data, first_page($data, 'directory'),
			$ENTRY{config} + $HEADER{$field} - $HEADER{config}, $bytes);
		return poke($data, sealed_header($data), $HEADER{$field}, $bytes);
	};
}

# The header is what the error names where the two disagree.
sub disagree
{
	my ($damage) = @_;

	return sub {
		my ($data) = @_;

		$damage->($data);
		return sealed_header($data);
	};
}

my $KEY       = qr/0x[0-9a-f]{16}/;
my $NOT_FOUND = qr/Row \(\d+,\d+\) has key $KEY of column 1, which a query does not find\./;

# Name => [column of the index, damage, what the check says].  The damage
# returns the block that the error must name, undef if any.
my %damage = (

	# Pages lost or in a wrong place.
	zero_meta      => [ 'v', zero_page('meta'),
		qr/Expected a metapage page\. The page is empty\./ ],
	zero_directory => [ 'v', zero_page('directory'),
		qr/Expected a directory page\. The page is empty\./ ],
	zero_header    => [ 'v', zero_page('header'),
		qr/Expected a group header page\. The page is empty\./ ],
	zero_windows   => [ 'v', zero_page('windows'),   qr/The page is empty\./ ],
	zero_free      => [ 'v', zero_page('free'),
		qr/Expected a free list page\. The page is empty\./ ],
	copied_windows => [ 'v', copy_page('windows', 'windows'),
		qr/The page belongs to another block\./ ],
	copied_header  => [ 'v', copy_page('header', 'header'),
		qr/The page belongs to another block\./ ],
	windows_header => [ 'v', copy_page('windows', 'header'),  qr/The page is of another type\./ ],
	header_windows => [ 'v', copy_page('header', 'windows'),  qr/The page is of another type\./ ],
	windows_meta   => [ 'v', copy_page('windows', 'meta'),    qr/The page is of another type\./ ],
	truncated      => [ 'v', sub {
			my ($data) = @_;

			substr($$data, length($$data) / 2) = '';
			return undef;
		}, qr/It refers to \d+ pages from block \d+; the index has \d+ blocks\./ ],

	# Metapage.
	magic      => [ 'v', sub { poke($_[0], 0, 0, pack('V', 1)) }, qr/magic/ ],
	rows       => [ 'v', sub { poke($_[0], 0, 12, pack('V', 511)) }, qr/geometry/ ],
	half_meta  => [ 'v', sub { poke($_[0], 0, 4096 - $PAYLOAD, "\0" x (4096 - 8)) },
		qr/The metapage has lost what it says of runs and the pending list\./ ],
	bits       => [ 'v', sub { poke($_[0], 0, 28, pack('V', 99)) },
		qr/option of the metapage is out of range/ ],
	free_root  => [ 'v', sub { poke($_[0], 0, 48, pack('V', 1 << 30)) },
		qr/It refers to 1 pages from block 1073741824/ ],
	direct     => [ 'v', sub { poke($_[0], 0, 52, pack('V', 1 << 30)) },
		qr/It refers to 1 pages from block 1073741824/ ],

	# INV-1, INV-2, INV-4: states and what they vouch for.
	both_states => [ 'v', poke_header('summarizing', "\1"), qr/both summarizing and summarized/ ],
	no_bounds   => [ 'v', poke_header('max', "\0" x 8), $NOT_FOUND ],
	no_storage  => [ 'few', sub {
			my ($data) = @_;

			poke($data, first_page($data, 'directory'), 2 * $ENTRY{size} + $ENTRY{matrix},
				"\0" x 8);
			return poke_last($data, 'matrix', "\0" x 8);
		}, qr/is summarized but has no storage/ ],
	lost_bits   => [ 'v', sub {
			my ($data) = @_;
			my $block = first_page($data, 'windows');

			poke($data, $block, 0, "\0" x 8160);
			return undef;
		}, $NOT_FOUND ],
	narrow      => [ 'v', sub {
			my ($data) = @_;
			my $block = sealed_header($data);

			return poke($data, $block, $HEADER{max} + 8 * 3,
				peek($data, $block, $HEADER{min} + 8 * 3, 8));
		}, $NOT_FOUND ],
	lost_null   => [ 'few', sub {
			my ($data) = @_;

			return poke($data, sealed_header($data), $HEADER{has_null}, "\0" x 16);
		}, qr/Row \(\d+,\d+\) has a null of column 1, which a query does not find\./ ],

	# INV-5: what generic WAL would drop.
	beyond      => [ 'v', sub { poke($_[0], growing_page($_[0]), 8159, "\1") },
		qr/A bit is set beyond the bands in use\./ ],
	lower       => [ 'v', sub {
			poke($_[0], growing_page($_[0]), 12 - $PAYLOAD, pack('v', 24 + 511)) },
		qr/free space pointers are wrong/ ],
	lower_meta  => [ 'v', sub { poke($_[0], 0, 12 - $PAYLOAD, pack('v', 24 + 510)) },
		qr/free space pointers are wrong/ ],

	# INV-6: directory and header.
	bounds      => [ 'v', disagree(poke_entry('min', "\377" x 8)),
		qr/has bounds outside those of the directory/ ],
	always      => [ 'v', poke_header('always', "\1"),
		qr/is always a candidate, which the directory does not say/ ],
	unsealed    => [ 'v', poke_header('summarized', "\0"),
		qr/sealed, but not all its ranges are summarized/ ],
	matrix      => [ 'v', disagree(poke_entry('matrix', pack('VV', 5, 5))),
		qr/disagree on the group's storage/ ],
	entry_flags => [ 'v', poke_entry('flags', "\377\377"), qr/unknown flags/ ],
	entry_run   => [ 'v', disagree(poke_entry('run', "\1")),
		qr/Header and directory disagree on the group's run/ ],
	entry_cut   => [ 'v', disagree(poke_entry('cut', "\1")),
		qr/Header and directory disagree on the group's run/ ],
	run         => [ 'v', poke_header('run', "\1"), qr/The group is sealed, but names a run/ ],
	cut         => [ 'v', poke_header('cut', pack('Q<', 1 << 40), 8),
		qr/A slice has the keys of pending pages to come/ ],
	covered     => [ 'v', poke_header('covered', "\1", 15),
		qr/The group has covered ranges, but no run/ ],
	flushing    => [ 'v', sub {
			my ($data) = @_;

			return poke_last($data, 'flushing', "\200", 15);
		}, qr/A range is being read for other storage, but is not summarized/ ],
	noted       => [ 'v', poke_header('noted', "\1"),
		qr/The group is sealed, but has noted ranges/ ],
	noted_new   => [ 'v', sub {
			my ($data) = @_;

			return poke_last($data, 'noted', "\200", 15);
		}, qr/A range is noted, but covered, or not summarized/ ],
	# INV-13: what is summarizing may be flushing for a run only.
	flushing_new => [ 'v', sub {
			my ($data) = @_;

			poke_last($data, 'summarizing', "\200", 15);
			return poke_last($data, 'flushing', "\200", 15);
		}, qr/A range is being read for other storage, but is not summarized/ ],
	flushing_run => [ 'v', poke_header('flushing_run', "\1"),
		qr/The group is read for a run that is not there/ ],
	other_group => [ 'v', poke_header('group', pack('V', 77)), qr/header is that of group 77/ ],

	# INV-7: epochs, extents.
	epoch  => [ 'v', poke_entry('epoch', pack('VV', 0, 1)), qr/future epoch/ ],
	overlap     => [ 'v', sub {
			my ($data) = @_;
			my $sealed = sealed_header($data);
			my ($start) = unpack('V', peek($data, $sealed, $HEADER{matrix}, 4));

			poke($data, first_page($data, 'free'), 4, pack('VVV', 1, $start + 1, 1));
			return $start + 1;
		}, qr/Blocks \d+ and \d+ both refer to it\./ ],
	free_count  => [ 'v', sub {
			my ($data) = @_;

			return poke($data, first_page($data, 'free'), 4, pack('V', 5000));
		}, qr/impossible number of extents/ ],
	free_beyond => [ 'v', sub {
			my ($data) = @_;

			return poke($data, first_page($data, 'free'), 4, pack('VVV', 1, 1 << 30, 1 << 20));
		}, qr/It refers to 1048576 pages from block 1073741824; the index has \d+ blocks\./ ],
	free_circle => [ 'v', sub {
			my ($data) = @_;
			my $block = first_page($data, 'free');

			poke($data, $block, 0, pack('V', $block));
			return undef;
		}, qr/circle|both refer to it/ ],
	no_windows  => [ 'v', poke_config('nwindows', "\0" x 4),
		qr/The group has storage but no filters\./ ],
	shape       => [ 'v', poke_config('config', "\377" x 16),
		qr/The shape of the filters is not valid:/ ],

	# INV-9: a sealed group carries the greatest trust horizon.
	horizon => [ 'v', poke_header('horizon', pack('VV', 0, 1)),
		qr/trust horizon beyond that of the directory/ ]);
my @names = sort keys %damage;

# Groups that have grown slice by slice, one that still grows, and a list of
# free pages.
$node->safe_psql('postgres',
	q{CREATE TABLE t (id int, v int8, few int4, filler text);
	ALTER TABLE t ALTER filler SET STORAGE plain});
$node->safe_psql('postgres',
	"CREATE INDEX $_ ON t USING rencoder ($damage{$_}[0]) "
	  . "WITH (autosummarize = off, pages_per_range = 1, storage = filter)")
  foreach @names;
$node->safe_psql('postgres',
	q{INSERT INTO t SELECT i, hashint8extended(i, 1), nullif(i % 29, 7), repeat('x', 200)
	FROM generate_series(1, 10000) i});
$node->safe_psql('postgres',
	"SELECT rencoder_summarize_range('$_', 0), rencoder_summarize_new_values('$_')")
  foreach @names;
$node->safe_psql('postgres', "SELECT rencoder_index_check('$_', true)")
  foreach @names;
my %path = map { $_ => index_path($node, $_) } @names;
my %block;

$node->stop;
$block{$_} = damage_file($path{$_}, $damage{$_}[1]) foreach @names;
$node->start;

# Only the index named is there to be used.
sub query_by_index
{
	my ($name, $where) = @_;
	my $others = join ', ', grep { $_ ne $name } @names;

	return $node->psql(
		'postgres', qq{
		BEGIN;
		DROP INDEX $others;
		SET LOCAL enable_seqscan = off;
		SELECT count(*) FROM t WHERE $where;
		ROLLBACK},
		on_error_stop => 1);
}

foreach my $name (@names)
{
	my ($column, undef, $says) = @{ $damage{$name} };
	my ($ret, $out, $err) =
	  $node->psql('postgres', "SELECT rencoder_index_check('$name', true)",
		extra_params => [ '-v', 'VERBOSITY=verbose' ]);
	my $where = defined $block{$name} ? $block{$name} : '\d+';

	like($err, qr/ERROR:  XX002: index "$name" is corrupted at block $where\n/,
		"$name: the check names index and block");
	like($err, $says, "$name: and what is wrong");
	like($err, qr/HINT:  REINDEX INDEX rebuilds the index from its table\./,
		"$name: and what to do");
}

# Damage to the structure must never lose rows silently: either the right
# answer or the error.  (Damage to the content of a sound page can.)
foreach my $name (grep { /^(zero|copied|windows|header|truncated|magic|rows)/ } @names)
{
	my $column = $damage{$name}[0];
	my $errors = 0;
	my $wrong  = 0;

	foreach my $round (1 .. 12)
	{
		my $id = rnd_between(1, 10000);
		my ($where, $truth) =
		  $column eq 'v'
		  ? ("v = hashint8extended($id, 1)", 1)
		  : ('few = ' . $id % 29, scalar grep { $_ % 29 == $id % 29 && $_ % 29 != 7 } 1 .. 10000);
		my ($ret, $out, $err) = query_by_index($name, $where);

		if ($ret != 0)
		{
			$errors++;
			$wrong++
			  if $err !~ /index "$name" is corrupted at block \d+\n.*HINT:  REINDEX/s
			  && $err !~ /could not read block/;
		}
		elsif ($out != $truth)
		{
			$wrong++;
		}
	}
	is($wrong, 0, "$name: 12 queries, $errors errors, none wrong");
}

# Inserting into a damaged index is an error too, not a lost row.
my ($ret, $out, $err) = $node->psql('postgres', 'INSERT INTO t VALUES (0, 0, 0)');
like($err, qr/is corrupted at block \d+|could not (open|read)/, 'an insert reports damage');

$node->safe_psql('postgres', 'REINDEX TABLE t; INSERT INTO t VALUES (0, 0, 0)');
foreach my $name (@names)
{
	$node->safe_psql('postgres', "SELECT rencoder_index_check('$name', true)");
}
pass('REINDEX heals');
compare_many_with_seqscan($node, 'postgres',
	[ map { "SELECT id FROM t WHERE v = hashint8extended($_, 1) OR few = $_" } 0 .. 30 ],
	'after REINDEX');

$node->stop;
done_testing();
