# RencoderTexts.pm
#		The SQL of a text (*.md), and what the text says that it prints.
#
# SQL stands in a fenced block of "sql".  What stands indented right below it is what it prints,
# or some lines of that.  SQL that cannot run here, since it needs another server, stands in a
# fenced block of "pgsql", whose first line is a comment that says why; anywhere else it would be
# forgotten.
package RencoderTexts;

use strict;
use warnings;

use Exporter 'import';
use PostgreSQL::Test::Utils;

our @EXPORT = qw(text_blocks stray_sql lines_missing session_script session_answers);

my $STATEMENT = qr/^\s*(?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|SET|RESET|REINDEX|VACUUM
	|EXPLAIN|BEGIN|COMMIT|GRANT|PREPARE|EXECUTE|WITH|COPY|ANALYZE)\s(?:.*[^.\s]|\s*)$/x;

# The parts of a text: [ kind, content ], where the kind is the name of a fence, "indented" or
# "prose".
sub parts
{
	my ($path) = @_;
	my ($fence, $before, @parts) = (undef, '');

	foreach my $line (split /\n/, slurp_file($path))
	{
		my $kind = $fence // 'prose';

		if ($line =~ /^ *```(\w*)/)
		{
			$fence = defined $fence ? undef : $1 eq '' ? 'plain' : $1;
			push @parts, [ $fence, '' ] if defined $fence;
			$before = '';
			next;
		}
		if (!defined $fence && $line =~ /^ {4,}\S/ && ($before eq '' || $before =~ /^ {4,}\S/))
		{
			$kind = 'indented';
		}
		push @parts, [ $kind, '' ] if !defined $fence && (!@parts || $parts[-1][0] ne $kind)
		  && $line =~ /\S/;
		$parts[-1][1] .= "$line\n" if @parts;
		$before = $line;
	}
	return @parts;
}

# The blocks of SQL of a text, in order: { sql, prints }.
sub text_blocks
{
	my ($path) = @_;
	my @parts = parts($path);
	my @blocks;

	foreach my $i (0 .. $#parts)
	{
		next if $parts[$i][0] ne 'sql';
		my $next = $i < $#parts && $parts[ $i + 1 ][0] eq 'indented' ? $parts[ $i + 1 ][1] : '';
		push @blocks, { sql => $parts[$i][1], prints => $next };
	}
	return @blocks;
}

# Lines with SQL that nobody runs and of which nobody says why: indented, in fences of other names,
# or in a block of "pgsql" that does not begin with a comment.
sub stray_sql
{
	my ($path) = @_;
	my ($after, @stray) = ('');

	foreach my $part (parts($path))
	{
		my ($kind, $text) = @$part;
		my $printed = $kind eq 'indented' && $after eq 'sql';
		my $explained = $kind eq 'pgsql' && $text =~ /^-- \w/;

		push @stray, grep { /$STATEMENT/ } split /\n/, $text
		  unless $printed || $explained || $kind eq 'sql' || $kind eq 'prose';
		$after = $kind;
	}
	return @stray;
}

# A line as it is compared: blanks squeezed, as all versions of PostgreSQL print it.
sub bare
{
	my ($line) = @_;

	$line =~ s/\brows=(\d+)\.00\b/rows=$1/g;
	# Whether a page was in shared buffers hangs on what else the server has done.
	$line =~ s{shared (?:hit=(\d+) )?read=(\d+)}{'shared hit=' . (($1 // 0) + $2)}e;
	$line =~ s/-{3,}/---/g;
	$line =~ s/ *\+$/+/;
	return join ' ', split ' ', $line;
}

# Does a printed line match a real one?  ".." stands for anything; sizes, which have a unit, may be
# a tenth off, as versions of PostgreSQL differ.
sub matches
{
	my ($printed, $real) = @_;
	my $size = qr/\b\d+(?= (?:bytes|kB|MB|GB)\b)/;
	my @sizes = $printed =~ /($size)/g;
	my $pattern = join '.*', map {
		join '(\d+)', map { quotemeta } split $size, $_, -1
	} split /\.{2,3}/, $printed, -1;
	my @real = $real =~ /^$pattern$/ or return 0;

	foreach my $i (0 .. $#sizes)
	{
		return 0 if abs($sizes[$i] - $real[$i]) > 0.1 * $sizes[$i];
	}
	return 1;
}

# Lines that a text prints and that are not among the real ones, in this order.
sub lines_missing
{
	my ($prints, $real) = @_;
	my @real = map { bare($_) } split /\n/, $real;
	my @missing;

	foreach my $line (grep { /\S/ } map { bare($_) } split /\n/, $prints)
	{
		my ($at) = grep { matches($line, $real[$_]) } 0 .. $#real;

		if (defined $at) { splice @real, 0, $at + 1; }
		else { push @missing, $line; }
	}
	return @missing;
}

# One session of all blocks, which says in both of its outputs where each ends.
sub session_script
{
	my @ends = map { "\\echo -- end of block $_\n\\warn -- end of block $_\n" } 0 .. $#_;

	return join '', map { "$_[$_]\n$ends[$_]" } 0 .. $#_;
}

# Parts of an output of such a session, a block each.
sub session_answers
{
	my ($output) = @_;

	return split /^-- end of block \d+\n/m, $output, -1;
}

1;
