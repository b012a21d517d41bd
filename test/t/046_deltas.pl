# Deltas by the worker: when nothing comes any more it makes one of what is left on the pending
# list, however little that is, and merges it with larger ones than while rows come.  And by whoever
# makes a base run, while he does.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderTest;
use Test::More;

my $node = new_node('main');

# The base run is so large that it is not renewed for the keys of deltas.
$node->safe_psql('postgres', q{
	CREATE TABLE t (id int, v int8) WITH (fillfactor = 45, autovacuum_enabled = off);
	INSERT INTO t SELECT i, hashint8extended(i, 0) FROM generate_series(1, 600000) i;
	CREATE INDEX t_v ON t USING rencoder (v) WITH (storage = run, false_pages = 1e-12)});

# Updates of "n" rows.
sub change
{
	my ($n, $k) = @_;

	return "UPDATE t SET v = hashint8extended(id, $k) WHERE id <= $n;";
}

my $LOCK = 'BEGIN; LOCK TABLE t IN SHARE ROW EXCLUSIVE MODE;';
my $PENDING = "SELECT pending_pages FROM rencoder_metapage('t_v');";
my $DELTAS = "FROM rencoder_runs('t_v') WHERE kind = 'delta'";

sub verify
{
	my ($name) = @_;

	$node->safe_psql('postgres', "SELECT rencoder_index_check('t_v', true)");
	compare_many_with_seqscan($node, 'postgres', [ map {
			my $id = rnd_between(1, 60000);
			"SELECT id FROM t WHERE v = (SELECT v FROM t WHERE id = $id)" } 1 .. 4 ], $name);
	return;
}

# While the table is locked the worker has no access to it, and all pages are pending at the end.
cmp_ok($node->safe_psql('postgres', "$LOCK " . change(20000, 1) . " $PENDING COMMIT"), '>', 32,
	'many pages are pending');
ok($node->poll_query_until('postgres', "SELECT count(*) = 1 AND sum(entries) > 10000 $DELTAS"),
	'they become a delta');

# One of a sixth of that is not merged with it while rows come, but then.
my $pages = $node->safe_psql('postgres', "$LOCK " . change(3500, 2) . " $PENDING COMMIT");
cmp_ok($pages, '>', 9, "$pages pages are pending: the worker is asked");
ok($node->poll_query_until('postgres', "SELECT count(*) = 1 AND sum(entries) > 20000 $DELTAS"),
	'a small delta is merged with the large one');
verify('one delta');

# What comes after the worker's delta is too little for another one, until nothing comes any more.
# If the worker has left before it came, nobody asks for it: once more.
my ($late, $left) = (0, 0);
for (my $round = 1; $round <= 8 && $left != 1; $round++)
{
	$node->safe_psql('postgres', "$LOCK " . change(3500, 10 + $round) . ' COMMIT');
	$node->poll_query_until('postgres', 'SELECT pending_pages < 9 FROM rencoder_metapage(\'t_v\')');
	$late = $node->safe_psql('postgres', "$LOCK " . change(1200, 50 + $round) . " $PENDING COMMIT");
	$node->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity
		WHERE backend_type = 'rencoder worker'});
	$left = $node->safe_psql('postgres', $PENDING);
}
cmp_ok($late, '>', 1, "$late pages came late");
is($left, 1, 'the worker has made a delta of them, too');
verify('late pages');

# Many rows come while a base run is made: its session makes a delta of them, and keeps the older
# one apart, which goes when the run is there.  Its reading stops at a row until we let it go on.
create_stopping_function($node);
$node->safe_psql('postgres', q{
	CREATE TABLE u (id int, v int8) WITH (fillfactor = 30, autovacuum_enabled = off);
	INSERT INTO u SELECT i, CASE i WHEN 5000 THEN -1 ELSE hashint8extended(i, 0) END
		FROM generate_series(1, 20000) i;
	CREATE INDEX u_v ON u USING rencoder (f(v)) WITH (storage = run, autosummarize = off);
	UPDATE u SET v = v + 1 WHERE id > 19200;
	VACUUM u});
my $entries = "SELECT count(*) || ' ' || coalesce(sum(entries), 0)
	FROM rencoder_runs('u_v') WHERE kind = 'delta'";
is($node->safe_psql('postgres', $entries), '1 800', 'a delta before');
my ($stopper, $compact) = start_and_stop($node, q{SELECT rencoder_compact('u_v')});
$node->safe_psql('postgres', 'UPDATE u SET v = v + 1 WHERE id > 16000');
cmp_ok($node->safe_psql('postgres', "SELECT pending_pages FROM rencoder_metapage('u_v')"), '>', 10,
	'many pages are pending');
$stopper->query_safe('SELECT pg_advisory_unlock(1)');
$stopper->quit;
finish_sql($compact, 'rencoder_compact');
cmp_ok($node->safe_psql('postgres', "SELECT pending_pages FROM rencoder_metapage('u_v')"), '<', 3,
	'few are left');
like($node->safe_psql('postgres', $entries), qr/^1 3\d\d\d$/, 'they are in a delta of their own');
is($node->safe_psql('postgres', "SELECT count(DISTINCT run) FROM rencoder_runs('u_v')"), 2,
	'beside the new base run');
$node->safe_psql('postgres', "SELECT rencoder_index_check('u_v', true)");
compare_many_with_seqscan($node, 'postgres', [ map {
		"SELECT id FROM u WHERE f(v) = (SELECT v FROM u WHERE id = $_)" } 3, 15500, 16500, 19999 ],
	'rows that came before and while a base run was made');

$node->stop;
done_testing();
