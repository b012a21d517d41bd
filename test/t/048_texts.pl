# The SQL of all texts (*.md) runs as it stands there, each text in one session, and prints what the
# text says that it prints.  Texts may use what README.md has made.
use strict;
use warnings;

use File::Find;
use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderTest;
use RencoderTexts;
use Test::More;

my $top = "$FindBin::RealBin/../..";
my $node = PostgreSQL::Test::Cluster->new('texts');
$node->init(extra => [ '--locale=C', '--encoding=UTF8' ]);
# Plans are of the statistics that the texts ask for.
$node->append_conf('postgresql.conf', "autovacuum = off\nfsync = off\n");
$node->start;

# Is there what a block asks for?
my %available = map { $_ => 1 } split /\n/,
  $node->safe_psql('postgres', 'SELECT name FROM pg_available_extensions');
$available{rencoder_postgis} = $available{postgis};
my $has_icu =
  $node->safe_psql('postgres', "SELECT count(*) FROM pg_collation WHERE collprovider = 'i'");

# What a block lacks here, which is said.
sub can_run
{
	my ($text, $sql) = @_;
	my @wanted = $sql =~ /CREATE EXTENSION (?:IF NOT EXISTS )?(\w+)/g;

	push @wanted, 'postgis' if $sql =~ /\bgeometry\b/;
	my @lacking = grep { !$available{$_} } @wanted;
	push @lacking, 'ICU' if $sql =~ /-x-icu/ && !$has_icu;
	diag("$text: not run without @lacking: " . ($sql =~ /^(.*)$/m)[0]) if @lacking;
	return !@lacking;
}

my $SIZES = q{
	SELECT c.oid::regclass, pg_relation_size(c.oid) FROM pg_class AS c
	JOIN pg_am AS a ON a.oid = c.relam WHERE a.amname = 'rencoder' AND c.relkind = 'i'
	ORDER BY 1;
};

# (outputs, errors) of pieces of SQL in one session, as psql shows them.
sub run_session
{
	my ($db, @pieces) = @_;
	my $script = session_script(@pieces);
	my ($out, $err);

	IPC::Run::run([ 'psql', '-X', '-d', $node->connstr($db) ],
		'<', \$script, '>', \$out, '2>', \$err);
	return ([ session_answers($out) ], [ session_answers($err) ]);
}

# What a block says wrongly: errors that it does not print, lines that are not so.
sub wrong_lines
{
	my ($block, $out, $err) = @_;
	my $diagnostic = qr/^\s*(?:ERROR|WARNING|DETAIL|HINT|NOTICE):/;
	my @printed = split /\n/, $block->{prints};
	my @said = map { s/^\s+//r } grep { /$diagnostic/ } @printed;
	my @wrong = map { "not printed: $_" } (
		lines_missing(join("\n", grep { !/$diagnostic/ } @printed), $out),
		lines_missing(join("\n", @said), $err));
	my @errors = grep { /^(?:ERROR|WARNING|FATAL|PANIC|psql):?/ } split /\n/, $err;
	my @expected = grep { /^(?:ERROR|WARNING)/ } @said;

	push @wrong, map { "not in the text: $_" } @errors if @errors != @expected;
	return @wrong;
}

# All blocks of a text in one session.  Maintenance as a text has it: no index that the text has
# just made becomes larger, nor the second time.  To note the end of a table for the first time
# takes pages; after that it does not grow, either.
sub run_text
{
	my ($text, $db) = @_;
	my @blocks = grep { can_run($text, $_->{sql}) } text_blocks("$top/$text");
	my ($maintenance) = $text =~ /README|maintenance/
	  ? grep { $blocks[$_]{sql} =~ /rencoder_compact/ } 0 .. $#blocks : ();
	# There are no other hosts.
	my @pieces = map { $_->{sql} =~ s/host 'shard1.example.com', //r } @blocks;

	splice @pieces, $maintenance + 1, 0, $SIZES, $pieces[$maintenance], $SIZES
	  if defined $maintenance;
	splice @pieces, $maintenance, 0, $SIZES if defined $maintenance;
	my ($out, $err) = run_session($db, @pieces);
	if (defined $maintenance)
	{
		is($out->[ $maintenance + 2 ], $out->[$maintenance], "$text, maintenance: sizes stay");
		is($out->[ $maintenance + 4 ], $out->[$maintenance], "$text, maintenance again: they stay");
		splice @$_, $maintenance + 2, 3 foreach $out, $err;
		splice @$_, $maintenance, 1 foreach $out, $err;
	}
	foreach my $i (0 .. $#blocks)
	{
		is(join("\n", wrong_lines($blocks[$i], $out->[$i] // '', $err->[$i] // 'psql: no answer')),
			'', "$text: " . ($blocks[$i]{sql} =~ /^(.*)$/m)[0]);
	}
	return;
}

my @texts;
find(
	sub {
		$File::Find::prune = 1 if /^(?:\.git|tmp_check)$/;
		push @texts, $File::Find::name =~ s{^\Q$top\E/}{}r if /\.md$/ && -f;
	},
	$top);
@texts = sort @texts;
cmp_ok(scalar @texts, '>', 20, 'there are texts');
foreach my $text (@texts)
{
	is(join("\n", stray_sql("$top/$text")), '', "$text has no SQL that is not run");
}

run_text('README.md', 'postgres');

# Each example of a type finds its rows by the index, which the planner chooses by itself.
my @queries = join("\n", map { $_->{sql} } text_blocks("$top/README.md")) =~
  /^(SELECT \* FROM events .*?);/gm;
cmp_ok(scalar @queries, '>', 0, 'there are examples of types');
foreach my $query (@queries)
{
	like($node->safe_psql('postgres', "EXPLAIN (COSTS OFF) $query"),
		qr/Index Scan (?:on|using) events_all/, "plan of $query");
	compare_with_seqscan($node, 'postgres', $query, index => 'events_all');
}

foreach my $text (grep { $_ ne 'README.md' && text_blocks("$top/$_") } @texts)
{
	my $db = $text =~ s/\W/_/gr;

	without_others($node, "CREATE DATABASE $db TEMPLATE postgres STRATEGY file_copy");
	run_text($text, $db);
	without_others($node, "DROP DATABASE $db");
}

# What the comparison of a text with the truth is made of.
is(join(', ', lines_missing("a .. c\n 1 | 20", " a  b c\n-\n 1 |  21")), '1 | 20',
	'another number is seen');
is(join(', ', lines_missing("1 | 20 kB\nb", "1 |  21 kB\nb")), '', 'unless it is a similar size');
is(join(', ', lines_missing("1 | 20 kB", "1 |  23 kB")), '1 | 20 kB', 'and not far from it');
is(join(', ', lines_missing("b\na", "a\nb")), 'a', 'and another order');

# What is seen as SQL that nobody runs.
my $stray = "$PostgreSQL::Test::Utils::tmp_check/stray.md";
append_to_file($stray,
	"    SELECT 1;\n\n```\nSELECT 2;\n```\n\n```pgsql\nSELECT 3;\n```\n\n"
	  . "```pgsql\n-- Only with Citus.\nSELECT 4;\n```\n\n"
	  . "```sql\nSELECT 5;\n```\n\n    SELECT ..\n");
is(join(', ', map { s/^\s+//r } stray_sql($stray)), 'SELECT 1;, SELECT 2;, SELECT 3;',
	'SQL that stands indented, in another fence, or without a reason is seen');

done_testing();
