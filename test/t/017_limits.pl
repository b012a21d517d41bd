# Little memory, no slots for workers, commands that are cancelled or
# terminated at any moment: answers stay right, indexes sound.
use strict;
use warnings;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderLoad;
use RencoderTest;
use Test::More;
use Time::HiRes qw(usleep time);

# Times that each command is cancelled.
my $TRIES = $ENV{RENCODER_CANCELS} || 3;

my $node = new_node('main',
	conf => "log_statement = none\nsynchronous_commit = off\nmax_worker_processes = 1\n"
	  . "work_mem = 64kB\n");
my $version = $node->safe_psql('postgres', 'SHOW server_version_num');

# The least that there is.
my $memory = $version >= 170000 ? '64kB' : '1MB';

sub sql
{
	my ($sql) = @_;

	return $node->safe_psql('postgres', $sql);
}

#
# Memory.  All groups of m hold several times more keys than fit.
#
sql("ALTER SYSTEM SET maintenance_work_mem = '$memory'");
$node->reload;
sql(q{
	CREATE TABLE m (id int, v int8, s text, few int4);
	CREATE FUNCTION m_fill(first int, last int) RETURNS void LANGUAGE sql AS $$
		INSERT INTO m SELECT i, hashint8extended(i, 1),
			'https://www.example.com/' || left(md5(i::text), 12), i % 1000
		FROM generate_series(first, last) i
	$$;
	SELECT m_fill(1, 80000);
});
my %index = (
	m_v    => '(v) WITH (pages_per_range = 32, autosummarize = off)',
	m_huge => '(v, few) WITH (pages_per_range = 1024, autosummarize = off)',
	m_s    => '(s) WITH (pages_per_range = 16, autosummarize = off)');

sub queries_of_m
{
	my ($max) = @_;
	my @queries;

	foreach my $i (1 .. 2)
	{
		my $id = rnd_between(1, $max);
		my $list = join ',', map { rnd_between(-9_000_000, 9_000_000) * 1_000_000 } 1 .. 1500;

		push @queries,
		  "SELECT id FROM m WHERE v = hashint8extended($id, 1)",
		  'SELECT id FROM m WHERE v BETWEEN ' . interval("hashint8extended($id, 1)", 10**rnd(15)),
		  "SELECT id FROM m WHERE v IN ($list, hashint8extended($id, 1))",
		  "SELECT id FROM m WHERE v = ANY (ARRAY(SELECT hashint8extended(i, 1) "
		  . "FROM generate_series($id, $id + 40) i))",
		  "SELECT id FROM m WHERE s = ANY (ARRAY(SELECT 'https://www.example.com/' || "
		  . "left(md5(i::text), 12) FROM generate_series($id, $id + 60, 2) i))",
		  "SELECT id FROM m WHERE s LIKE 'https://www.example.com/"
		  . sprintf('%03x', rnd(4096)) . "%'",
		  "SELECT id FROM m WHERE few = " . rnd(1000) . " AND v > hashint8extended($id, 1)";
	}
	return \@queries;
}

sub verify_m
{
	my ($name, $max) = @_;
	my ($ret, $out, $err) = $node->psql('postgres',
		"SELECT rencoder_index_check(indexrelid, true) FROM pg_index "
		  . "WHERE indrelid = 'm'::regclass");

	is($err, '', "$name: the indexes are sound and cover all rows");
	compare_many_with_seqscan($node, 'postgres', queries_of_m($max), $name);
	return;
}

sql("CREATE INDEX $_ ON m USING rencoder $index{$_}") foreach sort keys %index;
verify_m("built with $memory", 80000);
sql('SELECT m_fill(80001, 95000)');
sql("SELECT rencoder_maintain_index('$_')") foreach sort keys %index;
is( sql(q{SELECT count(*) FROM pg_index, rencoder_metapage(indexrelid)
	WHERE indrelid = 'm'::regclass
		AND frontier < pg_relation_size('m') / current_setting('block_size')::int}),
	0, 'all pages are indexed');
verify_m('indexed', 95000);
sql("SELECT rencoder_add_query_sample('m_v', i * 800000000000000::int8, "
  . "i * 800000000000000::int8 + 5) FROM generate_series(-900, 900, 15) i");
sql("SELECT rencoder_compact('$_')") foreach sort keys %index;
verify_m('compacted', 95000);
sql('UPDATE m SET v = v + 7 WHERE id % 20 = 3; VACUUM m');
verify_m('updated, vacuumed', 95000);
sql('DROP TABLE m');

#
# The only slot for a worker is taken: sessions summarize.
#
is(sql("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'logical replication launcher'"),
	1, 'the slot is taken');
load_schema($node);
sql("SELECT put(40, $_)") foreach 1 .. 40;
my $tail = sql("SELECT unindexed FROM rencoder_candidates('t_v', 0::int8, 0::int8)");
cmp_ok($tail, '<', 64, "no worker: $tail pages wait");
is(sql("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'rencoder worker'"), 0,
	'there was none');
verify_load($node, 'no worker');

#
# Cancelled and terminated.
#
$node->append_conf('postgresql.conf', "max_worker_processes = 8\n");
sql('ALTER SYSTEM RESET maintenance_work_mem');
$node->restart;
my $copy = $node->data_dir . '/rows.copy';
my $blocks = "pg_relation_size('t') / current_setting('block_size')::int - 1";
my @commands = (
	'CREATE INDEX extra ON t USING rencoder (s, v)
		WITH (pages_per_range = 1); DROP INDEX extra',
	'CREATE INDEX CONCURRENTLY extra ON t USING rencoder (p, few)
		WITH (pages_per_range = 1)',
	'REINDEX TABLE t',
	'REINDEX INDEX CONCURRENTLY t_s',
	'REINDEX INDEX CONCURRENTLY t_v',
	"SELECT rencoder_compact(i, b, b + 30) "
	  . "FROM unnest('{t_v,t_s,t_few_v}'::regclass[]) i, generate_series(0, $blocks, 60) b",
	"SELECT rencoder_maintain_index(i) FROM unnest('{t_v,t_s,t_few_v}'::regclass[]) i",
	"SELECT ask(R); SELECT rencoder_compact('t_v')",
	"SELECT ask(R); SELECT rencoder_compact('t_s')",
	"UPDATE t SET few = few + 100 WHERE few < 10; SELECT rencoder_compact('t_few_v')",
	'VACUUM t',
	'SELECT put(3000, R)',
	"COPY t (v, few, s, p, filler) FROM '$copy'",
	'UPDATE t SET v = v + 1, s = s || 1 WHERE few = 5',
	"SELECT ask(R)",
	"SELECT rencoder_index_check('t_v', true)",
	'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(look(R + i)) '
	  . 'FROM generate_series(1, 10) i; COMMIT',
	"SELECT rencoder_candidates('t_v', 0::int8, i * 800000000::int8) "
	  . "FROM generate_series(1, 200) i",
	'TRUNCATE t; SELECT put(12000, R); VACUUM t');

sub start_command
{
	my ($sql, $settings) = @_;
	my ($in, $out, $err) = ('', '', '');
	my @parts = map { ('-c', $_) } ($settings, split /; /, $sql);

	return {
		err    => \$err,
		handle => IPC::Run::start(
			[ 'psql', '-XqAt', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres'), @parts ],
			'<', \$in, '>', \$out, '2>', \$err)
	};
}

# What became of it: done, cancelled, terminated, or an error that is none of
# these.
sub outcome
{
	my ($client) = @_;

	$client->{handle}->finish;
	my $text = ${ $client->{err} };
	return 'cancelled' if $text =~ /canceling statement due to (statement timeout|user request)/;
	return 'terminated' if $text =~ /terminating connection due to administrator command/;
	return $text =~ /ERROR|FATAL|PANIC|server closed/ ? $text : 'done';
}

my %outcomes;
my $number = 0;
my $odd    = rnd(2);

# Cancels a command, or ends its session, at any moment of the time that it takes.
sub disturb
{
	my ($command, $took, $try) = @_;
	my $sql = $command =~ s/\bR\b/rnd(1_000_000)/ger;
	my ($name) = $sql =~ /^(.{1,70})/;
	my $ms = rnd_between(1, int(1000 * $took) + 1);
	my $result;

	if ($try % 3 == 0)
	{
		my $client = start_command($sql, "SET application_name = 'victim'");
		my $kill = ('pg_cancel_backend', 'pg_terminate_backend')[ ($number + $odd) % 2 ];

		# Again and again, since a signal before the session has connected, or
		# between two commands, has no effect.
		usleep(1000 * $ms);
		while ($client->{handle}->pumpable)
		{
			sql("SELECT $kill(pid) FROM pg_stat_activity WHERE application_name = 'victim'");
			eval { $client->{handle}->pump_nb; };
		}
		$result = outcome($client);
	}
	else
	{
		$result = outcome(start_command($sql, "SET statement_timeout = $ms"));
	}
	like($result, qr/^(done|cancelled|terminated)$/, "$name: nothing but that")
	  if $result !~ /^(done|cancelled|terminated)$/;
	$outcomes{$result}++;
	sql('DROP INDEX IF EXISTS extra');
	return;
}

my $slowest = ['', 0];
foreach my $command (@commands)
{
	my $sql = $command =~ s/\bR\b/rnd(1_000_000)/ger;
	my ($name) = $sql =~ /^(.{1,70})/;
	my $start = time;
	my $first = outcome(start_command($sql, 'SET synchronous_commit = off'));
	my $took = time - $start;

	is($first, 'done', "$name: undisturbed");
	$slowest = [ $command, $took ] if $took > $slowest->[1];
	sql('DROP INDEX IF EXISTS extra');
	disturb($command, $took, $_) foreach 1 .. $TRIES;
	verify_load($node, "$name, disturbed", queries => 22)
	  if ++$number % 2 == 0 || $command eq $commands[-1];
}

# Commands of a fast machine are over before they can be disturbed, so some more
# are followed by one that ends only if it is.
foreach my $more (1 .. 6 * $TRIES)
{
	disturb("$slowest->[0]; SELECT pg_sleep(600)", $slowest->[1], $more);
	$number++;
}
note(join ', ', map { "$outcomes{$_} $_" } sort keys %outcomes);
cmp_ok($outcomes{cancelled} || 0, '>', $TRIES, 'commands were cancelled');
cmp_ok($outcomes{terminated} || 0, '>', 0, 'sessions were terminated');
sql("SELECT rencoder_maintain_index(i) "
  . "FROM unnest('{t_v,t_s,t_few_v,t_p,t_half}'::regclass[]) i; VACUUM t");
verify_load($node, 'maintained at the end');
is(sql(q{SELECT count(*) FROM pg_index, rencoder_metapage(indexrelid)
	WHERE indrelid = 't'::regclass
		AND frontier < pg_relation_size('t') / current_setting('block_size')::int}),
	0, 'nothing is left to do');
unlike(slurp_file($node->logfile), qr/TRAP:|PANIC:|was terminated by signal/, 'no crash');
$node->stop;
done_testing();
