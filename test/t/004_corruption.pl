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

# Name => [column of the index, damage, what the check says].  The damage
# returns the block that the error must name, undef if any.
my %damage = (

	# Pages lost or in a wrong place.
	zero_meta      => [ 'v', zero_page('meta'),
		qr/Expected a metapage page\. The page is empty\./ ],
	zero_free      => [ 'v', zero_page('free'),
		qr/Expected a free list page\. The page is empty\./ ],
	zero_info      => [ 'v', zero_page('run_info'),
		qr/The page is empty\./ ],
	zero_run       => [ 'v', zero_page('run'), qr/The page is empty\./ ],
	copied_run     => [ 'v', copy_page('run', 'run'),
		qr/The page belongs to another block\./ ],
	run_info       => [ 'v', copy_page('run', 'run_info'),  qr/The page is of another type\./ ],
	run_meta       => [ 'v', copy_page('run', 'meta'),    qr/The page is of another type\./ ],
	truncated      => [ 'v', sub {
			my ($data) = @_;

			substr($$data, length($$data) / 2) = '';
			return undef;
		}, qr/It refers to \d+ pages from block \d+; the index has \d+ blocks\./ ],

	# Metapage.
	magic      => [ 'v', sub { poke($_[0], 0, 0, pack('V', 1)) }, qr/magic/ ],
	columns    => [ 'v', sub { poke($_[0], 0, 12, pack('V', 7)) },
		qr/The metapage describes another index\./ ],
	lists      => [ 'v', sub { poke($_[0], 0, 76, "\0" x 4) },
		qr/The metapage has lost what it says of runs and the pending list\./ ],
	bits       => [ 'v', sub { poke($_[0], 0, 20, pack('V', 99)) },
		qr/option of the metapage is out of range/ ],
	free_root  => [ 'v', sub { poke($_[0], 0, 28, pack('V', 1 << 30)) },
		qr/It refers to 1 pages from block 1073741824/ ],

	# INV-5: what generic WAL would drop.
	lower_meta  => [ 'v', sub { poke($_[0], 0, 12 - $PAYLOAD, pack('v', 24 + 510)) },
		qr/free space pointers are wrong/ ],

	# INV-6: extents.
	overlap     => [ 'v', sub {
			my ($data) = @_;
			my $info = first_page($data, 'run_info');

			poke($data, first_page($data, 'free'), 4, pack('VVV', 1, $info, 1));
			return $info;
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
		}, qr/circle|both refer to it/ ]);
my @names = sort keys %damage;

# A run, and a list of free pages.
$node->safe_psql('postgres',
	q{CREATE TABLE t (id int, v int8, few int4, filler text);
	ALTER TABLE t ALTER filler SET STORAGE plain;
	INSERT INTO t SELECT i, hashint8extended(i, 1), nullif(i % 29, 7), repeat('x', 200)
	FROM generate_series(1, 10000) i});
$node->safe_psql('postgres',
	"CREATE INDEX $_ ON t USING rencoder ($damage{$_}[0]) WITH (autosummarize = off)")
  foreach @names;
$node->safe_psql('postgres', 'UPDATE t SET v = v + 1 WHERE id = 1');
$node->safe_psql('postgres', "SELECT rencoder_compact('$_')") foreach @names;
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
foreach my $name (grep { /^(zero|copied|run_|truncated|magic|columns)/ } @names)
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
