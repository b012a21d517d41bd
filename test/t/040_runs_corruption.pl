# Damaged runs and pending lists: rencoder_index_check names index and block, no query
# loses rows silently where the structure is damaged, REINDEX heals.
#
# One index for each kind of damage, all alike: a base run, a delta run, two pending pages
# and a spare one.  All damage is done in one stop of the server.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderDamage;
use RencoderTest;
use Test::More;

# Clusters of PostgreSQL 18 have checksums; we want to see our own errors.
my $node = new_node('main', conf => "ignore_checksum_failure = on\nrestart_after_crash = off\n");

# Offsets in payloads: src/store/meta.h, run_format.h, pending.h.
my %META = (
	nruns         => 36,
	frontier      => 48,
	entries_to    => 52,
	last_run      => 56,
	last_rank     => 60,
	pending_first => 64,
	pending_last  => 68,
	pending_spare => 72,
	first_number  => 80,
	last_number   => 88,
	runs          => 96);
my $RUN_SIZE = 120;    # of an entry; the first is of the base run, then the delta
my %RUN = (
	number  => 0,
	rank    => 4,
	kind    => 8,
	state   => 9,
	keyless => 10,
	from    => 12,
	to      => 16,
	info    => 20,
	npages  => 24,
	cut     => 32,
	horizon => 40,
	tree    => 48);
my %INFO = (
	number     => 0,
	natts      => 4,
	nextents   => 6,
	tree       => 8,
	coder      => 8,
	root       => 12,
	level      => 16,
	part_rows  => 18,
	parts      => 20,
	most_rows  => 22,
	nleaves    => 24,
	first_page => 32,
	entries    => 40,
	least      => 56,
	extent     => 152);
my %PAGE    = (number => 0, col => 4, level => 6, payload => 8);
my %PENDING = (number => 0, next => 8, open => 12, page => 16, nulls => 20, key => 24, coder => 32);
my $NO_PLACES = qr/Run 1 names places that no page has, of column 1\./;

sub poke_list
{
	my ($field, $bytes, $i) = @_;

	return sub {
		return poke($_[0], 0, $META{runs} + $RUN_SIZE * ($i || 0) + $RUN{$field}, $bytes);
	};
}

# The page that describes the base run, its root and its leaves.
sub base_info
{
	my ($data) = @_;

	return unpack('V', peek($data, 0, $META{runs} + $RUN{info}, 4));
}

sub delta_info
{
	my ($data) = @_;

	return unpack('V', peek($data, 0, $META{runs} + $RUN_SIZE + $RUN{info}, 4));
}

sub base_root { return unpack('V', peek($_[0], base_info($_[0]), $INFO{root}, 4)); }

sub poke_info
{
	my ($field, $bytes) = @_;

	return sub { return poke($_[0], base_info($_[0]), $INFO{$field}, $bytes); };
}

# The same in the list of runs, which repeats what the page says of a tree.
sub poke_tree
{
	my ($field, $bytes) = @_;

	return sub {
		my ($data) = @_;

		poke($data, 0, $META{runs} + $RUN{tree} + $INFO{$field} - $INFO{tree}, $bytes);
		return poke($data, base_info($data), $INFO{$field}, $bytes);
	};
}

sub poke_root
{
	my ($offset, $bytes) = @_;

	return sub { return poke($_[0], base_root($_[0]), $offset, $bytes); };
}

sub base_leaf
{
	my ($data) = @_;
	my ($leaf) = grep { peek($data, $_, 0, 8) eq pack('Vvv', 1, 0, 0) } pages_of_type($data, 'run');

	return $leaf;
}

sub poke_leaf
{
	my ($offset, $bytes) = @_;

	return sub { return poke($_[0], base_leaf($_[0]), $offset, $bytes); };
}

# The delta has one page, of run 2.
sub delta_leaf
{
	my ($data) = @_;
	my ($leaf) = grep { peek($data, $_, 0, 4) eq pack('V', 2) } pages_of_type($data, 'run');

	return $leaf;
}

# A block number in the metapage, and pages that it names.
sub meta { return unpack('V', peek($_[0], 0, $META{ $_[1] }, 4)); }

sub poke_meta
{
	my ($field, $bytes) = @_;

	return sub { return poke($_[0], 0, $META{$field}, $bytes); };
}

sub poke_pending
{
	my ($which, $field, $bytes) = @_;

	return sub { return poke($_[0], meta($_[0], $which), $PENDING{$field}, $bytes); };
}

sub zero
{
	my ($which) = @_;

	return sub {
		my ($data) = @_;
		my $block = $which->($data);

		substr($$data, $block * $BLCKSZ, $BLCKSZ) = "\0" x $BLCKSZ;
		return $block;
	};
}

# The block that an error must name is another one than what was damaged.
sub named
{
	my ($block, $damage) = @_;

	return sub {
		my ($data) = @_;
		my $name = $block->($data);

		$damage->($data);
		return $name;
	};
}

my $LOST_KEY =
  qr/Row \(\d+,\d+\) has key 0x[0-9a-f]{16} of column 1, which a query does not find\./;

my $meta   = sub { return 0; };
my $any    = sub { return undef; };

# Name => [damage, what the check says, may a scan not notice?].  Scans need not notice what
# is damage to content or to what they do not read; then rows may be missing.
my %damage = (

	# Pages lost.
	zero_info    => [ zero(\&base_info), qr/The page is empty\./ ],
	zero_root    => [ zero(\&base_root), qr/The page is empty\./ ],
	zero_leaf    => [ zero(\&base_leaf), qr/The page is empty\./ ],
	zero_delta   => [ zero(\&delta_leaf), qr/The page is empty\./ ],
	zero_pending => [ zero(sub { meta($_[0], 'pending_first') }), qr/The page is empty\./ ],
	zero_tail    => [ zero(sub { meta($_[0], 'pending_last') }), qr/The page is empty\./ ],
	zero_spare   => [ zero(sub { meta($_[0], 'pending_spare') }), qr/The page is empty\./ ],
	run_pending  => [ copy_page('run', 'pending'), qr/The page is of another type\./ ],
	pending_run  => [ copy_page('pending', 'run'), qr/The page is of another type\./ ],
	run_run      => [ copy_page('run', 'run'), qr/The page belongs to another block\./ ],
	run_info     => [ copy_page('run', 'run_info'), qr/The page is of another type\./ ],

	# The list.
	list_none   => [ named($meta, poke_meta('nruns', pack('V', 0))),
		qr/No run covers the pages 0 to \d+, which lie below the frontier\./ ],
	list_long   => [ named($meta, poke_meta('nruns', pack('V', 65))),
		qr/The catalog has an impossible number of runs\./ ],
	last_run    => [ poke_meta('last_run', pack('V', 1)),
		qr/Run 2 of the catalog has a number that was never given\./, 1 ],
	list_number => [ named($meta, poke_list('number', pack('V', 2))),
		qr/Run 2 of the catalog has the number of another one\./ ],
	list_kind   => [ poke_list('kind', "\11", 1),
		qr/Run 2 of the catalog is of a kind that is not known\./, 1 ],
	list_state  => [ poke_list('state', "\11", 1),
		qr/Run 2 of the catalog is in a state that is not known\./, 1 ],
	list_tree   => [ named(\&base_info, poke_list('tree', pack('V', 5))),
		qr/Run 1 and the catalog describe different trees\./, 1 ],
	list_keyless => [ named(\&base_info, poke_list('keyless', "\1")),
		qr/Run 1 and the catalog describe different trees\./, 1 ],
	list_info   => [ poke_list('info', pack('V', 1 << 30)),
		qr/It refers to 1 pages from block 1073741824/ ],
	list_pages  => [ named(\&base_info, poke_list('npages', pack('V', 9999))),
		qr/Run 1 has \d+ pages, but the catalog says 9999\./, 1 ],

	# What the catalog says of pages of the table.
	entries_below => [ poke_meta('entries_to', pack('V', 5)),
		qr/The catalog's frontier is beyond the pages whose rows are entries\./ ],
	far_frontier => [ poke_meta('frontier', pack('V', 100000)),
		qr/The catalog's frontier is beyond the pages whose rows are entries\./ ],
	near_frontier => [ poke_meta('frontier', pack('V', 5)),
		qr/Run 1 of the catalog goes beyond the frontier\./, 1 ],
	hole        => [ poke_list('from', pack('V', 5)),
		qr/No run covers the pages 0 to 4, which lie below the frontier\./, 1 ],
	no_run      => [ poke_list('kind', pack('C', 2)),
		qr/Run 1 of the catalog has a rank that was never given\./, 1 ],
	no_rank     => [ poke_list('rank', pack('V', 0)),
		qr/Run 1 of the catalog has a rank that was never given\./, 1 ],
	future_rank => [ poke_list('rank', pack('V', 9)),
		qr/Run 1 of the catalog has a rank that was never given\./, 1 ],
	delta_rank  => [ poke_list('rank', pack('V', 1), 1),
		qr/Run 2 of the catalog has a rank that was never given\./, 1 ],
	backwards   => [ poke_list('from', pack('V', 1 << 30), 1),
		qr/Run 2 of the catalog ends before it begins\./, 1 ],
	future_cut  => [ poke_list('cut', pack('Q<', 1 << 40)),
		qr/Run 1 of the catalog has the keys of pending pages to come\./, 1 ],
	delta_pages => [ named(\&delta_info, poke_list('to', pack('V', 3), 1)),
		qr/Run 2 has pages \d+ to \d+ in column 1, but the catalog says \d+ to 2\./, 1 ],
	hole_behind => [ sub {
			my ($data) = @_;

			poke($data, 0, $META{entries_to}, pack('V', 100000));
			return poke($data, 0, $META{frontier}, pack('V', 100000));
		}, qr/No run covers the pages \d+ to 99999, which lie below the frontier\./, 1 ],

	# What describes a run.
	tree_parts   => [ poke_tree('parts', pack('v', 0)), $NO_PLACES ],
	tree_whole   => [ poke_tree('parts', pack('v', 1)), $NO_PLACES ],
	tree_rows    => [ poke_tree('part_rows', "\0"), $NO_PLACES ],
	tree_least   => [ poke_tree('most_rows', pack('v', 0)), $NO_PLACES ],
	tree_most    => [ poke_tree('most_rows', pack('v', 292)), $NO_PLACES ],
	info_number  => [ poke_info('number', pack('V', 7)), qr/The page describes another run\./ ],
	info_natts   => [ poke_info('natts', pack('v', 2)), qr/The page describes another run\./ ],
	info_extents => [ poke_info('nextents', pack('v', 5000)),
		qr/The page describes another run\./ ],
	info_beyond  => [ poke_info('extent', pack('VV', 1 << 30, 1)),
		qr/It refers to 1 pages from block 1073741824/, 1 ],
	info_short   => [ named(\&base_root, sub {
				my ($data) = @_;
				my $info = base_info($data);
				my ($start, $npages) = unpack('VV', peek($data, $info, $INFO{extent}, 8));

				return poke($data, $info, $INFO{extent}, pack('VV', $start, $npages - 1));
			}), qr/Run 1, column 1: it is not in the extents of the run\./, 1 ],
	info_overlap => [ named($any, sub {
				my ($data) = @_;
				my $info = base_info($data);

				return poke($data, $info, $INFO{extent}, pack('V', meta($data, 'pending_last')));
			}), qr/Blocks \d+ and \d+ both refer to it\./, 1 ],
	info_root    => [ poke_tree('root', pack('V', 0)),
		qr/Run 1 has entries or pages, but not both, of column 1\./ ],
	info_leaf    => [ named(\&base_leaf, sub {
				my ($data) = @_;

				return poke_tree('root', pack('V', base_leaf($data)))->($data);
			}), qr/The page is of another run\./ ],
	info_level   => [ named(\&base_root, poke_tree('level', chr(99))),
		qr/Run 1, column 1: the level of the root is not valid\./ ],
	info_leaves  => [ poke_tree('nleaves', pack('V', 99)),
		qr/Run 1 has \d+ pages, but the catalog says \d+\./, 1 ],
	info_entries => [ named(\&base_root, poke_tree('entries', pack('VV', 7, 0))),
		qr/Run 1, column 1: /, 1 ],
	info_least   => [ poke_tree('least', "\377" x 8),
		qr/What run 1 says of column 1 is impossible\./, 1 ],
	info_coder   => [ poke_tree('coder', pack('V', 5)),
		qr/The coder of run 1, column 1, is missing\./, 1 ],
	moved_pages  => [ named(\&base_info, sub {
				my ($data) = @_;
				my $info = base_info($data);
				my ($first) = unpack('V', peek($data, $info, $INFO{first_page}, 4));

				return poke_tree('first_page', pack('V', $first + 1))->($data);
			}), $LOST_KEY, 1 ],

	# Pages of runs.
	leaf_number => [ poke_leaf($PAGE{number}, pack('V', 9)), qr/The page is of another run\./ ],
	leaf_col    => [ poke_leaf($PAGE{col}, pack('v', 1)), qr/The page is of another run\./ ],
	root_level  => [ poke_root($PAGE{level}, pack('v', 0)), qr/The page is of another run\./ ],
	leaf_count  => [ poke_leaf($PAGE{payload} + 16, pack('V', 3)), qr/Run 1, column 1: /, 1 ],
	leaf_bytes  => [ poke_leaf($PAGE{payload} + 4000, "\252" x 100), qr/Run 1, column 1: /, 1 ],
	root_order  => [ named($any, poke_root($PAGE{payload} + 8 + 8, "\0" x 8)),
		qr/Run 1, column 1: /, 1 ],

	# The pending list.
	pending_number => [ poke_pending('pending_first', 'number', pack('V', 77)),
		qr/page of the pending list has another number/ ],
	pending_end    => [ poke_pending('pending_first', 'next', pack('V', 0)),
		qr/The pending list ends before its last page\./ ],
	pending_circle => [ sub {
			my ($data) = @_;
			my $block = meta($data, 'pending_first');

			return poke($data, $block, $PENDING{next}, pack('V', $block));
		}, qr/has another number/ ],
	pending_beyond => [ named($any, poke_pending('pending_first', 'next', pack('V', 1 << 30))),
		qr/The pending list goes on behind the end of the index\./ ],
	pending_closed => [ poke_pending('pending_last', 'open', pack('V', 0)),
		qr/The pending list is not open at its last page, and only there\./, 1 ],
	pending_open   => [ poke_pending('pending_first', 'open', pack('V', 1)),
		qr/The pending list is not open at its last page, and only there\./, 1 ],
	pending_page   => [ poke_pending('pending_first', 'page', "\377" x 4),
		qr/An entry of the pending list is of an impossible page\./, 1 ],
	pending_nulls  => [ poke_pending('pending_first', 'nulls', "\7"),
		qr/An entry of the pending list has impossible null flags\./, 1 ],
	pending_coder  => [ poke_pending('pending_first', 'coder', pack('V', 7)),
		qr/A coder of column 1 that the pending list names is missing\./, 1 ],
	pending_key    => [ named(\&base_info, poke_pending('pending_first', 'key', "\1" x 8)),
		$LOST_KEY, 1 ],
	pending_lower  => [ sub {
			poke($_[0], meta($_[0], 'pending_first'), 12 - $PAYLOAD, pack('v', 9))
		},
		qr/free space pointers are wrong/ ],
	pending_first  => [ poke_meta('pending_first', pack('V', 0)),
		qr/The ends of the pending list do not fit\./, 1 ],
	pending_last   => [ named(sub { meta($_[0], 'pending_last') }, sub {
				poke($_[0], 0, $META{pending_last}, pack('V', meta($_[0], 'pending_first'))) }),
		qr/The last page of the pending list is not its end\./, 1 ],
	spare_circle   => [ named($any, sub {
				my ($data) = @_;
				my $block = meta($data, 'pending_spare');

				return poke($data, $block, $PENDING{next}, pack('V', $block));
			}), qr/circular|both refer to it/, 1 ],
	spare_used     => [ named($any, sub {
				my ($data) = @_;

				return poke($data, 0, $META{pending_spare}, pack('V', meta($data, 'pending_last')));
			}), qr/Blocks \d+ and \d+ both refer to it\./, 1 ],
	spare_beyond   => [ poke_meta('pending_spare', pack('V', 1 << 30)),
		qr/It refers to 1 pages from block 1073741824/, 1 ]);
my @names = sort keys %damage;

# Rows that come to pages of the run: updates, for which there is room.
$node->safe_psql('postgres',
	q{CREATE TABLE t (id int, v int8, filler text) WITH (fillfactor = 80, autovacuum_enabled = off);
	ALTER TABLE t ALTER filler SET STORAGE plain;
	INSERT INTO t SELECT i, hashint8extended(i, 1), repeat('x', 100)
		FROM generate_series(1, 9000) i});
$node->safe_psql('postgres',
	"CREATE INDEX $_ ON t USING rencoder (v)
		WITH (storage = run, autosummarize = off, pages_per_range = 1)")
  foreach @names;
$node->safe_psql('postgres', 'UPDATE t SET v = hashint8extended(id, 2) WHERE id % 20 = 3');
$node->safe_psql('postgres', 'VACUUM t');
$node->safe_psql('postgres', 'UPDATE t SET v = hashint8extended(id, 3) WHERE id % 15 = 7');
is($node->safe_psql('postgres',
		"SELECT DISTINCT runs, pending_pages, spare_pages > 0 FROM unnest('{"
		  . join(',', @names) . "}'::regclass[]) i, rencoder_metapage(i)"),
	'2|2|t', 'a base run, a delta, pending pages and spare ones');
$node->safe_psql('postgres', "SELECT rencoder_index_check('$_', true)") foreach @names;
my %truth = map { split /\|/ } split /\n/, $node->safe_psql('postgres', 'SELECT id, v FROM t');
my %path  = map { $_ => index_path($node, $_) } @names;
my %block;

$node->stop;
$block{$_} = damage_file($path{$_}, $damage{$_}[0]) foreach @names;
$node->start;

foreach my $name (@names)
{
	my ($ret, $out, $err) =
	  $node->psql('postgres', "SELECT rencoder_index_check('$name', true)",
		extra_params => [ '-v', 'VERBOSITY=verbose' ]);
	my $where = defined $block{$name} ? $block{$name} : '\d+';

	like($err, qr/ERROR:  XX002: index "$name" is corrupted at block $where\n/,
		"$name: the check names index and block");
	like($err, $damage{$name}[1], "$name: and what is wrong");

	# Whatever is damaged, what shows an index does not crash the server.
	$node->psql('postgres', join ';', map { "SELECT count(*) FROM $_('$name')" }
		  qw(rencoder_metapage rencoder_runs));
}

# Only the index named is there to be used.  Values of rows that are in the base run, in the
# delta and in the pending list, and a value that no row has.
foreach my $name (@names)
{
	my $others = join ', ', grep { $_ ne $name } @names;
	my @ids = (rnd_between(1, 9000), 20 * rnd_between(0, 449) + 3, 15 * rnd_between(0, 598) + 7);
	my @values = (map({ $truth{$_} } @ids), 5);
	my $script = "BEGIN; DROP INDEX $others; SET LOCAL enable_seqscan = off;\n";

	foreach my $value (@values)
	{
		my $rows = grep { $_ == $value } values %truth;
		my $near = grep { $_ >= $value && $_ <= $value + 1_000_000_000_000_000 } values %truth;

		$script .= qq{SAVEPOINT q;
			SELECT 'answer', count(*) = $rows FROM t WHERE v = $value;
			ROLLBACK TO q;
			SELECT 'answer', count(*) = $near FROM t
				WHERE v BETWEEN $value AND $value + 1000000000000000;
			ROLLBACK TO q;\n};
	}
	# What a scan has in memory does not outlive its error.
	$script .= qq{ROLLBACK; SELECT 'memory', count(*) FROM pg_backend_memory_contexts
			WHERE name = 'rencoder workspace' AND used_bytes > 1000 OR name = 'rencoder scan';};
	my ($ret, $out, $err) = $node->psql('postgres', $script, on_error_stop => 0);
	my ($memory) = $out =~ /^memory\|(.*)/m;
	my $answers = () = $out =~ /^answer/mg;
	my $missing = () = $out =~ /^answer\|f/mg;
	my @errors  = grep { /ERROR:/ } split /\n/, $err;
	my $known   = qr/index "$name" (is corrupted at block \d+|lacks coder)|could not (open|read)/;
	my @other   = grep { !/$known/ } @errors;

	is("@other", '', "$name: queries answer ($answers) or say what is wrong");
	is($answers + @errors, 2 * @values, "$name: all of them");
	is($missing, 0, "$name: no row is missing") if !$damage{$name}[2];
	is($memory, 0, "$name: no memory is in use");
}

# Inserting into a damaged index is an error too, or is as good as if it were sound.
my ($ret, $out, $err) = $node->psql('postgres', 'UPDATE t SET v = v + 3 WHERE id % 15 = 8');
like($err, qr/is corrupted at block \d+|could not (open|read)/, 'an update reports damage');
($ret, $out, $err) = $node->psql('postgres', 'VACUUM t');
isnt($ret, 2, 'VACUUM does not crash');

$node->safe_psql('postgres', 'REINDEX TABLE t; UPDATE t SET v = v + 3 WHERE id % 15 = 9');
$node->safe_psql('postgres', "SELECT rencoder_index_check('$_', true)") foreach @names;
pass('REINDEX heals');

$node->stop;
done_testing();
