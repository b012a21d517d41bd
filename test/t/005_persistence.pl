# Unlogged and temporary tables: the init fork, and what other sessions and
# standbys may not do.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderTest;
use Test::More;

my ($node, $standby) = start_primary_with_standby();

$node->safe_psql(
	'postgres', q{
	CREATE UNLOGGED TABLE u (id int, v int8, filler text);
	ALTER TABLE u ALTER filler SET STORAGE plain;
	CREATE INDEX u_idx ON u USING rencoder (v)
		WITH (autosummarize = off, pages_per_range = 1, bits_per_key = 12);
	CREATE INDEX u_auto ON u USING rencoder (id) WITH (autosummarize = off);
	CREATE FUNCTION fill(n int, seed int) RETURNS void LANGUAGE sql AS $$
		INSERT INTO u SELECT i, hashint8extended(i, seed), repeat('x', 60)
		FROM generate_series(1, n) i
	$$;
});

sub verify
{
	my ($name) = @_;

	$node->safe_psql('postgres',
		"SELECT rencoder_index_check('u_idx', true), rencoder_index_check('u_auto', true)");
	compare_with_seqscan($node, 'postgres',
		'SELECT id, v FROM u WHERE v BETWEEN 0 AND 10000000000000000',
		index => 'u_idx', name => "$name: one index");
	compare_with_seqscan($node, 'postgres',
		'SELECT id, v FROM u WHERE id BETWEEN 17 AND 19',
		index => 'u_auto', name => "$name: the other");
	return;
}

sub options
{
	return $node->safe_psql('postgres',
		"SELECT pages_per_range, bits_per_key FROM rencoder_metapage('u_idx') "
		  . "UNION ALL SELECT pages_per_range, bits_per_key FROM rencoder_metapage('u_auto')");
}

my $options = options();
is($options, "1|12\n16|20", 'options of indexes on an empty table');
$node->safe_psql('postgres',
	"SELECT fill(12000, 1); SELECT rencoder_maintain_index('u_idx'); "
	  . "SELECT fill(100, 2); VACUUM u");
verify('unlogged');
$node->stop('fast');
$node->start;
is($node->safe_psql('postgres', 'SELECT count(*) FROM u'), 12100,
	'a clean restart keeps an unlogged table');
verify('clean restart');

$node->stop('immediate');
$node->start;
is($node->safe_psql('postgres', 'SELECT count(*) FROM u'), 0,
	'a crash empties it');
is(options(), $options, 'the init fork has the options');
is($node->safe_psql('postgres', "SELECT count(*) FROM rencoder_runs('u_idx')"),
	0, 'and no run');
verify('crash');
$node->safe_psql('postgres', 'SELECT fill(12000, 3); VACUUM u; SELECT fill(100, 4)');
is($node->safe_psql('postgres',
		"SELECT count(*) > 0 FROM rencoder_runs('u_idx')"),
	't', 'filled again');
verify('filled after a crash');

# Nothing is there on a standby.
wait_for_standby($node, $standby);
my ($ret, $out, $err) =
  $standby->psql('postgres', "SELECT rencoder_index_check('u_idx')");
like(
	$err,
	qr/ERROR:  cannot access unlogged index "u_idx" during recovery\nHINT:  /,
	'an unlogged index cannot be checked on a standby');

# To a logged table and back.
$node->safe_psql('postgres', 'ALTER TABLE u SET LOGGED');
verify('logged');
wait_for_standby($node, $standby);
compare_with_seqscan($standby, 'postgres',
	'SELECT id, v FROM u WHERE v BETWEEN 0 AND 10000000000000000',
	index => 'u_idx', name => 'logged, on the standby');
$node->stop('immediate');
$node->start;
verify('logged, after a crash');
$node->safe_psql('postgres', 'ALTER TABLE u SET UNLOGGED');
verify('unlogged again');

# A temporary table, and another session that wants its index.
my $session = $node->background_psql('postgres');
$session->query_safe('SET client_min_messages = error');
$session->query_safe(
	q{CREATE TEMP TABLE tt (id int, v int8, filler text) WITH (fillfactor = 50);
	CREATE INDEX tt_idx ON tt USING rencoder (v)
		WITH (autosummarize = off, pages_per_range = 1);
	INSERT INTO tt SELECT i, hashint8extended(i, 5), repeat('x', 60)
		FROM generate_series(1, 5000) i;
	SELECT rencoder_maintain_index('tt_idx');
	UPDATE tt SET v = v + 1 WHERE id % 10 = 0;
	DELETE FROM tt WHERE id % 10 = 1;
	VACUUM tt;
	INSERT INTO tt SELECT i, hashint8extended(i, 6), repeat('x', 60)
		FROM generate_series(1, 500) i;});
is($session->query_safe("SELECT rencoder_index_check('tt_idx', true)"),
	'', 'temporary table');
my $rows =
  'SELECT count(*), sum(id) FROM tt WHERE v BETWEEN 0 AND 100000000000000000';
my $by_heap = $session->query_safe("SET enable_indexscan = off; "
  . "SET enable_bitmapscan = off; $rows");
is($session->query_safe("SET enable_seqscan = off; SET enable_indexscan = off; "
  . "SET enable_bitmapscan = on; $rows"),
	$by_heap, 'temporary table by its index');
my $temp_index =
  $session->query_safe("SELECT 'tt_idx'::regclass::oid");
foreach my $call (
	"rencoder_maintain_index($temp_index)",
	"rencoder_index_check($temp_index)",
	"count(*) FROM rencoder_runs($temp_index)",
	"rencoder_metapage($temp_index)",
	"rencoder_candidates($temp_index, 1::int8, 2::int8)")
{
	($ret, $out, $err) = $node->psql('postgres', "SELECT $call");
	like($err,
		qr/ERROR:  cannot access temporary index "tt_idx" of another session/,
		(split /\(/, $call)[0] . ': temporary index of another session');
}
$session->quit;

$standby->stop;
$node->stop;
done_testing();
