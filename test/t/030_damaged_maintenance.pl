# Maintenance of damaged indexes makes no pages that no checkpoint could write, and
# neither uses nor changes a group whose configuration is damaged.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderDamage;
use RencoderTest;
use Test::More;

# Clusters of PostgreSQL 18 have checksums; we want to see our own errors.
my $node = new_node('main', conf => "ignore_checksum_failure = on\n");

# A list of free extents with one far behind the end of the index.  A number of windows that
# its storage does not have, in the first entry of the directory (src/store/entry.h) and its
# header (src/store/group.h).  A shape of filters that is none, in the same places.
my %damage = (
	free_beyond => poke_first('free', 4, pack('VVV', 1, 1 << 30, 1 << 20)),
	windows     => sub {
		my ($data) = @_;

		poke($data, first_page($data, 'directory'), 72, pack('V', 1));
		return poke($data, first_page($data, 'header'), 24, pack('V', 1));
	},
	shape => sub {
		my ($data) = @_;

		poke($data, first_page($data, 'directory'), 56, "\377" x 16);
		return poke($data, first_page($data, 'header'), 8, "\377" x 16);
	});

$node->safe_psql('postgres', q{
	CREATE TABLE t (id int, v int8, filler text);
	ALTER TABLE t ALTER filler SET STORAGE plain;
	CREATE INDEX free_beyond ON t USING rencoder (v)
		WITH (autosummarize = off, pages_per_range = 1);
	CREATE INDEX windows ON t USING rencoder (v)
		WITH (autosummarize = off, pages_per_range = 1);
	CREATE INDEX shape ON t USING rencoder (v)
		WITH (autosummarize = off, pages_per_range = 1);
	INSERT INTO t SELECT i, hashint8extended(i, 1), repeat('x', 200)
		FROM generate_series(1, 7000) i;
	SELECT rencoder_summarize_range(i, 0), rencoder_maintain_index(i)
	FROM unnest('{free_beyond,windows,shape}'::regclass[]) i});

sub damage_all
{
	my %path = map { $_ => index_path($node, $_) } @_;

	$node->stop;
	damage_file($path{$_}, $damage{$_}) foreach @_;
	$node->start;
	return;
}

damage_all('free_beyond', 'windows', 'shape');
my ($ret, $out, $err) = $node->psql('postgres', q{
	SELECT rencoder_add_query_sample('free_beyond', i << 50, (i << 50) + (1::int8 << 45))
	FROM generate_series(1, 300::int8) i;
	SELECT rencoder_retune('free_beyond')}, extra_params => [ '-v', 'VERBOSITY=verbose' ]);
my $BEYOND = 'DETAIL:  A page was to be made behind the end of the index.';
like($err, qr/ERROR:  XX002: index "free_beyond" is corrupted at block 1073741824\n\Q$BEYOND\E\n/,
	'free_beyond: nothing is written behind the end');
$node->safe_psql('postgres', 'CHECKPOINT');

($ret, $out, $err) = $node->psql('postgres',
	q{SELECT rencoder_desummarize_range('windows', 3);
		SELECT rencoder_summarize_range('windows', 3)});
like($err,
	qr/ERROR:  index "windows" is corrupted at block \d+\nDETAIL:  The extent has \d+ pages; 1 win/,
	'windows: an error of summarization');
($ret, $out, $err) = $node->psql('postgres',
	q{SELECT rencoder_desummarize_range('shape', 3); SELECT rencoder_summarize_range('shape', 3)});
like($err,
	qr/ERROR:  index "shape" is corrupted at block \d+\nDETAIL:  The shape of the filters is not/,
	'shape: an error of summarization');

$node->stop;
done_testing();
