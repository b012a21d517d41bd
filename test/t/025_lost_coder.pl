# Coders that an index has lost: no row is lost, queries, VACUUM and maintenance say so and leave
# the index as it is, inserts go on, REINDEX heals.  And no other coder is taken for one that was
# lost, nor is a metapage of a permanent index lost by a crash.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderDamage;
use RencoderTest;
use Test::More;

# Offsets in the payload of the metapage: src/store/meta.h.
my $CODER_ROOT = 24;
my $NRUNS      = 36;
my $FRONTIER   = 48;    # and entries_to
my $RUNS       = 96;

# Nothing is evicted, no checkpoint comes by itself, no scan writes a sample.
my $node = new_node('main',
	conf => "shared_buffers = '128MB'\ncheckpoint_timeout = '1h'\nmax_wal_size = '4GB'\n"
	  . "ignore_checksum_failure = on\nrencoder.sample_rate = 0\njit = off\n");

# What queries for values, some of which are there, give by the index: how many have the right
# answer, an error that names the damage, and anything else.
$node->safe_psql('postgres', $ANSWER . q{
	CREATE FUNCTION address(i int) RETURNS text LANGUAGE sql IMMUTABLE AS $$
		SELECT CASE WHEN i % 4 = 0 THEN 'http://www.example.com/'
			ELSE 'ftp://files.example.org/pub/' END || md5(i::text)
	$$;
	CREATE FUNCTION ask(tab text, OUT answered int, OUT refused int, OUT wrong int)
	LANGUAGE sql AS $$
		SELECT count(*) FILTER (WHERE a = 'answered'), count(*) FILTER (WHERE a = 'refused'),
			count(*) FILTER (WHERE a = 'wrong')
		FROM generate_series(1, 12) i, answer(tab || '_a',
			format('SELECT count(*) FROM %I WHERE a = address(%s)', tab, 4 * i)) a
	$$});

sub psql
{
	my ($sql) = @_;
	my ($out, $err) = ('', '');
	my $ret = $node->psql('postgres', $sql, stdout => \$out, stderr => \$err);

	return ($ret, $out, $err);
}

sub ask
{
	my ($table) = @_;

	return $node->safe_psql('postgres', "SELECT * FROM ask('$table')");
}

# A table whose index has a run, but no coder: there were no values to learn from.
sub make_table
{
	my ($table, $storage) = @_;

	$node->safe_psql('postgres', qq{
		CREATE TABLE $table (id int, a text, pad text) WITH (fillfactor = 80);
		INSERT INTO $table SELECT g, NULL, repeat('x', 150) FROM generate_series(1, 400) g;
		CREATE INDEX ${table}_a ON $table USING rencoder (a)
			WITH (storage = $storage, pages_per_range = 1, autosummarize = off)});
	return;
}

# Two kinds of addresses: a coder is trained, and a run and entries name it.
sub learn
{
	my ($table) = @_;

	$node->safe_psql('postgres', qq{
		INSERT INTO $table SELECT g, address(g), repeat('x', 150) FROM generate_series(1, 5000) g;
		SELECT rencoder_maintain_index('${table}_a');
		UPDATE $table SET a = address(id + 4) WHERE id % 40 = 4});
	return;
}

sub runs
{
	my ($table) = @_;

	return $node->safe_psql('postgres', "SELECT run, kind, from_page, to_page, entries "
		  . "FROM rencoder_runs('${table}_a') ORDER BY 1");
}

# The names of all coders, the server being down.
sub coders
{
	my ($path) = @_;
	my $data = slurp_file($path);
	my $list = unpack('V', peek(\$data, 0, $CODER_ROOT, 4));

	return '' if $list == 0;
	return join ' ', map { unpack('V', peek(\$data, $list, 8 + 24 * $_, 4)) }
	  0 .. unpack('V', peek(\$data, $list, 0, 4)) - 1;
}

#
# The metapage is there after a crash, also if a session had another idea of the relation's
# persistence.
#
make_table('coded', 'run');
$node->safe_psql('postgres', 'CHECKPOINT');
$node->restart;		# the metapage is not in shared buffers
$node->safe_psql('postgres', 'BEGIN; ALTER TABLE coded SET UNLOGGED; ROLLBACK');
learn('coded');
my $runs = runs('coded');
like($runs, qr/\n/, 'coded: another run');
$node->safe_psql('postgres', 'CHECKPOINT');
$node->stop('immediate');
$node->start;
is(runs('coded'), $runs, 'coded: all runs are there after a crash');
is(ask('coded'), '12|0|0', 'coded: and their coder');
$node->safe_psql('postgres', "SELECT rencoder_index_check('coded_a', true)");

# The other way round.
$node->safe_psql('postgres', q{CREATE UNLOGGED TABLE u AS SELECT * FROM coded;
	CREATE INDEX u_a ON u USING rencoder (a) WITH (autosummarize = off)});
$node->restart;
$node->safe_psql('postgres', q{BEGIN; ALTER TABLE u SET LOGGED; ROLLBACK;
	INSERT INTO u SELECT * FROM coded; SELECT rencoder_maintain_index('u_a'); CHECKPOINT});
$runs = runs('u');
$node->restart;
is(runs('u'), $runs, 'u: an unlogged index keeps its metapage');

#
# The list of coders is lost, or what it says.
#
my %damage = (
	no_root    => sub { return poke($_[0], 0, $CODER_ROOT, pack('V', 0)); },
	empty_list => poke_first('coders', 0, pack('V', 0)));
my %storage = (
	no_root_run    => 'run',
	no_root_filter => 'filter',
	empty_list_run => 'run',
	unnamed_run    => 'run',
	unnamed_filter => 'filter');
my @unnamed = grep { /^unnamed/ } sort keys %storage;
my @lost    = grep { !/^unnamed/ } sort keys %storage;

foreach my $table (sort keys %storage)
{
	make_table($table, $storage{$table});
	learn($table);
	is(ask($table), '12|0|0', "$table: sound so far");

	# Another coder would be different.
	$node->safe_psql('postgres', "DELETE FROM $table WHERE a LIKE 'ftp%'");
}
my %path = map { $_ => index_path($node, $_ . '_a') } keys %storage;
my %runs = map { $_ => runs($_) } @lost;
my %first;
my %meta;

$node->stop;
foreach my $table (sort keys %storage)
{
	$first{$table} = coders($path{$table});
	like($first{$table}, qr/^\d+$/, "$table: has a coder");
}
damage_file($path{$_}, $damage{ s/_(run|filter)$//r }) foreach @lost;

# Here what names the coder is not to be found, either.
damage_file($path{$_}, sub {
	my ($data) = @_;

	$meta{$_} = substr($$data, 0, $BLCKSZ);
	poke($data, 0, $CODER_ROOT, pack('V', 0));
	poke($data, 0, $FRONTIER, pack('VV', 0, 0));
	poke($data, 0, $NRUNS, pack('V', 0));
}) foreach @unnamed;
$node->start;

my $MISSING =
  qr/is corrupted at block \d+\nDETAIL:  The coder of a run's keys is missing\.\nHINT:  REINDEX/;
foreach my $table (@lost)
{
	my $index = "${table}_a";

	is(ask($table), '0|12|0', "$table: queries say that it is damaged");
	foreach my $sql (
		"SELECT rencoder_maintain_index('$index')", "SELECT rencoder_compact('$index')",
		"SELECT rencoder_compact('$index', 0, 5)", "SELECT rencoder_maintain('$table')")
	{
		my ($ret, undef, $err) = psql($sql);

		isnt($ret, 0, "$table: $sql refuses");
		like($err, qr/ERROR:  index "$index" $MISSING/, "$table: and says why");
	}

	# New rows: on pages of runs, and behind the frontier.
	foreach my $round (1, 2)
	{
		$node->safe_psql('postgres', qq{
			UPDATE $table SET a = address(id + 8) WHERE id % 40 = 8 * $round;
			INSERT INTO $table SELECT g, address(4 * g), repeat('x', 150)
				FROM generate_series(1, 500) g});
		my ($ret, undef, $err) = psql("VACUUM $table");
		is($ret, 0, "$table: VACUUM of the table goes on");
		like($err, qr/WARNING:  index "$index" $MISSING/, "$table: and warns");
		is(ask($table), '0|12|0', "$table: no wrong answer after VACUUM");
	}
	is(runs($table), $runs{$table}, "$table: all runs are left as they are");
}
$node->stop;
is(coders($path{$_}), '', "$_: no coder was trained") foreach @lost;
$node->start;
foreach my $table (@lost)
{
	my $how = $table =~ /^no_root/ ? '' : 'CONCURRENTLY';

	$node->safe_psql('postgres', "REINDEX INDEX $how ${table}_a");
	is(ask($table), '12|0|0', "$table: healed by REINDEX $how");
	$node->safe_psql('postgres', "SELECT rencoder_index_check('${table}_a', true)");
}

#
# If nothing is to be found that names the lost coder, there is a new one.  And what named the
# old one, found again, does not take the new one for it.
#
foreach my $table (@unnamed)
{
	$node->safe_psql('postgres', "VACUUM $table");
	like(runs($table), qr/^\d+\|[^\n]+\|0\|\d+\|[1-9]\d*$/, "$table: a run of all of the table");
	is(ask($table), '12|0|0', "$table: all is indexed anew");
}
$node->stop;
foreach my $table (@unnamed)
{
	my $new = coders($path{$table});

	like($new, qr/^\d+$/, "$table: there is one coder");
	isnt($new, $first{$table}, "$table: which has a name of its own");
	damage_file($path{$table}, sub {
		my ($data) = @_;
		my $old = \$meta{$table};

		poke($data, 0, $FRONTIER, peek($old, 0, $FRONTIER, 8));
		poke($data, 0, $NRUNS, peek($old, 0, $NRUNS, 4));
		poke($data, 0, $RUNS, peek($old, 0, $RUNS, 64 * 120));
	});
}
$node->start;
foreach my $table (@unnamed)
{
	is(ask($table), '0|12|0', "$table: the old runs give no wrong answer");
	my ($ret, undef, $err) = psql("VACUUM $table");
	like($err, qr/WARNING:  index "${table}_a" $MISSING/, "$table: VACUUM warns");
	is(ask($table), '0|12|0', "$table: nor do they after VACUUM");
	$node->safe_psql('postgres', "REINDEX INDEX ${table}_a");
	is(ask($table), '12|0|0', "$table: healed by REINDEX");
}

$node->stop;
done_testing();
