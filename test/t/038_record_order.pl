# Replay locks the pages of a record in the order in which they stand in it, and readers of
# a standby lock in that of INV-8 (src/INVARIANTS.md).  So each record names the metapage
# first, then all others: in another order the two could wait for each other for ever.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderDamage;
use RencoderTest;
use Test::More;

my $node = new_node('main', conf => "autovacuum = off\nwal_keep_size = '2GB'\n");

$node->safe_psql(
	'postgres', q{
	CREATE TABLE t (id int, v int8, few int4, filler text);
	ALTER TABLE t ALTER filler SET STORAGE plain;
	CREATE FUNCTION fill(n int, seed int) RETURNS void LANGUAGE sql AS $$
		INSERT INTO t SELECT i, hashint8extended(i, seed),
			nullif(abs(hashint4extended(i, seed)) % 30, 7), repeat('x', 200)
		FROM generate_series(1, n) i
	$$;
	CREATE INDEX i ON t USING rencoder (v, few)
		WITH (autosummarize = off, pages_per_range = 1);
});
my $from = $node->lsn('insert');
my @steps = (
	q{SELECT fill(1500, 1); SELECT rencoder_maintain_index('i')},
	q{SELECT fill(5000, 2); SELECT rencoder_maintain_index('i')},
	q{SELECT count(rencoder_add_query_sample('i', v + 5, v + 12)) FROM t WHERE id % 9 = 0;
		SELECT rencoder_compact('i', 0, pg_relation_size('t') / 8192)},
	q{SELECT rencoder_compact('i', r, r + 20) FROM generate_series(0, 150, 15) r},
	q{SELECT rencoder_maintain_index('i')},
	q{DELETE FROM t WHERE id % 4 = 0; VACUUM t; SELECT fill(1500, 3)},
	q{UPDATE t SET v = 9223372036854775807, few = 1000000 + id WHERE id % 50 = 1});
$node->safe_psql('postgres', $_) foreach @steps;
my $until = $node->lsn('insert');
my $path = $node->safe_psql('postgres', q{SELECT pg_relation_filepath('i')});
my $file = index_path($node, 'i');
$node->stop;

# Pages of these types never become others.
my $data = slurp_file($file);
my %rank;
foreach my $type ('meta')
{
	my $rank = keys %rank ? 1 + (sort { $b <=> $a } values %rank)[0] : 0;

	$rank{$_} = $rank foreach RencoderDamage::blocks_of_type(\$data, $type);
}

my ($relation) = $path =~ m{/(\d+)$};
my ($out, $err) = run_command(
	[
		'pg_waldump', '-p', $node->data_dir . '/pg_wal',
		'-r', 'Generic', '-s', $from, '-e', $until
	]);
my (%seen, @wrong);
foreach my $record (split /\n/, $out)
{
	my @blocks;

	while ($record =~ m{rel \d+/\d+/(\d+) (?:fork \w+ )?blk (\d+)}g)
	{
		push @blocks, $2 if $1 == $relation;
	}
	my @ranks = map { $rank{$_} // 1 } @blocks;
	$seen{ join '', @ranks }++;
	push @wrong, $record if "@ranks" ne join(' ', sort { $a <=> $b } @ranks);
}
is(join("\n", @wrong[ 0 .. ($#wrong < 4 ? $#wrong : 4) ]), '', 'pages stand in the order of locks');

# What the steps were to bring: "01" is of publishing, "011" with the free list.
cmp_ok($seen{$_} // 0, '>', 0, "there are records of pages $_") foreach ('01', '011');
done_testing();
