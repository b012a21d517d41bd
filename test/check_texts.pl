#!/usr/bin/perl
# The texts (*.md): files and names of the code that they name exist, links lead
# somewhere, invariants that the code cites are there, lines are at most 100
# characters long, README.md begins with what a stranger looks for.
#
#   test/check_texts.pl [SOURCE-TREE]
use strict;
use warnings;

use Cwd qw(abs_path);
use File::Basename qw(basename dirname);
use File::Find;
use Test::More tests => 7;

my $top = abs_path($ARGV[0] // dirname(__FILE__) . '/..');
chdir $top or die "$top: $!";

my (@texts, @sources, %ends_a_path);
find(
	{
		no_chdir => 1,
		wanted => sub {
			$File::Find::prune = 1 if m{^\./(?:\.git|results)$|/(?:bin|tmp_check)$};
			my $path = s{^\./}{}r;
			my @parts = split m{/}, $path;
			$ends_a_path{ join '/', @parts[ $_ .. $#parts ] } = 1 foreach 0 .. $#parts;
			return unless -f;
			push @texts, $path if /\.md$/;
			push @sources, $path if m{^\./(src|test|sql|bench)/} && /\.(c|h|pl|pm|sh|spec|sql)$/;
		}
	},
	'.');
@texts = sort @texts;

sub content
{
	my $path = shift;
	open my $file, '<:encoding(UTF-8)', $path or die "$path: $!";
	local $/;
	return scalar <$file>;
}

# The headings of a text, as links name them.
sub anchors
{
	my $text = content(shift) =~ s/^```.*?^```//gmsr;
	return map {
		my $anchor = lc;
		$anchor =~ s/[^\w\- ]//g;
		$anchor =~ tr/ /-/;
		($anchor => 1)
	} $text =~ /^#+ +(.*)$/gm;
}

# Places in texts that are wrong: each text is given to the function, which returns them.
sub none_wrong
{
	my ($name, $find) = @_;
	my @wrong = map { my $path = $_; map { "$path: $_" } $find->($path) } @texts;
	is(join("\n", @wrong), '', $name);
}

# Files and folders are named from the top, from the text's folder, or by the end of their path.
# Others have such names too: what a tool of somebody else writes, what a script or a release makes.
my $pattern = qr/[*%]|NNN|NAME|FILE|VERSION|OLD|X\.Y\.Z/;
my %of_others =
  map { $_ => 1 } qw(structure.sql db/schema.sql schema.sql src/test/regression.diffs);

sub is_missing
{
	my $path = shift =~ s{^(?:\.\.?/)+|/$}{}gr;
	return $path !~ $pattern && $path !~ m{/bin/} && !$of_others{$path} && !$ends_a_path{$path};
}

none_wrong(
	'files that are named exist',
	sub {
		return grep { is_missing($_) } content(shift) =~
		  /`((?:[\w.*%-]+\/)*[\w.*%-]+\.(?:c|h|pl|pm|sh|spec|sql|md|ya?ml|json|svg|control))`/g;
	});
none_wrong(
	'paths in commands and in prose exist',
	sub {
		return grep { is_missing($_) }
		  map { s/[.:]+$//r } content(shift) =~
		  m{(?<![\w./~+=-])((?:bench|test|src|sql|docs|expected|debian)/[\w*%./-]+)}g;
	});

# What the code is called in the texts beside it, and functions, options and settings in those of users.
# What was measured once, and what was dropped, may be called as it was.
my $code = join "\n", map { content($_) } @sources;
my %word = map { $_ => 1 } $code =~ /\w+/g;
none_wrong(
	'names of the code that are named exist',
	sub {
		my $path = shift;
		return if $path =~ m{^bench/results/|^CHANGELOG};
		my $functions = $path =~ /^src/ ? qr/\w+(?=\(\)`)/ : qr/rencoder_\w+(?=\()/;
		my $text = content($path);
		my @names = $text =~ /`($functions|[rR]enc(?:oder)?_?\w+(?=`)|RENC(?:ODER)?_\w+(?=`))/g;
		my @settings = $text =~ /`(?:SET )?(rencoder\.\w+)(?=[ `=])/g;
		return (
			(grep { !/$pattern|^\w*_$/ && !$word{$_} } @names),
			(grep { !/\.control$/ && $code !~ /"\Q$_\E"/ } @settings));
	});

none_wrong(
	'links lead somewhere',
	sub {
		my $path = shift;
		return grep {
			my ($file, $anchor) = /^([^#]*)#?(.*)$/;
			my $target = $file eq '' ? $path : dirname($path) . "/$file";
			my %there = -f $target && $anchor ne '' ? anchors($target) : ();
			!/^https?:/ && (!-e $target || ($anchor ne '' && !$there{$anchor}));
		} content($path) =~ /\]\(([^)\s]+)\)/g;
	});

none_wrong(
	'lines are at most 100 characters long, but for records of measurements',
	sub {
		my ($path, $line) = (shift, 0);
		return if $path =~ m{^bench/results/};
		return map { $line++; length > 100 ? "line $line" : () } split /\n/, content($path);
	});

my %cited = map { $_ => 1 } map { content($_) =~ /\bINV-(\d+)/g } @sources;
my %known = map { $_ => 1 } content('src/INVARIANTS.md') =~ /^## INV-(\d+) /gm;
is(join(' ', grep { !$known{$_} } sort keys %cited), '', 'invariants that are cited are there');

# What README.md has on its first screen: the last line on which it may stand, and what.
my @readme = split /\n/, content('README.md');
my @first = (10, 'CREATE INDEX', 45, 'bash bench/demo.sh', 45, 'bash test/run.sh', 45, 'make install');
my @missing;
while (my ($line, $what) = splice @first, 0, 2)
{
	push @missing, $what unless grep { /\Q$what\E/ } @readme[ 0 .. $line - 1 ];
}
is(join(', ', @missing), '', 'README.md begins with how to use and to try it');
