# RencoderLoad.pm
#		The load of test/load on a node, and what must hold after it.
#
# pgbench runs the scripts that test/load/clients and test/load/maintenance list, with
# their weights.  Every "look" compares an answer by an index with the
# sequential scan in the same snapshot and raises "wrong answer".
package RencoderLoad;

use strict;
use warnings;

use Cwd 'abs_path';
use Exporter 'import';
use File::Basename;
use IPC::Run;
use PostgreSQL::Test::Utils;
use RencoderTest;
use Test::More;

our @EXPORT = qw(load_schema start_pgbench start_load wait_for_load errors_of_load verify_load
  @LOAD_INDEXES);

our @LOAD_INDEXES = qw(t_v t_s t_p t_few_v t_half);

my $directory = abs_path(dirname(__FILE__) . '/../load');

# What clients say when the server has gone.
my $GONE = join '|', 'terminat', 'abnormally', 'server closed the connection',
  'connection to server', 'unexpected postmaster exit', 'postmaster exited',
  'lost connection to parallel worker', 'parallel worker failed to initialize', 'Run was aborted',
  'the database system is', 'could not receive data', 'perhaps the backend died',
  'invalid socket', 'no connection to the server', 'could not signal for checkpoint',
  'could not create connection';

sub load_schema
{
	my ($node) = @_;
	my $rows = $node->data_dir . '/rows.copy';

	$node->safe_psql('postgres', slurp_file("$directory/schema.sql"));
	$node->safe_psql('postgres', "COPY (SELECT * FROM make_rows(300, 5)) TO '$rows'");
	return;
}

# start_pgbench(NODE, CLIENTS, SECONDS, SCRIPT@WEIGHT, ...)
# What it prints and what it complains of are kept apart: a line of one may begin in the middle
# of one of the other.
sub start_pgbench
{
	my ($node, $clients, $seconds, @scripts) = @_;
	my ($in, $out, $err) = ('', '', '');

	return {
		out    => \$out,
		err    => \$err,
		handle => IPC::Run::start(
			[
				'pgbench', '-n', '-c', $clients, '-T', $seconds, '--max-tries=1000',
				'--random-seed=' . rnd(1_000_000),
				'-D', 'copy_file=' . $node->data_dir . '/rows.copy',
				(map { ('-f', "$directory/$_") } @scripts),
				$node->connstr('postgres')
			],
			'<', \$in, '>', \$out, '2>', \$err)
	};
}

# start_load(NODE, SECONDS, clients => 3, maintainers => 2)
# Returns a list to wait for.
sub start_load
{
	my ($node, $seconds, %params) = @_;
	my ($clients, $maintenance) =
	  map { [ split /\s+/, slurp_file("$directory/$_") ] } ('clients', 'maintenance');

	return (
		start_pgbench($node, $params{clients} || 3, $seconds, @$clients),
		start_pgbench($node, $params{maintainers} || 2, $seconds, @$maintenance));
}

sub wait_for_load
{
	my (@load) = @_;

	$_->{handle}->finish foreach @load;
	return;
}

# What clients complained of; with "gone" the server was taken away from them.
sub errors_of_load
{
	my ($gone, @load) = @_;
	my $all = join "\n", map { ${ $_->{err} } } @load;
	my @errors = grep { /ERROR|FATAL|PANIC|WARNING|error:|aborted/ } split /\n/, $all;

	@errors = grep { $_ !~ /$GONE/i } @errors if $gone;
	return join "\n", @errors;
}

# All indexes are sound, cover all rows, and answer like a sequential scan.
sub verify_load
{
	my ($node, $name, %params) = @_;
	my $n = $params{queries} || 44;
	my $first = rnd(300_000);

	$node->safe_psql('postgres', 'SELECT drop_invalid_indexes()')
	  if !$params{standby};
	my ($ret, $out, $err) = $node->psql('postgres',
		"SELECT rencoder_index_check(indexrelid, true) FROM pg_index "
		  . "WHERE indrelid = 't'::regclass");
	is($err, '', "$name: the indexes are sound and cover all rows");
	($ret, $out, $err) = $node->psql('postgres',
		"SELECT count(look($first + i * 997)) FROM generate_series(1, $n) i");
	is("$out$err", $n, "$name: $n queries answered as by a sequential scan");
	return;
}

1;
