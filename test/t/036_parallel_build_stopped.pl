# CREATE INDEX by several processes that is cancelled, or in which one of them fails:
# nobody goes on, and nothing is left.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderBuild;
use RencoderTest;
use Test::More;
use Time::HiRes qw(time);

my $node = start_node();

# Files of the database to which no relation belongs.
sub orphans
{
	return $node->safe_psql('postgres', "
		SELECT string_agg(f, ' ') FROM pg_ls_dir((SELECT 'base/' || oid FROM pg_database
			WHERE datname = 'postgres')) f
		WHERE f ~ '^[0-9]+\$' AND pg_filenode_relation(0, f::oid) IS NULL AND
			EXISTS (SELECT FROM pg_stat_file((SELECT 'base/' || oid FROM pg_database
				WHERE datname = 'postgres') || '/' || f, true)
					WHERE size > 0)");
}

# Something happens while both workers sleep; the index must not be there, and
# nobody goes on.  Returns what was seen of the progress.
sub disturb
{
	my ($name, $mode, $what) = @_;
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	my @done;

	$session->query_safe("SET client_min_messages = error");
	$session->query_safe("SET test.mode = '$mode'");
	$session->query_until(qr/started/, "\\echo started
		CREATE INDEX disturbed ON t USING rencoder (slow(id, v))
			WITH ($LIMITS);\n");
	$node->poll_query_until('postgres', "SELECT count(*) = 2 FROM pg_stat_activity
		WHERE backend_type = 'parallel worker' AND wait_event = 'PgSleep'")
	  or die 'the workers do not sleep';
	if ($mode eq 'slow workers')
	{
		$node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_activity
			WHERE query LIKE '%CREATE INDEX disturbed%' AND wait_event = 'ParallelCreateIndexScan'")
		  or die 'the leader does not wait';
	}
	for (1 .. 2)
	{
		my ($blocks, $total) = split /\|/, $node->safe_psql('postgres',
			'SELECT blocks_done, blocks_total FROM pg_stat_progress_create_index');
		is($total, 4 * 128 + 3, "$name: blocks to be read");
		push @done, $blocks;
		$node->poll_query_until('postgres',
			"SELECT blocks_done > $blocks FROM pg_stat_progress_create_index")
		  or die 'no progress';
	}
	cmp_ok($done[1], '<=', 4 * 128 + 3, "$name: the progress is shown");

	my $start = time;
	$node->safe_psql('postgres', $what);
	$node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity
		WHERE backend_type = 'parallel worker' OR query LIKE '%CREATE INDEX disturbed%'
			AND state = 'active' AND pid <> pg_backend_pid()")
	  or die 'it goes on';
	# Each of three processes would read on for 1 s a block.
	my $rest = (4 * 128 + 3 - $done[1]) / 3;
	cmp_ok(time - $start, '<', $rest / 2, sprintf '%s: ends soon, not after %.1f s', $name, $rest);
	$session->quit;
	is($node->safe_psql('postgres', "SELECT count(*) FROM pg_class WHERE relname = 'disturbed'"),
		0, "$name: no index");
	is(orphans(), '', "$name: no file");
	return;
}

disturb('cancelled', 'slow', "SELECT pg_cancel_backend(pid) FROM pg_stat_progress_create_index");
disturb('cancelled while waiting',
	'slow workers', "SELECT pg_cancel_backend(pid) FROM pg_stat_progress_create_index");
disturb('a worker is terminated', 'slow', "SELECT pg_terminate_backend(pid) "
	  . "FROM pg_stat_activity WHERE backend_type = 'parallel worker' LIMIT 1");

my ($ret, $out, $err) = $node->psql('postgres', "SET test.mode = 'workers fail';
	CREATE INDEX disturbed ON t USING rencoder (slow(id, v)) WITH ($LIMITS);");
isnt($ret, 0, 'a worker fails');
like($err, qr/ERROR:  division by zero/, 'with its own error');
like($err, qr/parallel worker/, 'in a worker');
is(orphans(), '', 'a worker fails: no file');

# The last row fails, when keys have been spilled.  The session that asks is the same: its
# end would remove files, too.
foreach my $workers (0, 2)
{
	my $log = -s $node->logfile;

	($ret, $out, $err) = $node->psql('postgres', "
		SET maintenance_work_mem = '1MB';
		SET max_parallel_maintenance_workers = $workers;
		SET log_temp_files = 0;
		CREATE INDEX disturbed ON narrow USING rencoder ((v / last_fails(n)), v)
			WITH ($LIMITS, storage = run);
		SELECT count(*) FROM pg_ls_dir('base/pgsql_tmp', true, false);", on_error_stop => 0);
	like($err, qr/ERROR:  division by zero/, "$workers workers: the build fails");
	like(slurp_file($node->logfile, $log), qr/temporary file: path .*pgsql_tmp/,
		"$workers workers: when it has spilled keys");
	is($out, 0, "$workers workers: no temporary file");
}

$node->stop;
done_testing();
