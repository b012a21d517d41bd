# Old snapshots, of the primary and of a standby, while base runs and deltas are made, merged
# and freed: they find the rows that they may see by the index, too, whoever else does no longer
# need them (INV-7, INV-9).  And the standby has the same pages: replay is compared with them
# after each record.
#
# Without hot_standby_feedback rows that only the standby needs are dead for the primary, and no
# run that it makes has them.  They stay in the table as long as no page is pruned.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderRuns;
use RencoderTest;
use Test::More;

my ($primary, $standby) = start_primary_with_standby(
	conf => "wal_consistency_checking = 'all'\nwal_keep_size = '2GB'\n"
	  . "max_standby_streaming_delay = -1\n");
load_runs_table($primary, 1700);

# Nobody is to prune pages that have room for a row.
$primary->safe_psql('postgres', 'ALTER TABLE t SET (fillfactor = 100)');
create_runs_index($primary);
wait_for_standby($primary, $standby);

my $by_index = 'SET LOCAL enable_seqscan = off; SET LOCAL enable_indexscan = off; '
  . 'SET LOCAL enable_bitmapscan = on;';
my $by_table = 'SET LOCAL enable_seqscan = on; SET LOCAL enable_indexscan = off; '
  . 'SET LOCAL enable_bitmapscan = off;';

# Some rows by their values and a part of the table by a string, as the snapshot has them.
my $look = q{SELECT count(*), sum(t.id::int8 * t.id) FROM unnest(
	(SELECT array_agg(hashint8extended(i, 1) >> 20) FROM generate_series(1, 1700, 20) i)) a,
	LATERAL (SELECT id FROM t WHERE v = a OFFSET 0) t;
	SELECT count(*), sum(id) FROM t WHERE s BETWEEN 'https://example.org/2' AND
		'https://example.org/4';
	SELECT count(*), sum(id) FROM t WHERE few = 5 AND v > 0};

sub open_snapshot
{
	my ($node) = @_;
	my $session = $node->background_psql('postgres', on_error_stop => 0);

	$session->query('BEGIN ISOLATION LEVEL REPEATABLE READ');
	return {
		session => $session,
		name    => $node->name,
		rows    => scalar $session->query("$by_table $look")
	};
}

sub verify_snapshot
{
	my ($snapshot, $name) = @_;

	is(scalar $snapshot->{session}->query("$by_index $look"),
		$snapshot->{rows}, "$name: the $snapshot->{name}'s snapshot, by the index");
	return;
}

# Name, commands.  VACUUM takes no row away that a snapshot of the primary needs.
sub go_through
{
	my ($snapshot, @steps) = @_;

	foreach my $step (@steps)
	{
		my ($name, @commands) = @$step;

		$primary->safe_psql('postgres', $_) foreach @commands;
		wait_for_standby($primary, $standby);
		verify_snapshot($snapshot, $name);
		verify_runs($_, "$name, " . $_->name, 2) foreach $primary, $standby;
	}
	return;
}

my $summarize = q{SELECT rencoder_maintain_index('t_idx')};
my $compact = q{SELECT rencoder_compact('t_idx')};
# At most two rows of a page.
my @changes = map { 'SELECT change(' . 2 * $_ . ')' } 1 .. 20;

#
# The standby's, while the primary compacts without a VACUUM.
#
my $snapshot = open_snapshot($standby);
like($snapshot->{rows}, qr/^85\|/, 'the snapshot has the rows');
go_through($snapshot, [ 'updates', @changes[0 .. 9] ], [ 'compaction', $compact ],
	[ 'more updates', @changes[10 .. 19] ], [ 'another compaction', $compact ]);
is($primary->safe_psql('postgres',
		"SELECT count(DISTINCT run) FROM rencoder_runs('t_idx')"), 1, 'there is one run');
$snapshot->{session}->query('COMMIT');
$snapshot->{session}->quit;

#
# The primary's, while all else goes on.
#
$primary->safe_psql('postgres', $_)
  foreach 'DROP INDEX t_idx', 'TRUNCATE t', 'ALTER TABLE t SET (fillfactor = 50)',
  'SELECT fill(1, 1700)';
create_runs_index($primary);
$snapshot = open_snapshot($primary);
go_through(
	$snapshot,
	[ 'deltas', map { ("SELECT change($_)", 'VACUUM t') } 1 .. 6 ],
	[ 'flush', 'SELECT put(999)', $summarize, 'VACUUM t', 'DELETE FROM t WHERE id % 5 = 1' ],
	[ 'updates', @changes, 'VACUUM t' ],
	[ 'base runs merged', map { ('SELECT put(520)', 'VACUUM t') } 1 .. 9 ],
	[ 'compaction', 'SELECT change(3)', $compact ],
	[ 'parts made anew', q{SELECT count(rencoder_compact('t_idx', b, b + 30))
		FROM generate_series(3, 400, 40) b}, $summarize, 'VACUUM t', $compact ]);
$snapshot->{session}->query('COMMIT');
$snapshot->{session}->quit;
$primary->safe_psql('postgres', 'VACUUM t');
wait_for_standby($primary, $standby);
verify_runs($_, 'without old snapshots, ' . $_->name) foreach $primary, $standby;

#
# What a crash leaves is freed by records, too.
#
$primary->safe_psql('postgres', 'SELECT change(5), put(300)');
my $maintenance = start_repeatedly($primary, 'SELECT change(6)', $compact);
$primary->poll_query_until('postgres',
	q{SELECT count(*) > 0 FROM rencoder_runs('t_idx') WHERE state = 'building'})
  or die 'no run is made';
$primary->stop('immediate');
$maintenance->{handle}->finish;
$primary->start;
$primary->safe_psql('postgres', 'VACUUM t');
wait_for_standby($primary, $standby);
verify_runs($_, 'after a crash, ' . $_->name) foreach $primary, $standby;
my $state = q{SELECT string_agg(r::text, ' ' ORDER BY r::text) FROM rencoder_runs('t_idx') r
	UNION ALL SELECT m::text FROM rencoder_metapage('t_idx') m};
is($standby->safe_psql('postgres', $state), $primary->safe_psql('postgres', $state),
	'the standby has the same runs');
unlike(slurp_file($standby->logfile), qr/inconsistent page found/, 'no page was found different');
$standby->stop;
$primary->stop;
done_testing();
