# Strings: databases of other collations, dictionaries after a crash and on a
# standby, damaged ones, changes while ranges are summarized anew, and VACUUM
# where dead rows refer to TOAST.
use strict;
use warnings;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderTest;
use Test::More;

my $BLCKSZ  = 8192;
my $PAYLOAD = 24;

my ($node, $standby) = start_primary_with_standby(
	conf => "max_prepared_transactions = 2\n"
	  . "ignore_checksum_failure = on\nshared_buffers = 8MB\n");

# Words of all kinds: short ones and long ones, alike at their beginning or not.
my $setup = q{
	CREATE FUNCTION word(i int) RETURNS text LANGUAGE sql IMMUTABLE AS $$
		SELECT CASE i % 4
			WHEN 0 THEN 'https://www.example.com/' || to_hex(hashint4extended(i, 1) & 65535)
			WHEN 1 THEN left(md5(i::text), 1 + i % 7)
			WHEN 2 THEN repeat('alike ', 40 + i % 20) || i
			ELSE chr(192 + i % 64) || chr(65 + i % 26) || chr(97 + i % 26) || i END
	$$;
	CREATE TABLE t (id int, v text, b bytea, c char(40), few varchar(40));
	CREATE FUNCTION fill(a int, z int) RETURNS void LANGUAGE sql AS $$
		INSERT INTO t SELECT i, word(i), convert_to(word(i), 'UTF8'), left(word(i), 40), 'https://www.example.com/' || i % 13
		FROM generate_series(a, z) i
	$$;
	SELECT fill(1, 8000);
	CREATE INDEX t_v ON t USING rencoder (v) WITH (pages_per_range = 1);
	CREATE INDEX t_b ON t USING rencoder (b) WITH (pages_per_range = 1);
	CREATE INDEX t_c ON t USING rencoder (c, few) WITH (pages_per_range = 1);
};
my @indexes = ('t_v', 't_b', 't_c');
$node->safe_psql('postgres', $setup);

sub quote { my ($s) = @_; $s =~ s/'/''/g; return "'$s'"; }

sub some_queries
{
	my @queries;

	foreach my $i (map { rnd_between(1, 16000) } 1 .. 5)
	{
		my $length = rnd_between(1, 30);

		push @queries,
		  "SELECT id FROM t WHERE v = word($i)",
		  "SELECT id FROM t WHERE v LIKE left(word($i), $length) || '%'",
		  "SELECT id FROM t WHERE v ^\@ left(word($i), $length)",
		  "SELECT id FROM t WHERE v < left(word($i), 4) AND v LIKE left(word($i), 1) || '%'",
		  "SELECT id FROM t WHERE v BETWEEN left(word($i), 4) AND left(word($i), 5)",
		  "SELECT id FROM t WHERE v ~>~ left(word($i), $length) AND id % 7 = 0",
		  "SELECT id FROM t WHERE b = convert_to(word($i), 'UTF8')",
		  "SELECT id FROM t WHERE b > convert_to(word($i), 'UTF8') AND id % 5 = 0",
		  "SELECT id FROM t WHERE c = left(word($i), 40)::bpchar",
		  "SELECT id FROM t WHERE c LIKE left(word($i), $length) || '%' AND few <> 'x'",
		  "SELECT id FROM t WHERE c = left(word($i), 40)::bpchar AND few = 'https://www.example.com/' || $i % 15";
	}
	return \@queries;
}

sub verify
{
	my ($name, $dbname, @nodes) = @_;
	my $queries = some_queries();

	wait_for_standby($node, $standby) if @nodes > 1;
	foreach my $n (@nodes)
	{
		foreach my $index (@indexes)
		{
			my ($ret, $out, $err) =
			  $n->psql($dbname, "SELECT rencoder_index_check('$index', true)");

			is($err, '', "$name: $index is sound on the " . $n->name);
		}
		compare_many_with_seqscan($n, $dbname, $queries, "$name, " . $n->name);
	}
	return;
}

ok(uses_index($node, 'postgres', $_->[0], $_->[1]), "index for $_->[0]")
  foreach [ "SELECT id FROM t WHERE v LIKE 'a%'", 't_v' ],
  [ "SELECT id FROM t WHERE b = 'x'", 't_b' ],
  [ "SELECT id FROM t WHERE c = 'x'", 't_c' ];

#
# Crash, standby.
#
verify('built', 'postgres', $node, $standby);
$node->stop('immediate');
$node->start;
verify('after a crash', 'postgres', $node, $standby);
$node->safe_psql('postgres', 'SELECT fill(8001, 12000)');
verify('inserted', 'postgres', $node, $standby);
$node->safe_psql('postgres',
	'VACUUM t; UPDATE t SET v = word(id + 1) WHERE id % 9 = 0; DELETE FROM t WHERE id % 6 = 0');
$node->stop('immediate');
$node->start;
verify('vacuumed, updated, after a crash', 'postgres', $node, $standby);
$node->safe_psql('postgres', 'VACUUM t; SELECT fill(12001, 16000); VACUUM t');
verify('vacuumed again', 'postgres', $node, $standby);
$node->safe_psql('postgres', 'REINDEX TABLE t');
verify('reindexed', 'postgres', $node, $standby);

#
# Databases whose default is not C.
#
foreach my $locale (
	[ 'icu',  q{LOCALE_PROVIDER icu ICU_LOCALE 'en-US' LOCALE 'C'} ],
	[ 'libc', q{LOCALE 'C.UTF-8'} ])
{
	my ($name, $options) = @$locale;
	my ($ret, $out, $err) = $node->psql('postgres',
		"CREATE DATABASE $name TEMPLATE template0 ENCODING 'UTF8' $options");

  SKIP:
	{
		skip "no such locale: $err", 1 if $ret != 0;
		$node->safe_psql($name, "CREATE EXTENSION rencoder; $setup");
		verify("$name: built", $name, $node);
		$node->safe_psql($name, 'SELECT fill(8001, 10000); VACUUM t; SELECT fill(10001, 11000)');
		verify("$name: inserted", $name, $node);

		# The order is not that of bytes, and must not prune; the others must.
		my %pages = map {
			$_ => $node->safe_psql($name,
				"SET enable_seqscan = off; EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT * FROM t WHERE v $_") =~ /lossy=(\d+)/ ? $1 : 0
		} "LIKE '1f%'", "= word(77)", "< '0'", "COLLATE \"C\" < '0'";

		my $all = $node->safe_psql($name,
			"SELECT pg_relation_size('t') / current_setting('block_size')::int");
		cmp_ok($pages{"LIKE '1f%'"}, '<', $all / 2, "$name: LIKE prunes");
		cmp_ok($pages{'= word(77)'}, '<', $all / 4, "$name: equality prunes");
		cmp_ok($pages{"< '0'"}, '==', $all, "$name: order does not")
		  if $name eq 'icu';
		is($pages{"COLLATE \"C\" < '0'"}, 0, "$name: nor is the index for another collation");
	}
}

#
# Inserts and updates while ranges are forgotten and summarized again.
#
sub start_client
{
	my ($sql) = @_;
	my ($in, $out, $err) = ('', '', '');

	return {
		err    => \$err,
		handle => IPC::Run::start(
			[ 'psql', '-XqAt', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres'), '-c', $sql ],
			'<', \$in, '>', \$out, '2>', \$err)
	};
}

$node->safe_psql(
	'postgres', q{
	CREATE TABLE go (x int);
	INSERT INTO go VALUES (1);
	CREATE PROCEDURE summarize_again(rounds int) LANGUAGE plpgsql AS $$
	DECLARE
		n int := pg_relation_size('t') / current_setting('block_size')::int;
		b int;
	BEGIN
		FOR i IN 1 .. rounds LOOP
			b := (random() * n)::int;
			PERFORM rencoder_desummarize_range('t_v', b), rencoder_desummarize_range('t_c', b);
			COMMIT;
			PERFORM rencoder_summarize_range('t_v', b), rencoder_summarize_range('t_c', b);
			COMMIT;
			IF i % 50 = 0 THEN
				PERFORM rencoder_summarize_new_values('t_v'), rencoder_summarize_new_values('t_c');
				COMMIT;
			END IF;
		END LOOP;
	END $$;
});
my @clients = map { start_client($_) } (
	q{DO $$ DECLARE i int := 20000; BEGIN
		WHILE (SELECT count(*) FROM go) > 0 LOOP PERFORM fill(i, i + 50); i := i + 51; COMMIT; END LOOP; END $$},
	q{DO $$ BEGIN WHILE (SELECT count(*) FROM go) > 0 LOOP
		UPDATE t SET v = word((random() * 50000)::int), c = left(v, 20) WHERE ctid = format('(%s,%s)', (random() * 200)::int, 1 + (random() * 40)::int)::tid;
		COMMIT; END LOOP; END $$});
my ($ret, $out, $err) = $node->psql('postgres', 'CALL summarize_again(600)');
is($err, '', 'ranges are forgotten and summarized');
$node->safe_psql('postgres', 'DELETE FROM go');
foreach my $client (@clients)
{
	$client->{handle}->finish;
	is(${ $client->{err} }, '', 'while rows are inserted and updated');
}
note($node->safe_psql('postgres', 'SELECT count(*) FROM t WHERE id >= 20000') . ' rows inserted');
verify('concurrent changes', 'postgres', $node, $standby);

#
# VACUUM summarizes a range with a row that is dead, but that an old transaction
# keeps there, while its value is gone from TOAST: another VACUUM may have
# removed it, for which the first one's snapshot does not count.  Nor does the
# snapshot of any other command once the old transaction has ended.  Here the
# value is removed first.  Where rows are read by PostgreSQL's own scan, as for a
# partial index, VACUUM takes the range as one that always matches; else the row is
# left out, and only old snapshots must not trust the range.
#
$node->safe_psql(
	'postgres', q{
	CREATE TABLE toasted (id int, v text, filler text);
	ALTER TABLE toasted ALTER v SET STORAGE external;
	INSERT INTO toasted SELECT i, 'key ' || i || repeat('x', 3000), repeat('y', 1000) FROM generate_series(1, 100) i;
	CREATE INDEX toasted_v ON toasted USING rencoder (v) WITH (pages_per_range = 1);
	CREATE INDEX toasted_partial ON toasted USING rencoder (v) WITH (pages_per_range = 1) WHERE id > 0;
	SELECT rencoder_desummarize_range(i::regclass, b)
	FROM generate_series(0, 20) b, unnest('{toasted_v,toasted_partial}'::text[]) i;
});
my $toast = $node->safe_psql('postgres',
	q{SELECT reltoastrelid::regclass FROM pg_class WHERE oid = 'toasted'::regclass});
SKIP:
{
	skip 'no pg_surgery', 10
	  if $node->safe_psql('postgres',
		q{SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_surgery'}) == 0;
	my @chunks = map {
		$node->safe_psql('postgres',
			"SELECT array_agg(ctid) FROM $toast WHERE chunk_id = (SELECT DISTINCT chunk_id FROM $toast ORDER BY 1 OFFSET $_ LIMIT 1)")
	} 4, 5;
	$node->safe_psql('postgres',
		"CREATE EXTENSION pg_surgery; SELECT heap_force_kill('$toast', '$chunks[0]'::tid[])");
	like(
		($node->psql('postgres', 'SELECT max(v) FROM toasted WHERE id = 5'))[2],
		qr/missing chunk/, 'a value is gone');
	$node->safe_psql('postgres',
		q{BEGIN; SELECT txid_current(); PREPARE TRANSACTION 'old'});
	my $reader = $node->background_psql('postgres', on_error_die => 1);
	$reader->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
	$node->safe_psql('postgres', 'DELETE FROM toasted WHERE id = 5');
	($ret, $out, $err) = $node->psql('postgres', 'VACUUM toasted');
	is($err, '', 'VACUUM leaves values of dead rows alone');
	is( $node->safe_psql('postgres',
			q{SELECT count(*) FROM unnest('{toasted_v,toasted_partial}'::text[]) i, rencoder_ranges(i::regclass)
				WHERE state <> 'summarized'}),
		0, 'and has summarized all ranges');
	is( $node->safe_psql('postgres',
			q{SELECT count(*) FROM rencoder_ranges('toasted_partial') WHERE always}),
		1, 'one of which always matches');
	is( $node->safe_psql('postgres',
			q{SELECT count(*) FROM rencoder_ranges('toasted_v') WHERE always}),
		0, 'where the row is not left out');

	# An update's old version, of a HOT chain from PostgreSQL 16 on.
	$node->safe_psql('postgres', qq{
		DROP INDEX toasted_partial;
		UPDATE toasted SET v = 'key new' WHERE id = 6;
		SELECT heap_force_kill('$toast', '$chunks[1]'::tid[])});
	foreach my $command (
		q{DO $$BEGIN PERFORM rencoder_desummarize_range('toasted_v', b) FROM generate_series(0, 20) b;
			PERFORM rencoder_summarize_new_values('toasted_v'); END$$},
		'REINDEX INDEX toasted_v',
		'CREATE INDEX toasted_again ON toasted USING rencoder (v) WITH (pages_per_range = 1)')
	{
		($ret, $out, $err) = $node->psql('postgres', $command);
		is($err, '', "$command leaves such values alone");
	}
	my $visited = q{SELECT candidates > 0 FROM rencoder_candidates('toasted_v', 'nowhere'::text, 'nowhere'::text)};
	$node->safe_psql('postgres', "COMMIT PREPARED 'old'");
	is($node->safe_psql('postgres', $visited), 'f', 'the range is trusted ..');
	is($reader->query_safe($visited), 't', '.. but not by an old snapshot');
	$reader->quit;
	$node->safe_psql('postgres', q{SELECT rencoder_index_check('toasted_v', true)});
}
compare_many_with_seqscan($node, 'postgres',
	[ map { "SELECT id FROM toasted WHERE v LIKE 'key $_%'" } 10 .. 60 ],
	'rows beside the dead one');

#
# Damaged pages.
#
my %PAGE_ID = (coders => 0xFFB7, coder => 0xFFB8, windows => 0xFFB4);

sub pages_of_type
{
	my ($data, $type) = @_;

	return grep {
		unpack('v', substr($$data, ($_ + 1) * $BLCKSZ - 2, 2)) == $PAGE_ID{$type}
	} 0 .. length($$data) / $BLCKSZ - 1;
}

# Overwrites bytes of the payload of the first page of a type.
sub poke
{
	my ($type, $offset, $bytes) = @_;

	return sub {
		my ($data) = @_;
		my ($block) = pages_of_type($data, $type);

		substr($$data, $block * $BLCKSZ + $PAYLOAD + $offset, length $bytes) = $bytes;
	};
}

sub copy_page
{
	my ($from, $to) = @_;

	return sub {
		my ($data) = @_;
		my ($source) = pages_of_type($data, $from);
		my ($target) = pages_of_type($data, $to);

		substr($$data, $target * $BLCKSZ, $BLCKSZ) = substr($$data, $source * $BLCKSZ, $BLCKSZ);
	};
}

sub zero_page
{
	my ($type) = @_;

	return sub {
		my ($data) = @_;
		my $block = rnd_pick(pages_of_type($data, $type));

		substr($$data, $block * $BLCKSZ, $BLCKSZ) = "\0" x $BLCKSZ;
	};
}

# List page: n, unused, then entries of generation, attno, kind, extent, size, CRC.
my %damage = (
	zero_list      => zero_page('coders'),
	zero_coder     => zero_page('coder'),
	windows_list   => copy_page('windows', 'coders'),
	windows_coder  => copy_page('windows', 'coder'),
	no_root        => sub { substr(${ $_[0] }, $PAYLOAD + 36, 4) = pack('V', 0); },
	wrong_root     => sub { substr(${ $_[0] }, $PAYLOAD + 36, 4) = pack('V', (pages_of_type($_[0], 'coder'))[0]); },
	far_root       => sub { substr(${ $_[0] }, $PAYLOAD + 36, 4) = pack('V', 1 << 30); },
	list_empty     => poke('coders', 0, pack('V', 0)),
	list_too_long  => poke('coders', 0, pack('V', 100000)),
	generation     => poke('coders', 8, pack('V', 7)),
	attno          => poke('coders', 12, pack('v', 3)),
	kind           => poke('coders', 14, pack('v', 2)),
	unknown_kind   => poke('coders', 14, pack('v', 9)),
	extent_start   => poke('coders', 16, pack('V', 0)),
	extent_far     => poke('coders', 16, pack('V', 1 << 30)),
	extent_npages  => poke('coders', 20, pack('V', 1 << 20)),
	size_small     => poke('coders', 24, pack('V', 10)),
	size_zero      => poke('coders', 20, pack('VV', 0, 0)),
	size_huge      => poke('coders', 24, pack('V', 0xFFFFFFFF)),
	crc            => poke('coders', 28, pack('V', 1)),
	many_splitters => poke('coder', 0, pack('V', 0x7FFFFFFF)),
	few_splitters  => poke('coder', 0, pack('V', 1)),
	radix          => poke('coder', 4, pack('v', 0)),
	prefix         => poke('coder', 6, pack('v', 200)),
	digit          => poke('coder', 8 + 97, "\1"),
	gap            => poke('coder', 264 + 12, "\377"),
	bad_offset     => poke('coder', 296 + 4, pack('V', 0xFFFFFF)),
	splitter       => poke('coder', 8100, "zz"));
my @names = sort keys %damage;

$node->safe_psql('postgres', 'CREATE TABLE d (id int, v text) WITH (fillfactor = 60); INSERT INTO d SELECT i, word(i) FROM generate_series(1, 6000) i');
$node->safe_psql('postgres', "CREATE INDEX $_ ON d USING rencoder (v) WITH (pages_per_range = 1)") foreach @names;
my %path = map {
	$_ => $node->data_dir . '/' . $node->safe_psql('postgres', "SELECT pg_relation_filepath('$_')")
} @names;
my %truth = map { $_ => $node->safe_psql('postgres', "SELECT count(*) FROM d WHERE v = word($_)") } 101 .. 104;

$standby->stop;
$node->stop;
foreach my $name (@names)
{
	my $data = slurp_file($path{$name});

	$damage{$name}->(\$data);
	open my $file, '>:raw', $path{$name} or die "$path{$name}: $!";
	print $file $data;
	close $file;
}
$node->start;

my $row = 0;
foreach my $name (@names)
{
	my $others = join ', ', grep { $_ ne $name } @names;
	my ($cret, $cout, $cerr) = $node->psql('postgres', "SELECT rencoder_index_check('$name')",
		extra_params => [ '-v', 'VERBOSITY=verbose' ]);

	like($cerr, qr/ERROR:  XX002: .*\n.*\n?HINT:  REINDEX INDEX/, "$name: found by the check");
	my $wrong = 0;
	foreach my $i (sort keys %truth)
	{
		my ($qret, $qout, $qerr) = $node->psql('postgres', qq{
			BEGIN; DROP INDEX $others; SET LOCAL enable_seqscan = off;
			SELECT count(*) FROM d WHERE v = word($i); ROLLBACK}, on_error_stop => 1);

		if ($qret != 0 ? $qerr !~ /(is corrupted at block|lacks coder).*\n.*HINT:  REINDEX|could not (read|open)/s : $qout != $truth{$i})
		{
			$wrong++;
			diag("$name: $qout, not $truth{$i}: $qerr");
		}
	}
	is($wrong, 0, "$name: no wrong answers");
	# On the pages where the rows are.
	$row += 150;
	my ($iret, $iout, $ierr) = $node->psql('postgres', qq{
		BEGIN; DROP INDEX $others; UPDATE d SET v = 'x' || v WHERE id BETWEEN $row AND $row + 5; ROLLBACK}, on_error_stop => 1);
	like($ierr, qr/is corrupted at block|lacks coder|could not (read|open)/, "$name: an insert reports it");
	my ($pret, $pout, $perr) = $node->psql('postgres', qq{
		BEGIN; DROP INDEX $others; SET rencoder.enable_scan = off;
		SELECT count(*) FROM d WHERE v = word(101); ROLLBACK}, on_error_stop => 1);
	is($pout, $truth{101}, "$name: rencoder.enable_scan = off avoids it");
}
$node->safe_psql('postgres', 'REINDEX TABLE d; INSERT INTO d VALUES (0, NULL)');
$node->safe_psql('postgres', "SELECT rencoder_index_check('$_', true)") foreach @names;
pass('REINDEX heals');

$node->stop;
done_testing();
