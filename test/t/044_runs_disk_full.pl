# No space left while runs are made: CREATE INDEX, pending pages, deltas, flushes,
# compaction.  A clear error, nothing lost, the next try succeeds.
#
# The limit is that of the size of files (RLIMIT_FSIZE), as in 016_disk_full.pl.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderTest;
use Test::More;

my $REASON = qr/No space left on device|File too large|wrote only/;
my $FULL   = qr/could not (?:extend|write)[^\n]*: $REASON/;

plan skip_all => 'prlimit(1) is missing'
  if system('prlimit --version > /dev/null 2>&1') != 0;

# WAL segments of 1 MB: they are files, too.
my $node = new_node('main', initdb => ['--wal-segsize=1'],
	conf => "log_statement = none\nlog_checkpoints = off\nmin_wal_size = 2MB\n"
	  . "fsync = off\nmax_wal_size = 200MB\n");

sub sql
{
	my ($sql) = @_;

	return $node->safe_psql('postgres', $sql);
}

# What a command complains of.
sub try_sql
{
	my ($sql) = @_;
	my ($ret, $out, $err) = $node->psql('postgres', $sql);

	return $err;
}

# Processes that the postmaster starts from now on write no file beyond that size.
sub limit_files
{
	my ($limit) = @_;
	my ($pid) = split /\n/, slurp_file($node->data_dir . '/postmaster.pid');

	system_or_bail('prlimit', '--pid', $pid, "--fsize=$limit:");
	return;
}

sub index_size { return sql("SELECT pg_relation_size('d_v')"); }

# Every column is the same: a large index for a small table.
my $COLUMNS = join ', ', ('v') x 18;
my $create = "CREATE INDEX d_v ON d USING rencoder ($COLUMNS) "
  . 'WITH (storage = run, pages_per_range = 1, false_pages = 1e-12, autosummarize = off)';
sql(q{
	CREATE TABLE d (v int8) WITH (fillfactor = 50);
	CREATE FUNCTION fill(n int, seed int) RETURNS void LANGUAGE sql AS
		'INSERT INTO d SELECT hashint8extended(i, seed) FROM generate_series(1, n) i';
	SELECT fill(30000, 1);
});
my $runs = q{SELECT count(DISTINCT run) FROM rencoder_runs('d_v') WHERE };

sub verify
{
	my ($name) = @_;

	is(try_sql("SELECT rencoder_index_check('d_v', true)"), '',
		"$name: the index is sound and covers all rows");
	compare_many_with_seqscan(
		$node,
		'postgres',
		[
			map {
				my $row = 'SELECT v FROM d ORDER BY v OFFSET ' . rnd(14000) . ' LIMIT 1';

				(   "SELECT v FROM d WHERE v = ($row)",
					"SELECT v FROM d WHERE v BETWEEN greatest(($row), -9e18::int8) - 1000000 "
					  . "AND ($row)")
			} 1 .. 8
		],
		$name);
	return;
}

# A command that gets a bit further each time, since it finds the pages of the one before;
# nothing is left of what has failed.
sub in_steps
{
	my ($name, $step, $command) = @_;
	my $failures = 0;
	my $most     = 3 * index_size();

	while (index_size() < $most)
	{
		limit_files(index_size() + $step);
		my $err = try_sql($command);

		limit_files('unlimited');
		last if $err eq '';
		like($err, $FULL, "$name: says what is wrong") if $err !~ $FULL || $failures == 0;
		verify("$name, failure $failures") if $failures++ < 2;
	}
	cmp_ok($failures, '>', 0, "$name: succeeds after $failures failures");
	cmp_ok(index_size(), '<', $most, "$name: what has failed is used again");
	is(sql("$runs state <> 'live'"), '0', "$name: nothing is left of the failures");
	verify("$name, done");
	return;
}

#
# CREATE INDEX and REINDEX, of which one run is made.
#
sql($create);
is(sql("$runs kind = 'base'"), '1', 'a base run');
my $size = index_size();
cmp_ok($size, '>', 1.2 * sql("SELECT pg_relation_size('d')"), "an index of $size bytes");
sql('DROP INDEX d_v; CHECKPOINT');
limit_files(int 0.9 * $size);
like(try_sql($create), $FULL, 'CREATE INDEX says what is wrong');
limit_files('unlimited');
is(sql("SELECT count(*) FROM pg_class WHERE relname = 'd_v'"), '0', 'and leaves no index');
is(try_sql($create), '', 'the next one succeeds');
limit_files(int 0.9 * $size);
like(try_sql('REINDEX INDEX d_v'), $FULL, 'REINDEX says what is wrong');
verify('REINDEX failed');
limit_files('unlimited');
is(try_sql('REINDEX INDEX d_v'), '', 'the next one succeeds');
verify('REINDEX succeeded');

#
# Rows that come to covered ranges want pending pages.
#
my $change = 'UPDATE d SET v = hashint8extended(v, 5) WHERE v % 55 = 0';
limit_files(index_size() + 100_000);
like(try_sql($change), $FULL, 'pending pages: says what is wrong');
verify('no pending pages');
limit_files('unlimited');
# Queries that read pending pages count for five seconds, in which the session makes deltas of few.
sql('SELECT pg_sleep(6)');
is(try_sql($change), '', 'pending pages: the next one succeeds');
cmp_ok(sql("SELECT pending_pages FROM rencoder_metapage('d_v')"), '>', 10, 'there are many');
verify('pending pages');
in_steps('delta', 60_000, 'VACUUM d');
cmp_ok(sql("$runs kind = 'delta'"), '>', 0, 'there is a delta');

#
# The end of the table becomes a run.
#
sql('SELECT fill(15000, 2)');
in_steps('tail', 200_000, "SELECT rencoder_maintain_index('d_v')");
is(sql("SELECT unindexed FROM rencoder_candidates('d_v', 1::int8, 2::int8)"), 0, 'it has a run');

#
# All in one run: there is no room yet for another one of the same size.
#
sql('REINDEX INDEX d_v');
sql($change);
in_steps('compaction', 400_000, q{SELECT rencoder_compact('d_v')});
is(sql("$runs kind = 'base'"), '1', 'one run');
is(sql("$runs kind = 'delta'"), '0', 'no delta');
verify('the end');
unlike(slurp_file($node->logfile), qr/TRAP:|PANIC:|was terminated by signal/, 'no crash');
$node->stop;
done_testing();
