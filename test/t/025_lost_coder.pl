# The metapage of a permanent index must not be lost, and if it is, no coder of
# keys may be taken for another.
#
# A crash that brings an old metapage back makes groups name a coder that is not there.  The same
# damage is done by hand, too.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderTest;
use Test::More;

my $BLCKSZ     = 8192;
my $CODER_ROOT = 24 + 36;    # in block 0: src/meta.h
my $DIRECT     = 24 + 52;

# Nothing is evicted, no checkpoint comes by itself, no scan writes a sample.
my $node = new_node('main',
	conf => "shared_buffers = '128MB'\ncheckpoint_timeout = '1h'\nmax_wal_size = '4GB'\n"
	  . "ignore_checksum_failure = on\nrencoder.sample_rate = 0\n");

sub psql
{
	my ($sql) = @_;
	my ($out, $err) = ('', '');
	my $ret = $node->psql('postgres', $sql, stdout => \$out, stderr => \$err);

	return ($ret, $out, $err);
}

# What queries for values that are there give by the index: the number of
# queries with a right answer, with an error that names the damage, and others.
sub ask
{
	my ($table) = @_;
	my %count = (right => 0, error => 0, wrong => 0);

	foreach my $i (map { 4 * $_ } 1 .. 40)
	{
		my $from = "FROM $table WHERE a = 'http://www.example.com/' || md5('$i')";
		my $truth = $node->safe_psql('postgres',
			"SET rencoder.enable_scan = off; SELECT count(*) $from");
		my ($ret, $out, $err) = psql("SET enable_seqscan = off; SELECT count(*) $from");

		if ($ret == 0)
		{
			$count{ $out eq $truth ? 'right' : 'wrong' }++;
			diag("$table: $out rows by the index, $truth by the heap: $i") if $out ne $truth;
		}
		else
		{
			like($err, qr/is corrupted/, "$table: the error names the damage")
			  if $count{error}++ == 0;
		}
	}
	return \%count;
}

# A table whose index has a group, but no coder: there were no values to learn from.
sub make_table
{
	my ($table) = @_;

	$node->safe_psql('postgres', <<~"SQL");
		CREATE TABLE $table (id int, a text, pad text);
		CREATE INDEX ${table}_a ON $table USING rencoder (a)
			WITH (pages_per_range = 1, autosummarize = off);
		INSERT INTO $table SELECT g, NULL, repeat('x', 150) FROM generate_series(1, 400) g;
		SELECT rencoder_maintain_index('${table}_a');
	SQL
	is(coder_of($table), '', "$table: no coder yet");
	return;
}

# Two kinds of addresses: a coder is trained, and groups name it.
sub learn
{
	my ($table) = @_;

	$node->safe_psql('postgres', <<~"SQL");
		INSERT INTO $table SELECT g, CASE WHEN g % 4 = 0 THEN 'http://www.example.com/'
				ELSE 'ftp://files.example.org/pub/' END || md5(g::text), repeat('x', 150)
			FROM generate_series(1, 40000) g;
		SELECT rencoder_maintain_index('${table}_a');
	SQL
	retune($table);
	return;
}

# Groups that do not gain are left with the coder that they have: all that have a
# new one after this were made anew.
sub retune
{
	my ($table) = @_;

	$node->safe_psql('postgres', "SELECT rencoder_retune('${table}_a')");
	return;
}

sub coder_of
{
	my ($table) = @_;

	return $node->safe_psql('postgres',
		"SELECT string_agg(DISTINCT coder::text, ',') FROM rencoder_query_samples('${table}_a') "
		  . "WHERE coder <> 0");
}

sub index_file
{
	my ($table) = @_;

	return $node->data_dir . '/'
	  . $node->safe_psql('postgres', "SELECT pg_relation_filepath('${table}_a')");
}

# Changes the bytes of block 0 of a file, the server being down.
sub change_block0
{
	my ($file, $change) = @_;
	my $page;

	open my $fh, '+<:raw', $file or die "$file: $!";
	read $fh, $page, $BLCKSZ;
	$change->(\$page);
	seek $fh, 0, 0;
	print $fh $page;
	close $fh or die "$file: $!";
	return;
}

sub copy_block0
{
	my ($file) = @_;
	my $copy;

	change_block0($file, sub { $copy = ${ $_[0] } });
	return $copy;
}

#
# Replaced storage is read as what it is.
#
$node->safe_psql('postgres', <<~'SQL');
	CREATE TABLE t (a bigint, pad text);
	INSERT INTO t SELECT (g * 7919) % 1000003, repeat('x', 200) FROM generate_series(1, 50000) g;
	CREATE INDEX t_a ON t USING rencoder (a)
		WITH (pages_per_range = 4, autosummarize = off);
SQL
make_table($_) for qw(coded zeroed old unnamed);
$node->safe_psql('postgres', 'CHECKPOINT');

# The metapages are not in the buffer pool now.
$node->restart;
$node->safe_psql('postgres', <<~'SQL');
	BEGIN; ALTER TABLE t SET UNLOGGED; ROLLBACK;
	BEGIN; ALTER TABLE coded SET UNLOGGED; ROLLBACK;
SQL
$node->safe_psql('postgres', "SELECT rencoder_desummarize_range('t_a', 0)");
learn('coded');
my $coder = coder_of('coded');
$node->safe_psql('postgres', 'CHECKPOINT');
is($node->safe_psql('postgres', "SELECT epoch FROM rencoder_metapage('t_a')"),
	2, 'a change of the metapage');
$node->stop('immediate');
$node->start;
is($node->safe_psql('postgres', "SELECT epoch FROM rencoder_metapage('t_a')"),
	2, 'the metapage is there after a crash');
my ($ret, undef, $err) = psql("SELECT rencoder_index_check('t_a', true)");
is($ret, 0, "no damage: $err");
compare_with_seqscan($node, 'postgres', 'SELECT * FROM t WHERE a BETWEEN 1000 AND 1500',
	index => 't_a');

is_deeply(ask('coded'), { right => 40, error => 0, wrong => 0 },
	'the coder is there after a crash');
is(coder_of('coded'), $coder, 'the same coder');

# The rows that the coder was trained on are gone: another one would be different.
psql("SET rencoder.enable_scan = off; DELETE FROM coded WHERE a LIKE 'ftp%'");
psql('VACUUM coded');
psql("SELECT rencoder_retune('coded_a')");
is(ask('coded')->{wrong}, 0, 'no wrong answer after VACUUM');

# The other way round: the storage of an unlogged index, replaced by a permanent one.
$node->safe_psql('postgres', <<~'SQL');
	CREATE UNLOGGED TABLE u AS SELECT * FROM t;
	CREATE INDEX u_a ON u USING rencoder (a)
		WITH (pages_per_range = 4, autosummarize = off);
SQL
$node->restart;
$node->safe_psql('postgres', 'BEGIN; ALTER TABLE u SET LOGGED; ROLLBACK; '
  . 'SELECT rencoder_desummarize_range(\'u_a\', 0); CHECKPOINT');
$node->restart;
is($node->safe_psql('postgres', "SELECT epoch FROM rencoder_metapage('u_a')"), 2,
	'an unlogged index keeps its metapage');

#
# A metapage that lost the list of coders: maintenance leaves the index alone.
#
my %file = map { $_ => index_file($_) } qw(zeroed old unnamed);
$node->stop;
my $old = copy_block0($file{old});
$node->start;
learn($_) for qw(zeroed old unnamed);
my %first = map { $_ => coder_of($_) } qw(zeroed old unnamed);
like($first{$_}, qr/^\d+$/, "$_: has a coder") for qw(zeroed old unnamed);
is_deeply(ask($_), { right => 40, error => 0, wrong => 0 }, "$_: sound so far")
  for qw(zeroed old unnamed);
psql("SET rencoder.enable_scan = off; DELETE FROM $_ WHERE a LIKE 'ftp%'")
  for qw(zeroed old unnamed);
$node->stop;
change_block0($file{zeroed}, sub { substr(${ $_[0] }, $CODER_ROOT, 4) = pack('V', 0) });
change_block0($file{old}, sub { ${ $_[0] } = $old });

# Here the groups are not to be found either.
my $directory;
change_block0($file{unnamed}, sub {
	substr(${ $_[0] }, $CODER_ROOT, 4) = pack('V', 0);
	$directory = substr(${ $_[0] }, $DIRECT, 4);
	substr(${ $_[0] }, $DIRECT, 4) = pack('V', 0);
});
isnt(unpack('V', $directory), 0, 'there was a directory page');
$node->start;

my $MISSING = qr/is corrupted at block \d+.*The coder of a group's keys is missing.*REINDEX/s;
foreach my $table (qw(zeroed old))
{
	my ($vret, undef, $verr) = psql("VACUUM $table");
	my $index = "${table}_a";

	is($vret, 0, "$table: VACUUM of the table goes on");
	like($verr, qr/WARNING:  index "$index" $MISSING/s, "$table: VACUUM warns");
	foreach my $call ("rencoder_retune('$index')", "rencoder_maintain_index('$index')")
	{
		my ($fret, undef, $ferr) = psql("SELECT $call");

		isnt($fret, 0, "$table: $call refuses");
		like($ferr, qr/$MISSING/, "$table: $call says why");
	}
	# An old metapage knows nothing of the samples, which tell the coder.
	like(coder_of($table), qr/^(?:$first{$table})?$/, "$table: nothing was trained");
	my $answers = ask($table);
	is($answers->{wrong}, 0, "$table: no wrong answer");
	cmp_ok($answers->{error}, '>', 0, "$table: but errors");

	# New rows, some of them in ranges without a summary.
	psql("INSERT INTO $table SELECT g, 'http://www.example.com/' || md5(g::text), repeat('x', 150) "
	  . "FROM generate_series(50001, 55000) g");
	psql("VACUUM $table");
	is(ask($table)->{wrong}, 0, "$table: nor after the next VACUUM");
	$node->safe_psql('postgres', "REINDEX INDEX $index");
	is_deeply(ask($table), { right => 40, error => 0, wrong => 0 }, "$table: healed by REINDEX");
}

#
# If no group is to be found that names the lost coder, there is a new one; and
# what named the old one, found again, does not take the new one for it.
#
psql('VACUUM unnamed');
retune('unnamed');
is(ask('unnamed')->{wrong}, 0, 'unnamed: no wrong answer');
my @coders = grep { $_ ne $first{unnamed} } split /,/, coder_of('unnamed');
is(scalar @coders, 1, 'unnamed: a new coder has a name of its own');
$node->stop;
change_block0($file{unnamed}, sub { substr(${ $_[0] }, $DIRECT, 4) = $directory });
$node->start;
my $answers = ask('unnamed');
is($answers->{wrong}, 0, 'unnamed: the old groups give no wrong answer');
cmp_ok($answers->{error}, '>', 0, 'unnamed: but errors');
psql('VACUUM unnamed');
psql("SELECT rencoder_retune('unnamed_a')");
is(ask('unnamed')->{wrong}, 0, 'unnamed: nor after VACUUM and retuning');

done_testing();
