# A standby that is promoted while the primary was at work: pages of a run under
# construction may be in the file, and nothing refers to them.  The new primary
# neither needs them nor gives blocks away twice (INV-7).
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderTest;
use Test::More;

my ($primary, $standby) = start_primary_with_standby();

$primary->safe_psql(
	'postgres', q{
	CREATE TABLE t (id int, v int8, few int4);
	CREATE FUNCTION fill(n int, seed int) RETURNS void LANGUAGE sql AS $$
		INSERT INTO t SELECT i, hashint8extended(i, seed), i % 50 FROM generate_series(1, n) i
	$$;
	CREATE INDEX t_v ON t USING rencoder (v)
		WITH (autosummarize = off, pages_per_range = 4);
	CREATE INDEX t_few ON t USING rencoder (few)
		WITH (autosummarize = off, pages_per_range = 4);
	SELECT fill(90000, 1);
	-- VACUUM shall have nothing to do but the end of it.
	VACUUM (INDEX_CLEANUP off) t;
});
my $state = "SELECT string_agg(DISTINCT state, ' ') FROM rencoder_runs('t_v')";

# VACUUM dawdles with the pages that it reads for a run.
my $vacuum = $primary->background_psql('postgres');
$vacuum->query_until(
	qr/started/, q{\echo started
SET vacuum_cost_delay = 100; SET vacuum_cost_limit = 1;
SET vacuum_cost_page_hit = 100; SET vacuum_cost_page_miss = 100; SET vacuum_cost_page_dirty = 0;
VACUUM (INDEX_CLEANUP on, TRUNCATE off) t;
});
$primary->poll_query_until('postgres', $state, 'building') or die 'no run is made';
wait_for_standby($primary, $standby);
is($primary->safe_psql('postgres', $state), 'building', 'a run is under construction');
$primary->stop('immediate');
eval { $vacuum->quit };
$standby->promote;

sub verify
{
	my ($name) = @_;
	my ($ret, $out, $err) = $standby->psql('postgres',
		q{SELECT rencoder_index_check(i, true) FROM unnest('{t_v,t_few}'::regclass[]) i});

	is($err, '', "$name: sound");
	compare_many_with_seqscan(
		$standby,
		'postgres',
		[
			map {
				my $id = rnd_between(1, 60000);

				map {
					(   "SELECT id FROM t WHERE v = hashint8extended($id, $_)",
						"SELECT id FROM t WHERE v = hashint8extended($id, $_) + 1",
						"SELECT id FROM t WHERE few = $id % 100 AND v > hashint8extended($id, $_)")
				} 1 .. 3
			} 1 .. 5
		],
		$name);
	return;
}

verify('promoted');

# More runs, whose pages must not be those of the first one.
foreach my $seed (2, 3)
{
	$standby->safe_psql('postgres',
		"SELECT fill(100000, $seed); UPDATE t SET v = v + 1, few = few + 50 WHERE id % 97 = $seed");
	verify("inserted, $seed");
	$standby->safe_psql('postgres',
		"SELECT rencoder_maintain_index(i) FROM unnest('{t_v,t_few}'::regclass[]) i");
	verify("maintained, $seed");
	$standby->safe_psql('postgres', 'VACUUM t');
	verify("vacuumed, $seed");
}
like($standby->safe_psql('postgres', $state), qr/^live$/, 'runs are finished');
$standby->stop;
done_testing();
