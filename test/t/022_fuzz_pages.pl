# Random damage to pages of an index.  What is promised:
#
# - Whatever bytes a page holds, no query, insert or maintenance crashes the server or
#   runs for ever.  It works, or raises an error.
# - No query returns a row that does not match (the table's rows are rechecked), nor an
#   error that leaves the session useless.
# - Damage that a scan recognizes loses no row: a page that is empty, of another type,
#   another block's, of wrong layout, a wrong magic number, impossible counts and
#   extents.  The answer is right, or an error.
# - Damage that it cannot recognize may lose rows: bits of filters, keys, masks, bounds
#   and states.  PostgreSQL's checksums recognize that.
#
# So rows may be missing here only where bytes behind the page header were changed.
#
# RENCODER_FUZZ_ROUNDS: rounds of damage (6).
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderTest;
use Test::More;

my $ROUNDS  = $ENV{RENCODER_FUZZ_ROUNDS} || 6;
my $BLCKSZ  = 8192;
my $HEADER  = 24;
my $SPECIAL = 8;
my $seed    = rnd(1_000_000);

# Errors that say what is damaged, and those that follow from others.
my $DAMAGE     = qr/is corrupted at block|has format version/;
my $RECOGNIZED = qr/index "\w+" (?:$DAMAGE)/;
my $ELSEWHERE  = qr/could not (read|open)|invalid page in block/;
my $FOLLOWS    = qr/current transaction is aborted|canceling statement/;

# Checksums off: they would find all of it.  A hanging query is an error.
my $node = new_node('main', conf => "ignore_checksum_failure = on\nstatement_timeout = '180s'\n"
	  . "zero_damaged_pages = off\nfull_page_writes = off\nrestart_after_crash = off\n");

# All kinds of pages: matrices of some ranges and of all, a coder of strings and one of points,
# free pages, samples; a run, a delta run and a pending list.
my %column = (
	i_v    => 'v',
	i_few  => 'few',
	i_many => 'many',
	i_s    => 's',
	i_p    => 'p',
	i_run  => 'v',
	i_two  => 'few, v');
my @names = sort keys %column;

$node->safe_psql('postgres', qq{
	CREATE TABLE t (id int, v int8, few int4, many int4, s text, p point, filler text);
	ALTER TABLE t ALTER filler SET STORAGE plain;
	CREATE FUNCTION fill(first int, last int) RETURNS void LANGUAGE sql AS \$\$
		INSERT INTO t SELECT i, hashint8extended(i, $seed), nullif(i % 29, 7), i % 1900,
			'https://www.example.com/' || md5(i::text), point(i % 100, i / 100), repeat('x', 300)
		FROM generate_series(first, last) i
	\$\$;
	SELECT fill(1, 2000)});
$node->safe_psql('postgres', "CREATE INDEX $_ ON t USING rencoder ($column{$_}) "
  . "WITH (autosummarize = off, pages_per_range = 1)")
  foreach @names;
# Rows that come to where others were: of a delta, and of the pending list.
foreach my $rest (9, 29)
{
	$node->safe_psql('postgres', "DELETE FROM t WHERE id % 100 = $rest");
	$node->safe_psql('postgres', 'VACUUM t');
	$node->safe_psql('postgres', "SELECT fill(i, i) FROM generate_series($rest, 2000, 100) i");
}
$node->safe_psql('postgres', q{SELECT fill(2001, 4200)});
$node->safe_psql('postgres', "SELECT rencoder_add_query_sample('i_v', 1, 5); "
  . "SELECT rencoder_maintain_index('$_')")
  foreach @names;
is($node->safe_psql('postgres',
		"SELECT runs, pending_pages > 0, spare_pages > 0 FROM rencoder_metapage('i_run')"),
	'3|t|t', 'two base runs, a delta, the pending list and spare pages');
$node->safe_psql('postgres', "SELECT rencoder_index_check('$_', true)") foreach @names;
my %path = map { $_ => $node->data_dir . '/'
  . $node->safe_psql('postgres', "SELECT pg_relation_filepath('$_')") } @names;
$node->stop;
my %sound = map { $_ => slurp_file($path{$_}) } @names;
note(join ', ', map { "$_: " . length($sound{$_}) / $BLCKSZ . ' pages' } @names);

# Changes a page; returns whether a scan must recognize it.
my %damage = (
	empty   => sub { $_[0] = "\0" x $BLCKSZ; return 1; },
	noise   => sub { $_[0] = join '', map { chr rnd(256) } 1 .. $BLCKSZ; return 1; },
	# The type and the block's number; the layout.
	type    => sub { substr($_[0], $BLCKSZ - 2, 2) = pack('v', 0xFFB0 + rnd(10)); return 1; },
	place   => sub { substr($_[0], $BLCKSZ - $SPECIAL, 4) = pack('V', rnd(100)); return 1; },
	layout  => sub {
		substr($_[0], 12, 6) = pack('vvv', rnd(9000), rnd(9000), rnd(9000));
		return 1;
	},
	# One byte, some, or a stretch of what the page holds; mostly near its beginning,
	# where counts, extents and shapes are.
	byte    => sub { substr($_[0], $HEADER + place(), 1) = chr rnd(256); return 0; },
	bytes   => sub {
		substr($_[0], $HEADER + place(), 1) = chr rnd(256) foreach 1 .. 30;
		return 0;
	},
	ones    => sub { my $at = place(); substr($_[0], $HEADER + $at, 16) = "\xFF" x 16; return 0; },
	zeros   => sub { my $at = place(); substr($_[0], $HEADER + $at, 64) = "\0" x 64; return 0; },
	content => sub { substr($_[0], $HEADER, $BLCKSZ - $HEADER - $SPECIAL) =
		  join '', map { chr rnd(256) } 1 .. $BLCKSZ - $HEADER - $SPECIAL; return 0; });

sub place { return rnd_pick(rnd(64), rnd(400), rnd($BLCKSZ - $HEADER - $SPECIAL - 64)); }

# What is asked of each index, and the truth.
sub queries
{
	my ($name) = @_;
	my $id = rnd_between(1, 4200);
	my ($few, $many, $x, $y) = ($id % 29, $id % 1900, $id % 100, int($id / 100));

	return (
		"v = hashint8extended($id, $seed)",
		'v BETWEEN ' . interval("hashint8extended($id, $seed)", '10000000000000000'))
		  if $name eq 'i_v' || $name eq 'i_run';
	return ("few = $few", "few < 3", 'few IS NULL', "few IN (1, $few, 40)") if $name eq 'i_few';
	return ("many = $many", "many BETWEEN $many AND $many + 2")             if $name eq 'i_many';
	return ("s = 'https://www.example.com/' || md5('$id')",
		"s LIKE 'https://www.example.com/' || left(md5('$id'), 3) || '%'")
	  if $name eq 'i_s';
	return ("p <\@ box(point($x, $y), point($x + 1, $y + 1))") if $name eq 'i_p';
	return ("few = $few", "v = hashint8extended($id, $seed)",
		"few = $few AND v = hashint8extended($id, $seed)");
}

my %count;
my @wrong;

# Runs a script, all of it, whatever fails.
sub run_all
{
	my ($sql) = @_;
	my ($ret, $out, $err) = $node->psql('postgres', $sql, on_error_stop => 0);

	push @wrong, "the server is gone: $sql"
	  if $ret == 2 || $err =~ /server closed the connection|server process/;
	return ($out, $err);
}

# "is missing" and "is surplus" of an index' rows against the table's, for each query.
sub compare
{
	my ($name, $recognized) = @_;
	my $others = join ', ', grep { $_ ne $name } @names;
	my @queries = map { queries($name) } 1 .. 8;
	my $script  = "BEGIN; DROP INDEX $others; SET LOCAL max_parallel_workers_per_gather = 0;\n";

	foreach my $i (0 .. $#queries)
	{
		$script .= qq{SAVEPOINT q;
			SET LOCAL enable_seqscan = on; SET LOCAL enable_indexscan = off;
				SET LOCAL enable_bitmapscan = off;
			SET LOCAL rencoder.enable_scan = off;
			CREATE TEMP TABLE truth AS SELECT id FROM t WHERE $queries[$i];
			SET LOCAL enable_seqscan = off; SET LOCAL enable_indexscan = off;
				SET LOCAL enable_bitmapscan = on;
			SET LOCAL rencoder.enable_scan = on;
			CREATE TEMP TABLE found AS SELECT id FROM t WHERE $queries[$i];
			SELECT 'answer $i', (SELECT count(*) FROM truth),
				(SELECT count(*) FROM (SELECT id FROM truth EXCEPT ALL SELECT id FROM found) m),
				(SELECT count(*) FROM (SELECT id FROM found EXCEPT ALL SELECT id FROM truth) m);
			ROLLBACK TO q;
		};
	}
	my ($out, $err) = run_all("$script ROLLBACK;");
	my @answers = $out =~ /^answer (\d+\|\d+\|\d+\|\d+)$/mg;
	foreach my $answer (@answers)
	{
		my ($i, $rows, $missing, $surplus) = split /\|/, $answer;

		$count{answers}++;
		$count{missing}++ if $missing;
		push @wrong, "surplus rows: $queries[$i]" if $surplus;
		push @wrong, "$missing rows of $rows are missing: $queries[$i]" if $missing && $recognized;
	}
	$count{errors} += @queries - @answers;
	foreach my $line (grep { /ERROR:/ } split /\n/, $err)
	{
		push @wrong, $line if $line !~ /$RECOGNIZED|$ELSEWHERE|$FOLLOWS/;
	}
	return;
}

for my $round (1 .. $ROUNDS)
{
	my %recognized;
	my @done;

	foreach my $name (@names)
	{
		my $data = $sound{$name};
		my $all  = 1;

		foreach (1 .. rnd_between(1, 3))
		{
			my $kind  = rnd_pick(sort keys %damage);
			# The pages that lead to the others are at the beginning.
			my $block = rnd(rnd(2) ? length($data) / $BLCKSZ : 6);
			my $page  = substr($data, $block * $BLCKSZ, $BLCKSZ);

			$all &= $damage{$kind}->($page);
			substr($data, $block * $BLCKSZ, $BLCKSZ) = $page;
			push @done, "$name $kind $block";
		}
		$recognized{$name} = $all;
		open my $file, '>:raw', $path{$name} or die "$path{$name}: $!";
		print $file $data;
		close $file;
	}
	my $before = @wrong;
	my $log    = -s $node->logfile || 0;

	$node->start;
	compare($_, $recognized{$_}) foreach @names;
	foreach my $name (@names)
	{
		my $script = qq{SELECT rencoder_index_check('$name', true);
			SELECT count(*) FROM rencoder_query_samples('$name');
			SELECT rencoder_metapage('$name');
			SELECT count(*) FROM rencoder_runs('$name');\n};

		$script .= qq{SELECT rencoder_maintain_index('$name');
			SELECT rencoder_compact('$name', 3, 9);
			SELECT rencoder_compact('$name');\n}
			  if $round % 2;
		run_all($script);
	}
	# An insert and VACUUM see all of them; the table stays what it is.
	if ($round % 3 == 0)
	{
		run_all('BEGIN; INSERT INTO t SELECT * FROM t WHERE id % 1000 = 3; ROLLBACK');
		run_all('VACUUM t');
	}
	my $messages = slurp_file($node->logfile, $log);
	push @wrong, "endless: $&" if $messages =~ /ERROR:  canceling statement.*/;
	push @wrong, "crash: $&" if $messages =~ /TRAP:.*|PANIC:.*|was terminated by signal.*/;
	note("round $round: " . join ', ', @done) if @wrong > $before;
	last if grep { /^crash|server is gone/ } @wrong;
	$node->stop;
}

is(scalar @wrong, 0,
	sprintf '%d rounds of damage: %d answers, '
	  . '%d of them less than the truth, %d errors',
	$ROUNDS, $count{answers} || 0, $count{missing} || 0, $count{errors} || 0);
diag($_) foreach splice @wrong, 0, 20;
cmp_ok($count{answers} || 0, '>', 10 * $ROUNDS, 'many queries were answered');
cmp_ok($count{errors}  || 0, '>', $ROUNDS,      'many damages were found');

# REINDEX heals all of it.
BAIL_OUT('the server has crashed: ' . join '; ', @wrong) if grep { /^crash|server is gone/ } @wrong;
foreach my $name (@names)
{
	open my $file, '>:raw', $path{$name} or die "$path{$name}: $!";
	print $file $sound{$name};
	close $file;
}
$node->start;
$node->safe_psql('postgres', 'REINDEX TABLE t');
$node->safe_psql('postgres', "SELECT rencoder_index_check('$_', true)") foreach @names;
pass('REINDEX');
$node->stop;
done_testing();
