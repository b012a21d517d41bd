#!/usr/bin/perl
# What releases and packages are made of: META.json is as PGXN wants it, versions are the
# same wherever they stand, every version but the first can be reached by an update script,
# the changelog knows the disk format, and a tag of this commit is that version.
#
#   test/check_release.pl [SOURCE-TREE]
use strict;
use warnings;

use Cwd qw(abs_path);
use File::Basename qw(dirname);
use JSON::PP;
use Test::More;

my $top = abs_path($ARGV[0] // dirname(__FILE__) . '/..');
chdir $top or die "$top: $!";

sub content
{
	my $path = shift;
	open my $file, '<:raw', $path or die "$path: $!";
	local $/;
	return scalar <$file>;
}

# The part of a file that a pattern takes.
sub found
{
	my ($path, $pattern) = @_;
	return content($path) =~ $pattern ? $1 : "nothing in $path";
}

my $semver = qr/^\d+\.\d+\.\d+(?:-[A-Za-z][A-Za-z0-9-]*)?$/;
my $meta = decode_json(content('META.json'));
my $version = $meta->{version};

# https://pgxn.org/spec/: what must be there, and what is known beside it.
my @required = qw(name version abstract maintainer license provides meta-spec);
my %known = map { $_ => 1 } @required, qw(description generated_by tags no_index prereqs
  release_status resources);
is(join(' ', grep { !defined $meta->{$_} || $meta->{$_} eq '' } @required), '',
	'META.json has what PGXN wants');
is(join(' ', grep { !$known{$_} && !/^x_/i } sort keys %$meta), '',
	'META.json has no other fields');
like($version, $semver, 'the version is a semantic one');
is($meta->{'meta-spec'}{version}, '1.0.0', 'META.json is of version 1.0.0');
like($meta->{release_status}, qr/^(?:stable|testing|unstable)$/, 'release status');
is($meta->{license}, 'postgresql', 'license');
is(join(' ', grep { length > 255 || m{[/\\[:cntrl:]]} } @{ $meta->{tags} }), '', 'tags');
is(join(' ', grep { !-d } @{ $meta->{no_index}{directory} }), '', 'directories not to index exist');
like($meta->{prereqs}{runtime}{requires}{PostgreSQL}, $semver, 'the least PostgreSQL');

is(join(' ', sort keys %{ $meta->{provides} }),
	join(' ', sort map { s/\.control$//r } glob '*.control'), 'META.json names each extension');
for my $name (sort keys %{ $meta->{provides} })
{
	my $extension = $meta->{provides}{$name};
	my $installed = found("$name.control", qr/^default_version = '(.*)'$/m);

	is($extension->{version}, $installed,
		"$name: the version of META.json is that of its control file");
	like($extension->{file}, qr{^sql/\Q$name\E--[^-]+\.sql$}, "$name: META.json names its first script");
	is(join(' ', grep { !-e } $extension->{file}, $extension->{docfile}),
		'', "$name: its files exist");

	# From any version that was ever installed, by update scripts.
	my %next;
	my @fresh;
	for (glob "sql/$name--*.sql")
	{
		if (/--([^-]+)--([^-]+)\.sql$/) { push @{ $next{$1} }, $2; }
		elsif (/--([^-]+)\.sql$/) { push @fresh, $1; }
	}
	for my $from (@fresh, sort keys %next)
	{
		my @way = ($from);
		my %seen;
		while (@way && !$seen{$installed})
		{
			my $here = shift @way;
			push @way, @{ $next{$here} // [] } unless $seen{$here}++;
		}
		ok($seen{$installed}, "$name: version $from can be updated to $installed");
	}
}

is(found('rencoder.control', qr/^default_version = '(.*)'$/m), $version,
	'version of the extension');
is(found('CHANGELOG.md', qr/\A## (\S+) \(/), $version, 'version in CHANGELOG.md');
is(found('debian/changelog', qr/\Arencoder \((.*)-\d+\)/), $version,
	'version of the Debian package');
is(found('CHANGELOG.md', qr/disk format is version (\d+)/),
	found('src/store/meta.h', qr/^#define RENCODER_VERSION\s+(\d+)/m),
	'CHANGELOG.md knows the disk format');

# What pg_buildext makes of control.in on Debian 12.
my $control = content('debian/control.in') =~ s/PGVERSION/15/gr;
is(content('debian/control'), $control, 'debian/control is made of control.in');

# A release: its tag, and the day of it.
for my $tag (grep { /^v\d/ } split /\n/, `git tag --points-at HEAD 2> /dev/null`)
{
	is($tag, "v$version", 'the tag of this commit is the version');
	like(found('CHANGELOG.md', qr{\A(.*)}), qr/\A## \Q$version\E \(\d{4}-\d\d-\d\d\)/,
		'CHANGELOG.md has the day of the release');
}

done_testing();
