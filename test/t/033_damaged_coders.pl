# Damaged coders of strings: the check finds what is wrong, no query gives a wrong
# answer, inserts report it, REINDEX heals.
#
# One index for each kind of damage, all alike; all damage is done in one stop of the
# server.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderDamage;
use RencoderTest;
use Test::More;

my $node = new_node('main', conf => "ignore_checksum_failure = on\n");

# List page: n, unused, then entries of generation, attno, kind, extent, size, CRC.
my %damage = (
	zero_list      => zero_page('coders'),
	zero_coder     => zero_page('coder'),
	run_list       => copy_page('run', 'coders'),
	run_coder      => copy_page('run', 'coder'),
	no_root        => sub { substr(${ $_[0] }, $PAYLOAD + 24, 4) = pack('V', 0); },
	wrong_root     => sub {
		substr(${ $_[0] }, $PAYLOAD + 24, 4) = pack('V', first_page($_[0], 'coder'));
	},
	far_root       => sub { substr(${ $_[0] }, $PAYLOAD + 24, 4) = pack('V', 1 << 30); },
	list_empty     => poke_first('coders', 0, pack('V', 0)),
	list_too_long  => poke_first('coders', 0, pack('V', 100000)),
	generation     => poke_first('coders', 8, pack('V', 7)),
	attno          => poke_first('coders', 12, pack('v', 3)),
	kind           => poke_first('coders', 14, pack('v', 2)),
	unknown_kind   => poke_first('coders', 14, pack('v', 9)),
	extent_start   => poke_first('coders', 16, pack('V', 0)),
	extent_far     => poke_first('coders', 16, pack('V', 1 << 30)),
	extent_npages  => poke_first('coders', 20, pack('V', 1 << 20)),
	size_small     => poke_first('coders', 24, pack('V', 10)),
	size_zero      => poke_first('coders', 20, pack('VV', 0, 0)),
	size_huge      => poke_first('coders', 24, pack('V', 0xFFFFFFFF)),
	crc            => poke_first('coders', 28, pack('V', 1)),
	many_splitters => poke_first('coder', 0, pack('V', 0x7FFFFFFF)),
	few_splitters  => poke_first('coder', 0, pack('V', 1)),
	radix          => poke_first('coder', 4, pack('v', 0)),
	prefix         => poke_first('coder', 6, pack('v', 200)),
	digit          => poke_first('coder', 8 + 97, "\1"),
	gap            => poke_first('coder', 264 + 12, "\377"),
	bad_offset     => poke_first('coder', 296 + 4, pack('V', 0xFFFFFF)),
	splitter       => poke_first('coder', 8100, "zz"));
my @names = sort keys %damage;

$node->safe_psql('postgres', q{
	CREATE FUNCTION word(i int) RETURNS text LANGUAGE sql IMMUTABLE AS $$
		SELECT CASE i % 4
			WHEN 0 THEN 'https://www.example.com/' || to_hex(hashint4extended(i, 1) & 65535)
			WHEN 1 THEN left(md5(i::text), 1 + i % 7)
			WHEN 2 THEN repeat('alike ', 40 + i % 20) || i
			ELSE chr(192 + i % 64) || chr(65 + i % 26) || chr(97 + i % 26) || i END
	$$;
});
$node->safe_psql('postgres', 'CREATE TABLE d (id int, v text) WITH (fillfactor = 60); '
  . 'INSERT INTO d SELECT i, word(i) FROM generate_series(1, 6000) i');
$node->safe_psql('postgres', "CREATE INDEX $_ ON d USING rencoder (v) "
  . "WITH (pages_per_range = 1)")
  foreach @names;
my %path = map { $_ => index_path($node, $_) } @names;
my %truth = map { $_ => $node->safe_psql('postgres', "SELECT count(*) FROM d WHERE v = word($_)") }
  101 .. 104;

$node->stop;
damage_file($path{$_}, $damage{$_}) foreach @names;
$node->start;

my $row = 0;
foreach my $name (@names)
{
	my $others = join ', ', grep { $_ ne $name } @names;
	my ($cret, $cout, $cerr) = $node->psql('postgres', "SELECT rencoder_index_check('$name')",
		extra_params => [ '-v', 'VERBOSITY=verbose' ]);

	like($cerr, qr/ERROR:  XX002: .*\n.*\n?HINT:  REINDEX INDEX/, "$name: found by the check");
	my $wrong = 0;
	foreach my $i (sort keys %truth)
	{
		my ($qret, $qout, $qerr) = $node->psql('postgres', qq{
			BEGIN; DROP INDEX $others; SET LOCAL enable_seqscan = off;
			SELECT count(*) FROM d WHERE v = word($i); ROLLBACK}, on_error_stop => 1);

		if ($qret != 0
			? $qerr !~ /is corrupted at block.*\n.*HINT:  REINDEX|could not (read|open)/s
			: $qout != $truth{$i})
		{
			$wrong++;
			diag("$name: $qout, not $truth{$i}: $qerr");
		}
	}
	is($wrong, 0, "$name: no wrong answers");
	# On the pages where the rows are.
	$row += 150;
	my ($iret, $iout, $ierr) = $node->psql('postgres', qq{
		BEGIN; DROP INDEX $others; UPDATE d SET v = 'x' || v WHERE id BETWEEN $row AND $row + 5;
		ROLLBACK}, on_error_stop => 1);
	# Without a coder in the list keys have none: entries that say so are sound.
	like($ierr, $name =~ /^(attno|generation|list_empty|no_root)$/ ? qr/^$/ :
		qr/is corrupted at block|could not (read|open)/, "$name: an insert reports it");
	my ($pret, $pout, $perr) = $node->psql('postgres', qq{
		BEGIN; DROP INDEX $others; SET rencoder.enable_scan = off;
		SELECT count(*) FROM d WHERE v = word(101); ROLLBACK}, on_error_stop => 1);
	is($pout, $truth{101}, "$name: rencoder.enable_scan = off avoids it");
}
$node->safe_psql('postgres', 'REINDEX TABLE d; INSERT INTO d VALUES (0, NULL)');
$node->safe_psql('postgres', "SELECT rencoder_index_check('$_', true)") foreach @names;
pass('REINDEX heals');

$node->stop;
done_testing();
