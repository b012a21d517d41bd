#!/usr/bin/perl
# The figures of README.md and docs/*.md: each number with a unit has been measured by a
# script, and is still what that script has measured.
#
#   test/check_figures.pl [SOURCE-TREE]
#
# A section (from one heading to the next) names the parts of bench/results/numbers.md that its
# figures are of, by links such as bench/results/numbers.md#types.  Each figure must be a value
# of one of those parts in bench/results/numbers.tsv, of the same kind of unit, or the least or
# most of its spread, rounded as the text rounds it.  So it must be that of today: who measures
# anew changes the texts, too.  In tables numbers without a unit count as well, but for those of
# the head and of the first cell, which say what a row is of.
#
# What is no measurement (limits, defaults, what the code decides by) stands with a reason in
# test/figures_allowed.txt: text TAB figure TAB reason; or, for all numbers without a unit of a
# table, text TAB "table: its head" TAB reason.  An entry that nothing needs is an error.  What
# SQL prints is compared by t/048.
use strict;
use warnings;

use Cwd qw(abs_path);
use File::Basename qw(dirname);
use Test::More tests => 5;

my $top = abs_path($ARGV[0] // dirname(__FILE__) . '/..');
chdir $top or die "$top: $!";

sub content
{
	my $path = shift;
	open my $file, '<:encoding(UTF-8)', $path or die "$path: $!";
	local $/;
	return scalar <$file>;
}

# ---- What was measured ----

# A unit: its kind, and what it is of the kind's smallest one.
my %unit = (
	bytes => [ 'size', 1 ],
	kB => [ 'size', 1024 ],
	MB => [ 'size', 1024**2 ],
	GB => [ 'size', 1024**3 ],
	TB => [ 'size', 1024**4 ],
	ns => [ 'time', 1 ],
	us => [ 'time', 1e3 ],
	microseconds => [ 'time', 1e3 ],
	ms => [ 'time', 1e6 ],
	milliseconds => [ 'time', 1e6 ],
	s => [ 'time', 1e9 ],
	seconds => [ 'time', 1e9 ],
	minutes => [ 'time', 60e9 ],
	hours => [ 'time', 3600e9 ],
	bits => [ 'bits', 1 ],
	pages => [ 'pages', 1 ],
	times => [ 'times', 1 ],
	part => [ 'times', 1 ],
	'%' => [ 'times', 0.01 ],
	'per cent' => [ 'times', 0.01 ],
	'rows/s' => [ 'rate', 1 ]);
my (%measured, @parts_wrong);

# What is wrong with the head of a part.
sub part_wrong
{
	my ($command, undef, $before, $after, undef, undef, undef, $machine) = @_;
	my ($script) = $command =~ /^(\S+)/;

	return "no script $script" if !-f $script;
	return "PostgreSQL or fsync: $machine"
	  if $machine !~ /PostgreSQL\) 1[78]\b.*; fsync on$|; no server$/;
	return 'no load' if grep { !/^[\d.]+ / } $before, $after;
	return;
}

foreach my $line (split /\n/, content('bench/results/numbers.tsv'))
{
	my ($part, @field) = split /\t/, $line, -1;

	if ($part =~ s/^#//)
	{
		push @parts_wrong, map { "$part: $_" } part_wrong(@field);
		$measured{$part} = [];
	}
	elsif ($measured{$part})
	{
		my (undef, undef, $value, $unit, $least, $most) = @field;
		my ($kind, $factor) = @{ $unit{$unit} // [ $unit, 1 ] };

		push @{ $measured{$part} },
		  map { [ $_ * $factor, $kind ] } grep { $_ ne '' } $value, $least, $most;
	}
}

# How far a number may be off: half of the last place that is written; zeros at the end of a
# whole number may be rounded, but no more than by a twentieth.
sub tolerance
{
	my $number = shift;

	return 0.5 * 10**-length $1 if $number =~ /\.(\d+)$/;
	my ($zeros) = $number =~ /(0*)$/;
	my $off = 0.5 * 10**length $zeros;
	$off = 0.05 * $number if $off > 0.05 * $number;
	return $off > 0.5 ? $off : 0.5;
}

# Is a number, as it is written, that of one of the parts?  The unit "any" is that of numbers
# without one.
sub is_measured
{
	my ($written, $unit, @parts) = @_;
	my $number = $written =~ tr/,//dr;
	my $off = tolerance($number) * 1.0001;

	foreach my $value (map { @{ $measured{$_} // [] } } @parts)
	{
		my ($is, $kind) = @$value;
		my @units = $unit eq 'any' ? values %unit : $unit{$unit};

		foreach my $factor (map { $_->[1] } grep { $_->[0] eq $kind } @units)
		{
			return 1 if abs($is / $factor - $number) <= $off;
		}
	}
	return 0;
}

# ---- What is no measurement ----

my (%allowed, %used, @allowed_wrong);

foreach my $line (grep { !/^#|^\s*$/ } split /\n/, content('test/figures_allowed.txt'))
{
	my ($text, $figure, $reason) = split /\t/, $line;

	push @allowed_wrong, "no reason: $line" if ($reason // '') !~ /\w+ \w+/;
	$allowed{"$text\t$figure"} = 1;
}

sub is_allowed
{
	my $key = join "\t", @_;

	$used{$key} = 1 if $allowed{$key};
	return $allowed{$key};
}

# ---- What the texts tell ----

# The sections of a text, without SQL and other source and what SQL prints, which stands
# indented right below it: [ number, line ] each.
sub sections
{
	my $path = shift;
	my ($fence, $below_sql, $no, @sections) = ('', 0, 0, []);

	foreach my $line (split /\n/, content($path))
	{
		$no++;
		if ($line =~ /^ *```(\w*)/)
		{
			$below_sql = $fence eq 'sql';
			$fence = $fence eq '' ? $1 || 'plain' : '';
			next;
		}
		next if $fence ne '' && $fence !~ /^(?:plain|text)$/;
		next if $below_sql && $line =~ /^(?: {4,}|\s*$)/;
		$below_sql = 0;
		push @sections, [] if $line =~ /^#/;
		push @{ $sections[-1] }, [ $no, $line ];
	}
	return @sections;
}

my %word = (
	two => 2, three => 3, four => 4, five => 5, six => 6, seven => 7, eight => 8, nine => 9,
	ten => 10, twelve => 12, twenty => 20);
my %fraction = (
	third => 3, quarter => 4, fourth => 4, fifth => 5, sixth => 6, seventh => 7, eighth => 8,
	ninth => 9, tenth => 10, twentieth => 20);
my $WORDS = join '|', keys %word;
my $FRACTIONS = join '|', keys %fraction;
my $UNITS = join '|', map { quotemeta } sort { length $b <=> length $a } keys %unit;
my $DIGITS = qr/\d+(?:,\d{3})*(?:\.\d+)?/;
my $NUMBER = qr/(?<![\w.\/#-])(?:$DIGITS|\b(?:$WORDS)\b)/;
my $UNIT = qr/(?:$UNITS)(?![\w\/])/;
my $LIST = qr/(?:$NUMBER(?:,? (?:to|and|or|of) |, | \())*$NUMBER/;

# The figures of a piece of text: [ as written, number, unit ].  "2 to 4, or 5 MB" are three, "a
# fifth" and "twice as" one each.
sub figures
{
	my $text = shift =~ s/\]\([^)]*\)/]/gr;
	my @found;

	while ($text =~ /($LIST) ?(?:\w+ (?=pages\b))?($UNIT)/g)
	{
		my ($numbers, $unit) = ($1, $2);

		next if $unit eq 'part';
		push @found, map { [ "$_ $unit", $word{$_} // $_, $unit ] } $numbers =~ /($NUMBER)/g;
	}
	push @found, [ 'twice', 2, 'part' ] while $text =~ /\btwice (?:the|as|too)\b/g;
	while ($text =~ /\b(a|one|$WORDS) ($FRACTIONS)s?\b/g)
	{
		push @found, [ "$1 $2", sprintf('%.2f', ($word{$1} // 1) / $fraction{$2}), 'part' ];
	}
	return @found;
}

# The cells of a row of a table.
sub cells
{
	return map { s/^\s+|\s+$//gr } $_[0] =~ /\|([^|]*)(?=\|)/g;
}

# Numbers of a row of a table that have no unit beside them.  Theirs is what the head of the column
# names, else what the row begins with, else what the head begins with.
sub bare_numbers
{
	my ($row, $head) = @_;
	my @head = split / \| /, $head, -1;
	my ($label, @cells) = cells($row =~ s/\]\([^)]*\)/]/gr =~ s/`[^`]*`//gr);
	my @found;

	foreach my $i (0 .. $#cells)
	{
		my ($unit) = map { /\b($UNIT)/ } $head[ $i + 1 ] // '', $label, $head[0];

		push @found, map { [ $_, $_, $unit // 'any' ] }
		  $cells[$i] =~ /(?<![\w.,-])($DIGITS)(?![\w,.]*\w)(?! ?$UNIT)/g;
	}
	return @found;
}

# The paragraphs, items of lists and rows of tables of a section: [ number, text, head ] each,
# where the head of a table is that of a row.
sub blocks
{
	my $section = shift;
	my ($head, @blocks) = (undef);
	my $open = 0;

	foreach my $line (@$section)
	{
		my ($no, $text) = @$line;

		if ($text =~ /^\s*\|/)
		{
			push @blocks, [ $no, $text, $head ];
			$head //= join ' | ', cells($text);
			$open = 0;
			next;
		}
		$head = undef;
		$open = 0 if $text =~ /^\s*$|^\s*(?:-|\d+\.) /;
		push @blocks, [ $no, '' ] if !$open;
		$blocks[-1][1] .= ' ' . $text =~ s/^\s+//r;
		$open = $text !~ /^\s*$/;
	}
	return @blocks;
}

my (@unknown, %sources);

sub check_section
{
	my ($path, $section) = @_;
	my @parts = join("\n", map { $_->[1] } @$section) =~ /numbers\.md#([\w-]+)/g;
	my $source = @parts ? 'is not of ' . join(', ', @parts) : 'has no source';

	$sources{$_} = 1 foreach @parts;
	foreach my $block (blocks($section))
	{
		my ($no, $text, $head) = @$block;
		my @figures = figures($text);

		push @figures, bare_numbers($text, $head)
		  if defined $head && !is_allowed($path, "table: $head");
		push @unknown, map { "$path:$no: $_->[0] $source" }
		  grep { !is_allowed($path, $_->[0]) && !is_measured(@$_[ 1, 2 ], @parts) } @figures;
	}
	return;
}

foreach my $path ('README.md', sort glob 'docs/*.md')
{
	check_section($path, $_) foreach sections($path);
}

is(join("\n", @parts_wrong), '', 'all was measured by a script, on 17 or 18, with fsync, at a load');
is(join("\n", grep { !$measured{$_} } sort keys %sources), '', 'parts that texts name were measured');
is(join("\n", @unknown), '', 'figures of texts are those of the parts that their section names');
is(join("\n", @allowed_wrong), '', 'figures that are no measurements have reasons');
is(join("\n", grep { !$used{$_} } sort keys %allowed), '', 'and are in the texts');
