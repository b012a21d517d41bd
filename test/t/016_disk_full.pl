# No space left for the index: a clear error, or a line in the log where nobody
# asked for the work; nothing lost; the next try succeeds.
#
# The limit is that of the size of files (RLIMIT_FSIZE), set for the server's new
# processes by prlimit(1), which needs no privileges.  With RENCODER_SMALL_FS, the
# name of a directory on a small file system (16 MB) that is the server's own, the
# indexes go into a tablespace there, and the space is really used up:
#
#	mount -t tmpfs -o size=16m,uid=postgres none /mnt/small
#	RENCODER_SMALL_FS=/mnt/small bash test/sandbox.sh tap test/t/016_disk_full.pl
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderTest;
use Test::More;
use Time::HiRes qw(usleep);

my $MB       = 1048576;
my $small_fs = $ENV{RENCODER_SMALL_FS};
my $REASON   = qr/No space left on device|File too large|wrote only/;
my $FULL     = qr/could not (?:extend|write)[^\n]*: $REASON/;

plan skip_all => 'prlimit(1) is missing; give RENCODER_SMALL_FS'
  if !$small_fs && system('prlimit --version > /dev/null 2>&1') != 0;

# WAL segments of 1 MB: they are files, too.
my $node = new_node('main', initdb => ['--wal-segsize=1'],
	conf => "log_statement = none\nlog_checkpoints = off\nmin_wal_size = 2MB\n"
	  . "fsync = off\nmax_wal_size = 200MB\n");

sub sql
{
	my ($sql) = @_;

	return $node->safe_psql('postgres', $sql);
}

# The index may grow by so many bytes, the postmaster's children start with the
# limit.  A new index of REINDEX has nothing yet.
sub allow
{
	my ($more, $index) = @_;
	my $now = $index ? sql("SELECT pg_relation_size('$index')") : 0;

	if ($small_fs)
	{
		unlink "$small_fs/ballast";
		my ($free) = `df --output=avail -B1 $small_fs` =~ /^\s*(\d+)/m;
		open my $file, '>', "$small_fs/ballast" or die "$small_fs/ballast: $!";
		syswrite $file, 'x' x ($free - $more) if $free > $more;
		close $file;
		return;
	}
	my $limit = $now + $more;

	# The table wants as much.
	$limit = 1.4 * $MB if $limit < 1.4 * $MB;
	set_limit(int $limit);
	return;
}

sub set_limit
{
	my ($limit) = @_;
	my ($pid) = split /\n/, slurp_file($node->data_dir . '/postmaster.pid');

	system_or_bail('prlimit', '--pid', $pid, "--fsize=$limit:");
	return;
}

sub allow_all
{
	return unlink "$small_fs/ballast" if $small_fs;
	set_limit('unlimited');
	return;
}

# What a command complains of.
sub try_sql
{
	my ($sql) = @_;
	my ($ret, $out, $err) = $node->psql('postgres', $sql);

	return $err;
}

# Every column is the same: a large index for a small table.
my $COLUMNS = join ', ', ('v') x 28;
my $OPTIONS = '(pages_per_range = 1, false_pages = 1e-12, autosummarize = off)';
my $space   = $small_fs ? 'TABLESPACE small' : '';
my $create  = "CREATE INDEX d_v ON d USING rencoder ($COLUMNS) WITH $OPTIONS $space";

if ($small_fs)
{
	mkdir "$small_fs/space";
	sql("CREATE TABLESPACE small LOCATION '$small_fs/space'");
}
sql(q{
	CREATE TABLE d (v int8) WITH (fillfactor = 50);
	CREATE FUNCTION fill(n int, seed int) RETURNS void LANGUAGE sql AS
		'INSERT INTO d SELECT hashint8extended(i, seed) FROM generate_series(1, n) i';
});

my $UNINDEXED = "SELECT unindexed FROM rencoder_candidates('d_v', 1::int8, 2::int8)";

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
				my $i = rnd_between(1, 15000);

				(   "SELECT v FROM d WHERE v = hashint8extended($i, 1)",
					'SELECT v FROM d WHERE v BETWEEN ' . interval("hashint8extended($i, 2)", 1000))
			} 1 .. 8
		],
		$name);
	return;
}

#
# CREATE INDEX, REINDEX.
#
sql('SELECT fill(15000, 1)');
sql($create);
my $size = sql("SELECT pg_relation_size('d_v')");
cmp_ok($size, '>', 1.5 * $MB, "an index of $size bytes");
sql('DROP INDEX d_v; CHECKPOINT');
my $files = sql("SELECT count(*) FROM pg_ls_dir('base/' || "
  . "(SELECT oid FROM pg_database WHERE datname = 'postgres')) f WHERE f ~ '^[0-9]'");
allow($size * 0.9);
like(try_sql($create), $FULL, 'CREATE INDEX says what is wrong');
is(sql("SELECT count(*) FROM pg_class WHERE relname = 'd_v'"), '0', 'and leaves no index');
allow_all();
sql('CHECKPOINT');
is(sql("SELECT count(*) FROM pg_ls_dir('base/' || "
  . "(SELECT oid FROM pg_database WHERE datname = 'postgres')) f WHERE f ~ '^[0-9]'"),
	$files, 'nor a file');
is(try_sql($create), '', 'the next CREATE INDEX succeeds');
verify('built');
foreach my $reindex ('REINDEX INDEX d_v', 'REINDEX INDEX CONCURRENTLY d_v')
{
	allow($size * 0.85);
	like(try_sql($reindex), $FULL, "$reindex says what is wrong");
	verify("$reindex failed");
	allow_all();
	is(try_sql($reindex), '', "the next $reindex succeeds");
	sql('DROP INDEX IF EXISTS d_v_ccnew');
	verify("$reindex succeeded");
}

#
# Commands that need space step by step: each step gets a bit further.
#
sub in_steps
{
	my ($name, $step, $command) = @_;
	my $failures = 0;

	foreach my $try (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		allow($step, 'd_v');
		my $err = try_sql($command);
		if ($err eq '')
		{
			allow_all();
			cmp_ok($failures, '>', 0, "$name: succeeds after $failures failures");
			note("$name: " . sql("SELECT pg_relation_size('d_v')") . ' bytes');
			verify("$name, done");
			return;
		}
		$failures++;
		like($err, $FULL, "$name: says what is wrong") if $err !~ $FULL || $failures == 1;

		# Rows go on coming, onto pages of all kinds; those of indexed ones may
		# need a page of the list.
		like(try_sql('SELECT fill(10, 1)'), qr/^$|$FULL/,
			"$name: rows are inserted, or there is no space for them");
		allow_all();
		verify("$name, failure $failures") if $failures < 4;
	}
	fail("$name: does not come to an end");
	return;
}

# How large does the index become undisturbed?
my $begin = 'SELECT fill(15000, 1)';
sql('DROP INDEX d_v; TRUNCATE d');
sql($create);
sql("$begin; SELECT rencoder_maintain_index('d_v')");
$size = sql("SELECT pg_relation_size('d_v')");
sql('DROP INDEX d_v; TRUNCATE d');
sql($create);
sql($begin);
in_steps('maintain', rnd_between(400, 900) * 1024, "SELECT rencoder_maintain_index('d_v')");
is(sql($UNINDEXED), '0', 'maintain: all pages');
my $now = sql("SELECT pg_relation_size('d_v')");
cmp_ok($now, '<=', $size * 1.15,
	"maintain: what the failures left is used, $now bytes instead of $size");

# By VACUUM.
sql('DROP INDEX d_v; TRUNCATE d');
sql($create);
sql('SELECT fill(15000, 1)');
in_steps('VACUUM', rnd_between(500, 900) * 1024, 'VACUUM d');
is(sql($UNINDEXED), '0', 'VACUUM: all pages');

# Another run.
sql('DROP INDEX d_v');
sql($create);
sql('UPDATE d SET v = hashint8extended(v, 3) WHERE v % 2 = 0');
in_steps('compact', rnd_between(500, 900) * 1024, "SELECT rencoder_compact('d_v')");

# Pages for query samples.
sql('TRUNCATE d; SELECT fill(15000, 1); DROP INDEX d_v');
sql($create);
is(sql("SELECT count(*) FROM rencoder_query_samples('d_v')"), '0', 'no samples');
allow(0, 'd_v');
like(try_sql("SELECT rencoder_add_query_sample('d_v', 1::int8, 2::int8)"), $FULL,
	'samples: says what is wrong');
allow_all();
is(try_sql("SELECT rencoder_add_query_sample('d_v', 1::int8, 2::int8)"), '',
	'samples: the next one is added');
cmp_ok(sql("SELECT count(*) FROM rencoder_query_samples('d_v')"), '>', 0, 'samples: it is there');
verify('samples');

# A reading that has failed leaves no page whose rows would be entries, which want space, too.
my $next_page = q{DO $$ DECLARE size bigint := pg_relation_size('d'); BEGIN
	WHILE pg_relation_size('d') = size LOOP PERFORM fill(1, 49); END LOOP; END $$};
foreach my $command ("SELECT rencoder_maintain_index('d_v')", 'VACUUM d',
	"SELECT rencoder_compact('d_v')")
{
	sql("DROP INDEX d_v; TRUNCATE d");
	sql($create);
	sql("SELECT fill(15000, 1); $next_page");
	allow($MB, 'd_v');
	like(try_sql($command), $FULL, "$command fails");
	allow(0, 'd_v');
	my @errors = grep { $_ ne '' } map { try_sql("SELECT fill(3, 50 + $_)") } 1 .. 30;
	is("@errors", '', "$command: INSERT does not fail after it");
	allow_all();
	verify("$command failed");
}

#
# Nobody asked for it: the worker, and sessions that index.
#
my $auto = $OPTIONS =~ s/ = off/ = on/r;
foreach my $who ('worker', 'session')
{
	my $line =
	  $who eq 'worker'
	  ? qr/ERROR:  could not.*?CONTEXT:[^\n]*automatic maintenance of index "\w+\.public\.d_v"/s :
	  qr/LOG:  could not make a run of index "d_v": could not/;

	if ($who eq 'session')
	{
		$node->stop;
		$node->append_conf('postgresql.conf', 'max_worker_processes = 0');
		$node->start;
	}
	sql('DROP INDEX d_v; TRUNCATE d; SELECT fill(15000, 1)');
	sql($create);
	# Rows that come to the last page that is indexed want space: it is filled up.
	sql($next_page);
	sql("ALTER INDEX d_v SET (autosummarize = on)");
	my $log = -s $node->logfile;
	allow(0, 'd_v');
	my @errors = grep { $_ ne '' } map { try_sql("SELECT fill(150, 50 + $_)") } 1 .. 30;
	is("@errors", '', "$who: INSERT does not fail");
	my $logged = 0;
	foreach my $try (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		$logged = slurp_file($node->logfile, $log) =~ $line;
		last if $logged;
		usleep(100_000);
	}
	ok($logged, "$who: the failure is logged");
	@errors = grep { $_ ne '' } map { try_sql("SELECT fill(20, 80 + $_)") } 1 .. 30;
	is("@errors", '', "$who: nor does it after a reading has failed");
	my $left = sql($UNINDEXED);
	cmp_ok($left, '>=', 16, "$who: $left pages could not be indexed");
	verify("$who, no space");

	# It would try again after a minute.
	allow_all();
	$node->restart;
	sql('SELECT fill(1000, 3)');
	$node->poll_query_until('postgres', "SELECT ($UNINDEXED) < 16");
	cmp_ok(sql($UNINDEXED), '<', 16, "$who: makes up for it when there is space");
	verify("$who, space");
}
unlike(slurp_file($node->logfile), qr/TRAP:|PANIC:|was terminated by signal/, 'no crash');
$node->stop;
done_testing();
