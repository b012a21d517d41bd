# RencoderTest.pm
#		What the TAP tests share: seeded random numbers, nodes, and the one
#		question that matters: does the index give what the heap gives?
#
# Works with PostgreSQL::Test::Cluster of PostgreSQL 15 .. 18.
package RencoderTest;

use strict;
use warnings;

use Exporter 'import';
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

our @EXPORT = qw(
  rnd rnd_between rnd_pick
  new_node start_primary_with_standby recover_to wait_for_standby
  compare_with_seqscan compare_many_with_seqscan uses_index interval
  start_sql finish_sql create_stopping_function start_and_stop
  wait_for_sessions_to_end wait_for_server without_others
);

# Settings of the three ways to run a query.  In each the plan is a bitmap scan,
# a plain index scan or a sequential scan of one process.
my $COMMON = 'SET max_parallel_workers_per_gather = 0; SET jit = off;'
  . ' SET enable_indexonlyscan = off;';
my $BY_INDEX = 'SET rencoder.enable_scan = on; SET enable_bitmapscan = on;'
  . ' SET enable_indexscan = off; SET enable_seqscan = off;';
my $BY_ROWS = 'SET rencoder.enable_scan = on; SET enable_bitmapscan = off;'
  . ' SET enable_indexscan = on; SET enable_seqscan = off;';
my $BY_HEAP = 'SET rencoder.enable_scan = off; SET enable_bitmapscan = off;'
  . ' SET enable_indexscan = off; SET enable_seqscan = on;';

# pg_ctl has as much patience as the tests have.
$ENV{PGCTLTIMEOUT} = $PostgreSQL::Test::Utils::timeout_default;

# BackgroundPsql of early minor releases leaves the line end of an answer, there or at the
# beginning of the next one.  Those that wait for the connection do not.
if (!PostgreSQL::Test::BackgroundPsql->can('wait_connect'))
{
	my $query = \&PostgreSQL::Test::BackgroundPsql::query;

	no warnings 'redefine';
	*PostgreSQL::Test::BackgroundPsql::query = sub {
		my @answer = $query->(@_);

		$answer[0] =~ s/\A\n|\n\z//g;
		return wantarray ? @answer : $answer[0];
	};
}

# Random numbers are the module's own: perl's rand() may differ between
# versions.  A Lehmer generator in 31 bits stays exact in perl's integers.
my $seed = $ENV{RENCODER_SEED};
$seed = int(rand(1_000_000_000)) if !defined $seed || $seed eq '';
my $state = $seed % 2147483646 + 1;

INIT
{
	note("seed $seed (RENCODER_SEED)");
	next_state() for 1 .. 10;
}

sub next_state
{
	$state = $state * 48271 % 2147483647;
	return $state;
}

# 0 <= rnd(n) < n; n up to 2**53.
sub rnd
{
	my ($n) = @_;

	return next_state() % $n if $n < 1_000_000;
	return (next_state() * 2**22 + next_state() % 2**22) % $n;
}

# An integer, both ends included.
sub rnd_between
{
	my ($lo, $hi) = @_;

	return $lo + rnd($hi - $lo + 1);
}

# "lo AND hi" of an interval from the bigint expression lo on, no longer than length:
# it ends with the domain.
sub interval
{
	my ($lo, $length) = @_;
	my $max = '9223372036854775807';

	return "$lo AND least($lo, $max - $length) + $length";
}

sub rnd_pick
{
	return $_[ rnd(scalar @_) ];
}

# new_node(NAME, streaming => 1, conf => "lines", checksums => 1, initdb => [ OPTION, .. ])
# A started node with the extension in database postgres.  The tests say when
# VACUUM runs.
sub new_node
{
	my ($name, %params) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init(
		allows_streaming => $params{streaming} || 0,
		extra            => [
			'--locale=C', '--encoding=UTF8',
			$params{checksums} ? '--data-checksums' : (), @{ $params{initdb} || [] }
		]);
	$node->append_conf('postgresql.conf', "autovacuum = off\n");
	$node->append_conf('postgresql.conf', $params{conf}) if $params{conf};
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION rencoder');
	return $node;
}

# start_primary_with_standby(conf => "lines for both", standby_conf => "lines",
#	checksums => 1)
# returns (primary, standby), both running.
sub start_primary_with_standby
{
	my (%params) = @_;
	# What the standby has not got yet is kept, however late it is.
	my $primary = new_node('primary', streaming => 1, checksums => $params{checksums},
		conf => "wal_keep_size = '2GB'\n" . ($params{conf} // ''));
	my $standby = PostgreSQL::Test::Cluster->new('standby');

	$primary->backup('base');
	$standby->init_from_backup($primary, 'base', has_streaming => 1);
	$standby->append_conf('postgresql.conf', $params{standby_conf})
	  if $params{standby_conf};
	$standby->start;
	return ($primary, $standby);
}

# Starts a node, which comes from a backup, with recovery up to a position in the WAL.
sub recover_to
{
	my ($node, $lsn, $conf) = @_;

	$node->append_conf('postgresql.conf',
		"recovery_target_lsn = '$lsn'\nrecovery_target_action = 'promote'\n$conf\n");
	$node->start;
	$node->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()')
	  or die 'recovery does not end';
}

# Until the standby has replayed all that the primary has done.  What a query
# or VACUUM logged is flushed by the commit of a transaction that has an id and
# has logged something itself; without the latter the commit is asynchronous.
sub wait_for_standby
{
	my ($primary, $standby) = @_;

	$primary->safe_psql('postgres', "SELECT pg_logical_emit_message(true, 'rencoder', '')");
	$primary->wait_for_catchup($standby, 'replay', $primary->lsn('flush'));
	return;
}

# start_sql(NODE, SQL, DBNAME)
# A session that runs in the background, as one command.
sub start_sql
{
	my ($node, $sql, $dbname) = @_;
	my ($in, $out, $err) = ('', '', '');

	return {
		err    => \$err,
		handle => IPC::Run::start(
			[ 'psql', '-XqAt', '-v', 'ON_ERROR_STOP=1', '-d',
				$node->connstr($dbname // 'postgres'), '-c', $sql ],
			'<', \$in, '>', \$out, '2>', \$err)
	};
}

# Waits for its end.  One test: there was no error.
sub finish_sql
{
	my ($session, $name) = @_;

	$session->{handle}->finish;
	is(${ $session->{err} }, '', $name);
	return;
}

# Creates f(int8), for an index on an expression: the key itself.  Who reads the row of key -1 in a
# session of start_and_stop() stops there.
sub create_stopping_function
{
	my ($node) = @_;

	$node->safe_psql('postgres', q{
		CREATE FUNCTION f(v int8) RETURNS int8 LANGUAGE plpgsql IMMUTABLE AS $$
		BEGIN
			IF v = -1 AND current_setting('test.stops', true) = 'on' THEN
				PERFORM pg_advisory_lock_shared(1), pg_advisory_unlock_shared(1);
			END IF;
			RETURN v;
		END $$});
	return;
}

# Starts SQL, which reads the rows of such an index; returns the session that stops it, by advisory
# lock 1, and that of the SQL.  One test: it has been stopped.
sub start_and_stop
{
	my ($node, $sql) = @_;
	my $stopper = $node->background_psql('postgres');

	$stopper->query_safe('SELECT pg_advisory_lock(1)');
	my $session = start_sql($node, "SET test.stops = on; $sql");
	ok($node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_locks
		WHERE locktype = 'advisory' AND NOT granted}), 'rows are being read');
	return ($stopper, $session);
}

# psql ends before its session does, which reports statistics at its end.
sub wait_for_sessions_to_end
{
	my ($node, $dbname) = @_;

	$node->poll_query_until($dbname // 'postgres',
		"SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'client backend' "
		  . 'AND datname = current_database() AND pid <> pg_backend_pid()')
	  or die 'sessions do not end';
	return;
}

# A server that recovers by itself.  Not asked by a query of psql, which may end before it has read
# it: then perl would die of a broken pipe.
sub wait_for_server
{
	my ($node) = @_;

	foreach (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return if system('pg_isready', '-q', '-h', $node->host, '-p', $node->port) == 0;
		usleep(100_000);
	}
	die 'the server does not come back';
}

# DROP DATABASE, or CREATE DATABASE of a template.  They give others 5 seconds to leave it,
# which may be too short for sessions that are ending and the worker: then once more.
sub without_others
{
	my ($node, $sql) = @_;
	my ($ret, $out, $err);

	for (1 .. $PostgreSQL::Test::Utils::timeout_default / 5)
	{
		($ret, $out, $err) = $node->psql('template1', $sql);
		return if $ret == 0;
		last if $err !~ /is being accessed by other users/;
	}
	die "$sql: $err";
}

# Is the index named in the plan, when sequential scans are not wanted?
sub uses_index
{
	my ($node, $dbname, $query, $index) = @_;
	my $plan = $node->safe_psql($dbname,
		"$COMMON $BY_INDEX EXPLAIN (COSTS OFF) $query");

	return $plan =~ /Bitmap Index Scan on "?\Q$index\E"?\s*$/m ? 1 : 0;
}

# One test: the query returns the same rows by the index and by a sequential
# scan.  Works on a standby.  With index => NAME also that this index is used,
# without which the comparison would prove nothing.
sub compare_with_seqscan
{
	my ($node, $dbname, $query, %params) = @_;
	my $name = $params{name} || $query;
	my $rows = "SELECT q::text FROM ($query) q ORDER BY q::text COLLATE \"C\"";

	if ($params{index} && !uses_index($node, $dbname, $query, $params{index}))
	{
		fail($name);
		diag("index $params{index} is not used by: $query");
		return 0;
	}
	my @by_index = split /\n/,
	  $node->safe_psql($dbname, "$COMMON $BY_INDEX $rows");
	my @by_rows = split /\n/,
	  $node->safe_psql($dbname, "$COMMON $BY_ROWS $rows");
	my @by_heap = split /\n/,
	  $node->safe_psql($dbname, "$COMMON $BY_HEAP $rows");

	return ok(1, $name)
	  if "@by_index" eq "@by_heap" && "@by_rows" eq "@by_heap";
	fail($name);
	diag(sprintf '%d rows by the index, %d by a plain scan, %d by the heap: %s',
		scalar @by_index, scalar @by_rows, scalar @by_heap, $query);
	show_difference("@by_index" eq "@by_heap" ? \@by_rows : \@by_index,
		\@by_heap);
	return 0;
}

# The first rows that only one side has.
sub show_difference
{
	my ($by_index, $by_heap) = @_;
	my %count;

	$count{$_}++ for @$by_heap;
	$count{$_}-- for @$by_index;
	my @missing = grep { $count{$_} > 0 } sort keys %count;
	my @surplus = grep { $count{$_} < 0 } sort keys %count;
	diag("missing: $_") for splice @missing, 0, 5;
	diag("surplus: $_") for splice @surplus, 0, 5;
	return;
}

# One test for many queries, in one session for each way.  Compares number and
# hashes of the rows.  The test's name says how many queries had rows at all.
sub compare_many_with_seqscan
{
	my ($node, $dbname, $queries, $name) = @_;
	my $number = 0;
	my $script = join "\n", map {
		$number++;
		"SELECT $number, count(*), "
		  . "coalesce(sum(hashtextextended(q::text, 0)::numeric), 0) FROM ($_) q;"
	} @$queries;
	my @by_index = split /\n/,
	  $node->safe_psql($dbname, "$COMMON $BY_INDEX\n$script");
	my @by_rows = split /\n/,
	  $node->safe_psql($dbname, "$COMMON $BY_ROWS\n$script");
	my @by_heap = split /\n/,
	  $node->safe_psql($dbname, "$COMMON $BY_HEAP\n$script");
	my @wrong =
	  grep {
		($by_index[$_] // '') ne ($by_heap[$_] // '')
		  || ($by_rows[$_] // '') ne ($by_heap[$_] // '')
	  } 0 .. $#$queries;
	my $nonempty = grep { !/\|0\|0$/ } @by_heap;

	is(scalar @wrong, 0,
		sprintf '%s (%d queries, %d with rows)',
		$name, scalar @$queries, $nonempty);
	foreach my $i (splice @wrong, 0, 5)
	{
		diag("by index $by_index[$i], by plain scan $by_rows[$i], "
			  . "by heap $by_heap[$i]: $queries->[$i]");
	}
	return;
}

1;
