# An exclusion constraint with eight clients that insert, change and delete the same ids, beside
# VACUUM and maintenance: no id is there twice, after a crash in the middle, after a load, after
# prepared transactions, and on a standby that is promoted.
#
# RENCODER_EXCLUDE_SECONDS says for how long there are more crashes, at random, after the first one.
use strict;
use warnings;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderTest;
use Test::More;
use Time::HiRes qw(time);

my $SECONDS = $ENV{RENCODER_EXCLUDE_SECONDS} || 0;

my ($primary, $standby) = start_primary_with_standby(
	conf => "max_connections = 20\nmax_prepared_transactions = 10\nautovacuum = off\n"
	  . "deadlock_timeout = 20ms\n");

$primary->safe_psql('postgres', <<~'SQL');
	CREATE TABLE e (id int8, filler text, CONSTRAINT once EXCLUDE USING rencoder (id WITH =));
	INSERT INTO e SELECT i, repeat('x', 300) FROM generate_series(-2000, -1) i;
	CREATE TABLE done (n serial);
SQL

my $script = $primary->basedir . '/load.sql';

append_to_file($script, <<~'SQL');
	\set id random(1, 3000)
	\set what random(1, 10)
	\if :what <= 6
	INSERT INTO e VALUES (:id, repeat('y', :id % 400)) ON CONFLICT DO NOTHING;
	\elif :what <= 8
	DELETE FROM e WHERE id = :id;
	\elif :what = 9
	UPDATE e SET filler = filler || 'z' WHERE id = :id;
	\else
	BEGIN;
	INSERT INTO e VALUES (:id) ON CONFLICT DO NOTHING;
	INSERT INTO e VALUES (:id / 2) ON CONFLICT DO NOTHING;
	END;
	\endif
	INSERT INTO done DEFAULT VALUES;
SQL

# Once in 500 transactions, beside all else.
my $maintenance = $primary->basedir . '/maintenance.sql';

append_to_file($maintenance, <<~'SQL');
	VACUUM e;
	SELECT rencoder_maintain_index('once');
	SELECT rencoder_compact('once');
SQL

# So many transactions of each client; "meanwhile" is called until all are done, or it says so.
sub load
{
	my ($transactions, $seed, $meanwhile, @more) = @_;
	my ($out, $err) = ('', '');
	my $handle = IPC::Run::start(
		[
			'pgbench', '-n', '-c', 8, '-j', 2, '-t', $transactions, "--random-seed=$seed",
			'--max-tries=50', '-f', "$script\@499", @more, '-h', $primary->host,
			'-p', $primary->port, 'postgres'
		],
		'<', \undef, '>', \$out, '2>', \$err);

	1 while $handle->pumpable && !$meanwhile->() && eval { $handle->pump_nb; 1 };
	$handle->finish;
	return $out;
}

sub maintain
{
	$primary->safe_psql('postgres',
		"VACUUM e; SELECT rencoder_maintain_index('once'), rencoder_compact('once')");
	return 0;
}

sub has_no_duplicate
{
	my ($node, $name) = @_;

	is( $node->safe_psql(
			'postgres', 'SET enable_indexscan = off; SET enable_bitmapscan = off;'
			  . 'SELECT id, count(*) FROM e GROUP BY id HAVING count(*) > 1'),
		'',
		"$name: no id twice");
	cmp_ok($node->safe_psql('postgres', 'SELECT count(*) FROM e WHERE id > 0'),
		'>', 100, "$name: rows are there");
	$node->safe_psql('postgres', "SELECT rencoder_index_check('once', true)");
	return;
}

# A crash, when a part is done.
load(
	5000, 1,
	sub {
		maintain();
		return 0 if $primary->safe_psql('postgres', 'SELECT count(*) FROM done') < 2000;
		$primary->stop('immediate');
		return 1;
	});
$primary->start;
has_no_duplicate($primary, 'after a crash');

my $end = time + $SECONDS;

while (time < $end)
{
	my $done = $primary->safe_psql('postgres', 'SELECT count(*) FROM done') + rnd(20_000);

	load(
		100_000,
		rnd(1_000_000),
		sub {
			sleep 1;
			return 0 if $primary->safe_psql('postgres', 'SELECT count(*) FROM done') < $done;
			$primary->stop('immediate');
			return 1;
		},
		'-f', "$maintenance\@1");
	$primary->start;
	has_no_duplicate($primary, "after a crash at $done");
}

# Prepared transactions are waited for.
$primary->safe_psql('postgres', "BEGIN; INSERT INTO e VALUES (5000); PREPARE TRANSACTION 'p'");
$primary->stop('immediate');
$primary->start;
maintain();

my $waiting = IPC::Run::start(
		[
			'psql', '-XAtq', '-d', $primary->connstr('postgres'), '-c',
			"SET application_name = 'waits'", '-c',
			'INSERT INTO e VALUES (5000), (5001) ON CONFLICT DO NOTHING'
		]);

ok( $primary->poll_query_until('postgres',
		"SELECT count(*) = 1 FROM pg_stat_activity WHERE application_name = 'waits'"
		  . " AND wait_event_type = 'Lock'"),
	'an insert waits for a prepared one');
$primary->safe_psql('postgres', "COMMIT PREPARED 'p'");
$waiting->finish;
is($primary->safe_psql('postgres', 'SELECT id FROM e WHERE id >= 5000 ORDER BY id'),
	"5000\n5001", 'and leaves out what came');

# All of a load; the standby takes over.
my $before = $primary->safe_psql('postgres', 'SELECT count(*) FROM done');

like(load(400, 2, \&maintain), qr/number of failed transactions: 0/, 'no transaction fails');
is($primary->safe_psql('postgres', 'SELECT count(*) FROM done'),
	$before + 3200, 'all transactions are done');
has_no_duplicate($primary, 'after a load');
wait_for_standby($primary, $standby);
$primary->stop;
$standby->promote;
has_no_duplicate($standby, 'promoted');
is( $standby->safe_psql(
		'postgres', 'WITH i AS (INSERT INTO e SELECT id FROM e WHERE id IS NOT NULL'
		  . ' ON CONFLICT DO NOTHING RETURNING id) SELECT count(*) FROM i'),
	0,
	'promoted: each id is known');

done_testing();
