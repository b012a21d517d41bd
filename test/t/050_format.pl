# Files of a released disk format are read by every later version: tables and indexes of
# test/format/VERSION are put under fresh relations.  They must say of themselves what they
# said when they were written, visit the same pages for queries, give the right answers,
# and bear all maintenance.
#
# Each folder there has: tables.sql, what is created; rows.sql, how it was filled; NAME.gz, the
# files; state, what the indexes said.  RENCODER_WRITE_FORMAT=DIR has this test make the files of
# the version at hand anew, in DIR, by the SQL of the newest folder.
use strict;
use warnings;

use Config;
use FindBin;
use IO::Compress::Gzip   qw(gzip $GzipError);
use IO::Uncompress::Gunzip qw(gunzip $GunzipError);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderTest;
use Test::More;

my $BLCKSZ = 8192;
# All indexes that the files have.
my $INDEXES = q{pg_class JOIN pg_am a ON a.oid = relam AND amname = 'rencoder' AND relkind = 'i'};
my $formats = "$FindBin::RealBin/../format";
# 16 is what development versions called format 1; their samples and counts of scans are lost.
my @versions = (16, grep { $_ != 16 } sort { $a <=> $b } map { m{/(\d+)$} } glob "$formats/*");

plan skip_all => 'the files are of a machine with the other byte order'
  if $Config{byteorder} !~ /^1234/;

# Pages are stored without checksums, which are the default from PostgreSQL 18 on.
my ($major) = `pg_config --version` =~ /^PostgreSQL (\d+)/;
my @no_checksums = $major >= 18 ? ('--no-data-checksums') : ();

# A node with the relations of a version, still empty.
sub node_with_tables
{
	my ($name, $version) = @_;
	my $node = new_node($name, conf => "rencoder.sample_rate = 0\n", initdb => [@no_checksums]);

	$node->safe_psql('postgres', slurp_file("$formats/$version/tables.sql"));
	return $node;
}

# relation => path of its file
sub paths
{
	my ($node) = @_;
	my $paths = $node->safe_psql('postgres', q{SELECT relname || '|' || pg_relation_filepath(oid)
		FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'i')});

	return map { my ($relation, $path) = split /\|/; $relation => $node->data_dir . "/$path" }
	  split /\n/, $paths;
}

sub tables
{
	my ($node) = @_;

	return split /\n/, $node->safe_psql('postgres', q{SELECT relname FROM pg_class
		WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' ORDER BY relname});
}

sub state_of_all
{
	my ($node) = @_;

	return $node->safe_psql('postgres',
		"SELECT state_of(pg_class.oid) FROM $INDEXES ORDER BY relname; SELECT all_visited()");
}

#
# Making the files.  Rows are frozen, since transactions of another cluster mean nothing, and
# the indexes are left as they are meanwhile.
#
sub write_format
{
	my ($directory) = @_;
	my $node = node_with_tables('writer', $versions[-1]);

	$node->safe_psql('postgres', slurp_file("$formats/$versions[-1]/rows.sql"));
	$node->safe_psql('postgres',
		'VACUUM (FREEZE, INDEX_CLEANUP off) ' . join(', ', tables($node)));
	my $state = 'next transaction '
	  . $node->safe_psql('postgres', 'SELECT pg_snapshot_xmax(pg_current_snapshot())')
	  . "\n" . state_of_all($node) . "\n";
	my %paths = paths($node);
	$node->stop;
	mkdir $directory;
	foreach my $relation (keys %paths)
	{
		my $data = slurp_file($paths{$relation});

		# Positions in the WAL of another cluster would be in the future.
		substr($data, $_ * $BLCKSZ, 8) = "\0" x 8 for 0 .. length($data) / $BLCKSZ - 1;
		gzip(\$data => "$directory/$relation.gz", -Minimal => 1, -Level => 9) or die $GzipError;
	}
	open my $file, '>', "$directory/state" or die "$directory/state: $!";
	print $file $state;
	close $file or die "$directory/state: $!";
	diag("written: $directory");
	return;
}

# Puts the files of a version under its relations.
sub put_files
{
	my ($node, $version) = @_;
	my %paths = paths($node);

	$node->stop;
	foreach my $relation (keys %paths)
	{
		my $data;

		gunzip("$formats/$version/$relation.gz" => \$data) or die "$relation: $GunzipError";
		open my $file, '>:raw', $paths{$relation} or die "$paths{$relation}: $!";
		print $file $data;
		close $file or die "$paths{$relation}: $!";
	}
	$node->start;
	return;
}

sub some_queries
{
	my ($node, $version) = @_;
	my @queries;

	foreach (1 .. 12)
	{
		my $i = rnd_between(1, 2800);

		if ($version != 16)
		{
			my $row = 1 + $i % 1000;

			push @queries, map { "SELECT id FROM types WHERE $_" } split /\n/,
			  $node->safe_psql('postgres', "SELECT type_conditions($row)");
			push @queries, "SELECT id FROM tenants WHERE tenant = $i % 40 AND code > 'code-7'",
			  "SELECT id FROM tenants WHERE tenant = $i % 40 AND code ~ ('^code-' || $i % 10)",
			  map { "SELECT array_agg(q) FROM ($_) q" } (
				"SELECT code, at FROM tenants WHERE tenant = $i % 40 ORDER BY code DESC, at DESC",
				"SELECT v FROM runs WHERE v > hashint8extended($i, 1) >> 20 ORDER BY v LIMIT 30",
				"SELECT c_uuid FROM types WHERE c_uuid < md5('$i')::uuid ORDER BY c_uuid DESC");
		}
		push @queries, "SELECT id FROM runs WHERE v = hashint8extended($i * 5, 1) >> 20",
		  "SELECT id FROM runs WHERE few = $i % 30 AND v < 0",
		  "SELECT id FROM runs WHERE s = 'https://example.org/' || left(md5(($i / 3)::text), 16)",
		  'SELECT id FROM filters WHERE v BETWEEN '
		  . interval("hashint8extended($i, 1)", '10000000000000000'),
		  "SELECT id FROM filters WHERE few = $i % 31 OR few IS NULL AND v < 0",
		  "SELECT id FROM filters WHERE s LIKE 'https://www.example.com/'"
		  . " || left(md5('$i'), 3) || '%'",
		  "SELECT id FROM filters WHERE p <\@ box(point(17, $i / 50), point(18, $i / 50 + 2))",
		  "SELECT id FROM filters WHERE ip << inet '10.0.0.0/25' + $i * 16",
		  "SELECT id FROM filters WHERE half(n) BETWEEN $i / 14.0 AND $i / 14.0 + 1 AND id > 100";
	}
	return \@queries;
}

# Two tests.
sub verify
{
	my ($node, $version, $when) = @_;
	my $name = "version $version$when";
	my (undef, undef, $err) =
	  $node->psql('postgres', "SELECT rencoder_index_check(pg_class.oid, true) FROM $INDEXES");

	is($err, '', "$name: all indexes are sound and cover all rows");
	compare_many_with_seqscan($node, 'postgres', some_queries($node, $version), $name);
	return;
}

sub read_format
{
	my ($version) = @_;
	my $node = node_with_tables("format_$version", $version);
	my ($xmax, $state) =
	  slurp_file("$formats/$version/state") =~ /^next transaction (\d+)\n(.*)\n$/s;

	put_files($node, $version);
	is($node->safe_psql('postgres', q{SELECT string_agg(opcname, ' ') FROM pg_opclass o
			JOIN pg_am a ON a.oid = opcmethod AND amname = 'rencoder'
			WHERE o.oid <> ALL (SELECT unnest(indclass) FROM pg_index
				WHERE indexrelid = 'types_all'::regclass)}),
		'enum_ops', "version $version: has keys of all operator classes")
	  if $version != 16;
	# Runs are trusted by transactions that come after those that made them.
	$node->safe_psql('postgres', qq{DO \$\$
		BEGIN
			WHILE pg_current_xact_id() < '$xmax' LOOP COMMIT; END LOOP;
		END \$\$});
	$node->safe_psql('postgres', 'ANALYZE');
	is($node->safe_psql('postgres', "SELECT version FROM rencoder_metapage('runs_all')"),
		$version, "version $version: is what it is called");
	is(state_of_all($node), $state,
		"version $version: says of itself what it said, visits as much");
	verify($node, $version, '');

	# It goes on from there.
	$node->safe_psql('postgres', q{
		SELECT fill_tenants(6001, 6100), fill_types(1101, 1130);
		UPDATE types SET c_uuid = md5(id || 'x')::uuid, c_tid = '(7,7)' WHERE id % 10 = 5})
	  if $version != 16;
	$node->safe_psql('postgres', q{
		SELECT fill_runs(13001, 13300), fill_filters(4001, 4300), change_runs(7);
		UPDATE filters SET v = v - 1, few = few + 1 WHERE id % 10 = 5;
		DELETE FROM runs WHERE id % 17 = 3});
	verify($node, $version, ', rows that came later');
	$node->safe_psql('postgres', 'VACUUM ' . join(', ', tables($node)));
	verify($node, $version, ', after VACUUM');
	$node->safe_psql('postgres', "
		SELECT rencoder_compact(pg_class.oid, 0, pg_relation_size(indrelid) / 8192)
		FROM $INDEXES JOIN pg_index ON indexrelid = pg_class.oid");
	verify($node, $version, ', compacted');
	$node->stop;
	return;
}

# An index of another format: the view says so, queries and writes are refused with what to do.
sub refuse_format
{
	my $node = node_with_tables('other', $versions[-1]);
	my $needs = 'SELECT indexrelname FROM rencoder_stat_indexes WHERE needs_reindex';

	$node->safe_psql('postgres', 'INSERT INTO runs (id, v) VALUES (1, 2)');
	my %paths = paths($node);
	is($node->safe_psql('postgres', $needs), '', 'no index is of another format');
	$node->stop;
	open my $file, '+<:raw', $paths{runs_all} or die "$paths{runs_all}: $!";
	# Behind the page's header: the magic number, then the version.
	seek $file, 28, 0 and print $file pack('L', 9999) or die "$paths{runs_all}: $!";
	close $file or die "$paths{runs_all}: $!";
	$node->start;

	is($node->safe_psql('postgres', $needs), 'runs_all', 'the view names the index');
	is($node->safe_psql('postgres', "SELECT num_nulls(size, runs, scans), needs_reindex
		FROM rencoder_index_stats('runs_all')"), '3|t', 'and says no more of it');
	foreach my $statement ('INSERT INTO runs (id, v) VALUES (3, 4)',
		'SET enable_seqscan = off; SELECT id FROM runs WHERE v = 2')
	{
		my (undef, undef, $err) = $node->psql('postgres', $statement);

		like($err, qr/ERROR:  index "runs_all" has format version 9999 .*HINT:  REINDEX INDEX/s,
			"refused: $statement");
	}
	$node->safe_psql('postgres', 'REINDEX INDEX CONCURRENTLY runs_all');
	is($node->safe_psql('postgres', "$needs; INSERT INTO runs (id, v) VALUES (3, 4);
		SET enable_seqscan = off; SELECT id FROM runs WHERE v IN (2, 4) ORDER BY id"),
		"1\n3", 'REINDEX mends it');
	$node->stop;
	return;
}

cmp_ok(scalar @versions, '>', 0, 'there are released formats');
if ($ENV{RENCODER_WRITE_FORMAT})
{
	write_format($ENV{RENCODER_WRITE_FORMAT});
}
else
{
	read_format($_) foreach @versions;
	refuse_format();
}
done_testing();
