# Maintenance that meets a damaged page: its error names index and block, nothing is lost, inserts
# go on, other indexes are maintained, and no page is made that no checkpoint could write.  What
# is made of the table heals what it takes the place of.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderDamage;
use RencoderTest;
use Test::More;

# Clusters of PostgreSQL 18 have checksums; we want to see our own errors.
my $node = new_node('main', conf => "ignore_checksum_failure = on\njit = off\n");

# Offsets in payloads: src/store/meta.h, run_format.h, matrix_pages.h.
my $PENDING_FIRST = 64;
my $RUNS          = 96;
my $RUN_SIZE      = 120;
my $INFO          = 20;

# The page that describes a run: 0 is the base run, 1 a delta.
sub info_page
{
	my ($data, $i) = @_;

	return unpack('V', peek($data, 0, $RUNS + $RUN_SIZE * $i + $INFO, 4));
}

# The first page of keys of a run.
sub leaf
{
	my ($data, $i) = @_;
	my $number = peek($data, info_page($data, $i), 0, 4);
	my ($leaf) = grep { peek($data, $_, 0, 8) eq $number . pack('vv', 0, 0) }
	  pages_of_type($data, 'run');

	return $leaf;
}

# Name => [storage, damage, what to do that meets it].
my $VACUUM  = 'VACUUM t';
my $COMPACT = 'SELECT rencoder_compact(%s)';
my %damage  = map { my $storage = $_; (
	"pending_$storage" => [ $storage,
		sub { return zero_block($_[0], unpack('V', peek($_[0], 0, $PENDING_FIRST, 4))); },
		$VACUUM, "SELECT rencoder_maintain_index(%s)" ],
	"info_$storage" => [
		$storage, sub { return zero_block($_[0], info_page($_[0], 0)); }, $COMPACT ],
	"delta_$storage" => [ $storage, sub { return zero_block($_[0], leaf($_[0], 1)); }, $VACUUM ],
	"free_$storage" => [ $storage, zero_page('free'), $VACUUM, $COMPACT ],
	"free_beyond_$storage" => [ $storage,
		sub {
			poke($_[0], first_page($_[0], 'free'), 4, pack('VVV', 1, 1 << 30, 1 << 20));
			return 1 << 30;
		}, $COMPACT ]) } qw(run filter);
my @names = sort keys %damage;

# Pages of the base run that are not there, or no filters: the table has all that they say.
my %healed = (
	leaf_run       => [ 'run', sub { return zero_block($_[0], leaf($_[0], 0)); } ],
	matrix_filter  => [ 'filter', zero_page('matrix') ],
	windows_filter => [ 'filter', zero_page('windows') ],
	shape_filter   => [ 'filter', poke_first('matrix', 8, "\377" x 16) ]);
my @healed = sort keys %healed;

# Late rows in a delta and on pending pages, rows behind the frontier, free extents.
sub make_table
{
	my ($table, %storage) = @_;
	my $all = '{' . join(',', sort keys %storage) . '}';

	$node->safe_psql('postgres', qq{
		CREATE TABLE $table (id int, v int8, filler text) WITH (fillfactor = 70);
		ALTER TABLE $table ALTER filler SET STORAGE plain;
		INSERT INTO $table SELECT i, hashint8extended(i, 1), repeat('x', 200)
			FROM generate_series(1, 3000) i});
	$node->safe_psql('postgres', "CREATE INDEX $_ ON $table USING rencoder (v) "
		  . "WITH (storage = $storage{$_}, autosummarize = off, pages_per_range = 1)")
	  foreach sort keys %storage;
	$node->safe_psql('postgres', qq{
		SELECT rencoder_compact(i, 0, 20) FROM unnest('$all'::regclass[]) i;
		SELECT rencoder_compact(i) FROM unnest('$all'::regclass[]) i;
		UPDATE $table SET v = hashint8extended(id, 2) WHERE id % 50 = 1;
		VACUUM $table});
	$node->safe_psql('postgres', qq{
		UPDATE $table SET v = hashint8extended(id, 3) WHERE id % 4 = 2;
		INSERT INTO $table SELECT i, hashint8extended(i, 1), repeat('x', 200)
			FROM generate_series(3001, 3400) i});
	return;
}

# Queries for rows of all kinds: the answers that are right, errors that say what is wrong, others.
$node->safe_psql('postgres', $ANSWER . q{
	CREATE FUNCTION ask(tab text, ind text, OUT answered int, OUT refused int, OUT wrong int)
	LANGUAGE plpgsql AS $$
	DECLARE
		ids int[] := '{5, 1500, 2999, 51, 1551, 58, 1558, 3005, 3399, 100001, 100002}';
		key int8;
		got text;
	BEGIN
		answered := 0; refused := 0; wrong := 0;
		FOR i IN 1 .. cardinality(ids) LOOP
			PERFORM set_config('rencoder.enable_scan', 'off', true);
			EXECUTE format('SELECT max(v) FROM %I WHERE id = %s', tab, ids[i]) INTO key;
			CONTINUE WHEN key IS NULL;
			got := answer(ind, format('SELECT count(*) FROM %I WHERE v = %s', tab, key));
			answered := answered + (got = 'answered')::int;
			refused := refused + (got = 'refused')::int;
			wrong := wrong + (got = 'wrong')::int;
		END LOOP;
	END $$});

sub ask
{
	my ($name) = @_;

	return split /\|/, $node->safe_psql('postgres', "SELECT * FROM ask('t_$name', '$name')");
}

sub query
{
	return $node->safe_psql('postgres', $_[0]);
}

# A table each: VACUUM of a table ends with the first index that is damaged.
make_table("t_$_", $_ => $damage{$_}[0]) foreach @names;
make_table("t_$_", $_ => $healed{$_}[0]) foreach @healed;
is(query("SELECT DISTINCT runs, pending_pages, free_extents > 0 FROM unnest('{"
		  . join(',', @names, @healed) . "}'::regclass[]) i, rencoder_metapage(i)"),
	'2|3|t', 'a base run, a delta, three pending pages and free ones');
my %path = map { $_ => index_path($node, $_) } @names, @healed;
my %block;

$node->stop;
$block{$_} = damage_file($path{$_}, $damage{$_}[1]) foreach @names;
$block{$_} = damage_file($path{$_}, $healed{$_}[1]) foreach @healed;
$node->start;

foreach my $name (@names)
{
	my (undef, undef, @commands) = @{ $damage{$name} };

	foreach my $round (1, 2)
	{
		foreach my $command (@commands)
		{
			my $sql = $command eq $VACUUM ? "VACUUM t_$name" : sprintf($command, "'$name'");

			# Each attempt takes a block off the list.
			my $where = $block{$name} + ($name =~ /beyond/ ? $round - 1 : 0);
			my ($ret, $out, $err) = $node->psql('postgres', $sql,
				extra_params => [ '-v', 'VERBOSITY=verbose' ]);

			like($err,
				qr/ERROR:  XX002: index "$name" is corrupted at block $where\n.*HINT:  REINDEX/s,
				"$name: $sql names index and block");
			like($err, qr/DETAIL:  A page was to be made behind the end of the index\./,
				"$name: nothing is written behind the end") if $name =~ /beyond/;
		}

		# On pages of the run, and behind the frontier.
		$node->safe_psql('postgres', qq{
			UPDATE t_$name SET v = hashint8extended(id, 5) WHERE id % 50 = 2 + $round;
			INSERT INTO t_$name SELECT i, hashint8extended(i, 1), repeat('x', 200)
				FROM generate_series(100000 * $round, 100000 * $round + 300) i});
		my ($answered, $refused, $wrong) = ask($name);
		is($wrong, 0, "$name: no wrong answer of $answered and $refused errors");
		isnt($refused, 0, "$name: but errors") if $name =~ /^(pending|delta)/;
		is($refused, 0, "$name: queries do not read what is damaged") if $name =~ /free/;
	}
}
$node->safe_psql('postgres', 'CHECKPOINT');

foreach my $name (@healed)
{
	my ($ret, $out, $err) = $node->psql('postgres', "SELECT rencoder_index_check('$name')");
	like($err, qr/ERROR:  index "$name" is corrupted at block $block{$name}\n/,
		"$name: is damaged");
	is((ask($name))[2], 0, "$name: no wrong answer");
	$node->safe_psql('postgres', "VACUUM t_$name");
	is((ask($name))[2], 0, "$name: nor after VACUUM");
	$node->safe_psql('postgres', "SELECT rencoder_compact('$name')");
	$node->safe_psql('postgres', "SELECT rencoder_index_check('$name', true)");
	is(join(' ', ask($name)), '9 0 0', "$name: healed by reading the table");
}

foreach my $name (@names)
{
	$node->safe_psql('postgres', "REINDEX INDEX $name; VACUUM t_$name");
	$node->safe_psql('postgres', "SELECT rencoder_index_check('$name', true)");
	is(join(' ', ask($name)), '11 0 0', "$name: healed by REINDEX");
}

#
# An index that a session or the worker cannot maintain holds up neither inserts nor the other
# index.
#
make_table('pair', damaged => 'run', sound => 'run');
my $path = index_path($node, 'damaged');
my $block;

$node->safe_psql('postgres', 'ALTER INDEX damaged SET (autosummarize = on); '
  . 'ALTER INDEX sound SET (autosummarize = on)');
foreach my $workers (0, 8)
{
	$node->append_conf('postgresql.conf', "max_worker_processes = $workers\n");
	$node->stop;
	$block = damage_file($path, zero_page('free')) if $workers == 0;
	$node->start;
	my $frontier = query("SELECT frontier FROM rencoder_metapage('sound')");
	my $log      = -s $node->logfile;
	my $who      = $workers == 0 ? 'a session' : 'the worker';

	$node->safe_psql('postgres', q{INSERT INTO pair SELECT i, hashint8extended(i, 1),
		repeat('x', 200) FROM generate_series(200001, 220000) i});
	ok( $node->poll_query_until('postgres',
			"SELECT frontier > $frontier + 200 FROM rencoder_metapage('sound')"),
		"$who maintains the other index");
	ok( $node->poll_query_until('postgres', "SELECT pg_read_file('" . $node->logfile
			  . "', $log, 10000000) ~ 'index \"damaged\" is corrupted at block $block\\M'"),
		"$who: the log names index and block");
}
$node->safe_psql('postgres', 'REINDEX INDEX damaged');
$node->safe_psql('postgres', "SELECT rencoder_index_check('$_', true)") foreach qw(damaged sound);

$node->stop;
done_testing();
