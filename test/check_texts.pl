#!/usr/bin/perl
# The texts (*.md): files that they name exist, links lead somewhere, invariants
# that the code cites are there, lines are at most 100 characters long, README.md
# begins with what a stranger looks for.
#
#   test/check_texts.pl [SOURCE-TREE]
use strict;
use warnings;

use Cwd qw(abs_path);
use File::Basename qw(basename dirname);
use File::Find;
use Test::More tests => 5;

my $top = abs_path($ARGV[0] // dirname(__FILE__) . '/..');
chdir $top or die "$top: $!";

my (@texts, @sources, %basename);
find(
	{
		no_chdir => 1,
		wanted => sub {
			$File::Find::prune = 1 if $_ eq './.git' || m{/(bin|tmp_check|results)$};
			return unless -f;
			my $path = s{^\./}{}r;
			$basename{ basename($path) } = 1;
			push @texts, $path if /\.md$/;
			push @sources, $path if m{^\./(src|test|sql)/} && /\.(c|h|pl|pm|spec|sql)$/;
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

none_wrong(
	'files that are named exist',
	sub {
		return grep { !/[*%]|NNN|NAME|VERSION|OLD/ && !$basename{ basename($_) } }
		  content(shift) =~ /`([\w.*%\/-]+\.(?:c|h|pl|pm|sh|spec))`/g;
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
	'lines are at most 100 characters long',
	sub {
		my $line = 0;
		return map { $line++; length > 100 ? "line $line" : () } split /\n/, content(shift);
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
