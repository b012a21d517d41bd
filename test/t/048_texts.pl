# The SQL of README.md and docs/*.md runs as it stands there: the blocks of the README in order,
# then those of each text of docs/, which may use what the README has made.
use strict;
use warnings;

use File::Basename qw(basename);
use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderTest;
use Test::More;

my $top = "$FindBin::RealBin/../..";
my $node = PostgreSQL::Test::Cluster->new('texts');
$node->init;
# Plans are of the statistics that the texts ask for.
$node->append_conf('postgresql.conf', "autovacuum = off\n");
$node->start;

# The SQL blocks of a text.  A tenth of the rows is enough; there are no other hosts.
sub blocks
{
	my ($text) = @_;

	return map { s/\b1000000\b/100000/gr =~ s/host 'shard1.example.com', //r }
	  slurp_file("$top/$text") =~ /^ *```sql\n(.*?)^ *```/gms;
}

# (output, errors) of a block in a session of its own, as psql shows it.
sub run_block
{
	my ($db, $block) = @_;
	my ($out, $err);

	IPC::Run::run(
		[ 'psql', '-X', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr($db) ],
		'<', \$block, '>', \$out, '2>', \$err);
	return ($out, $err);
}

# The size of each index, as lines.
sub sizes
{
	return $node->safe_psql($_[0], q{
		SELECT c.oid::regclass, pg_relation_size(c.oid) FROM pg_class AS c
		JOIN pg_am AS a ON a.oid = c.relam WHERE a.amname = 'rencoder' AND c.relkind = 'i'
		ORDER BY 1});
}

# Maintenance as a text has it: no index that a text has just made becomes larger, nor the second
# time.  To note the end of a table for the first time takes pages; after that it does not grow,
# either.
sub maintenance_does_not_grow
{
	my ($db, $text, $block) = @_;
	my $before = sizes($db);

	foreach my $time (1, 2)
	{
		run_block($db, $block);
		is(sizes($db), $before, "$text, maintenance, time $time: sizes stay");
	}
}

# Headings of psql's tables, blanks squeezed.
sub headings
{
	return map { join ' ', split } $_[0] =~ /^ +(\w+ +\|.*)\n *-+\+/gm;
}

# Is there what a block creates?
my %available = map { $_ => 1 } split /\n/,
  $node->safe_psql('postgres', 'SELECT name FROM pg_available_extensions');
$available{rencoder_postgis} = $available{postgis};

sub can_run
{
	return !grep { !$available{$_} } $_[0] =~ /CREATE EXTENSION (\w+)/g;
}

my $shown = '';
foreach my $block (blocks('README.md'))
{
	maintenance_does_not_grow('postgres', 'README.md', $block) if $block =~ /rencoder_compact/;
	my ($out, $err) = run_block('postgres', $block);

	is($err, '', 'README.md: ' . ($block =~ /^(.*)$/m)[0]);
	$shown .= $out;
}

# The results that it prints have the columns that they have.
my @printed = headings(slurp_file("$top/README.md") =~ s/^    //gmr);
my %real = map { $_ => 1 } headings($shown);
cmp_ok(scalar @printed, '>', 0, 'README.md prints a table');
is_deeply([ grep { !$real{$_} } @printed ], [], 'with the columns of the function');
like($shown, qr/Index Scan (?:on|using) orders_no/, 'the first example uses the index');

# Each example of a type finds its rows by the index, which the planner chooses by itself.
my @queries = join("\n", blocks('README.md')) =~ /^(SELECT \* FROM events .*?);/gm;
cmp_ok(scalar @queries, '>', 0, 'there are examples of types');
foreach my $query (@queries)
{
	like($node->safe_psql('postgres', "EXPLAIN (COSTS OFF) $query"),
		qr/Index Scan (?:on|using) events_all/, "plan of $query");
	compare_with_seqscan($node, 'postgres', $query, index => 'events_all');
}

foreach my $path (sort glob "$top/docs/*.md")
{
	my $text = "docs/" . basename($path);
	my $db = basename($path, '.md');

	without_others($node, "CREATE DATABASE $db TEMPLATE postgres");
	foreach my $block (blocks($text))
	{
		next if !can_run($block);
		maintenance_does_not_grow($db, $text, $block)
		  if $text eq 'docs/maintenance.md' && $block =~ /rencoder_compact/;
		my (undef, $err) = run_block($db, $block);

		is($err =~ s/^(NOTICE|INFO|DETAIL): .*\n//gmr, '', "$text: " . ($block =~ /^(.*)$/m)[0]);
	}
	without_others($node, "DROP DATABASE $db");
}

done_testing();
