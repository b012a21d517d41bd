# Recovery to the middle of what takes several WAL records: an insert,
# a run of the table's end, of a part of it, of all of it.
# Wherever it ends, the index is sound, and the server that goes on from there
# can use, fill and maintain it (INV-2, INV-4, INV-7).
#
# Records are chosen at random; with RENCODER_ALL_RECORDS=1 all records of the
# steps whose names begin with "one" have their turn, and only they, with less
# to do afterwards.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderTest;
use Test::More;

my $primary = new_node('primary', streaming => 1,
	conf => "wal_keep_size = '1GB'\n");
$primary->enable_archiving;
$primary->restart;

# Two groups, the second about to become full: a column of many values and one of few.
$primary->safe_psql(
	'postgres', q{
	CREATE EXTENSION pg_walinspect;
	CREATE TABLE t (id int, v int8, few int4);
	CREATE FUNCTION fill(n int, seed int) RETURNS void LANGUAGE sql AS $$
		INSERT INTO t SELECT i, hashint8extended(i, seed), i % 50
		FROM generate_series(1, n) i
	$$;
	CREATE INDEX t_v ON t USING rencoder (v)
		WITH (autosummarize = off, pages_per_range = 1);
	CREATE INDEX t_few ON t USING rencoder (few)
		WITH (autosummarize = off, pages_per_range = 1);
	SELECT fill(47000, 1);
	SELECT rencoder_maintain_index('t_v'), rencoder_maintain_index('t_few');
});
$primary->backup('base');

sub lsn
{
	$primary->safe_psql('postgres', "SELECT pg_logical_emit_message(true, 'rencoder', '')");
	return $primary->lsn('flush');
}

# Name, number of targets, statement.  Between the LSNs before and after it are
# its records.
my @steps = (
	[ 'insert', 1, 'INSERT INTO t SELECT 0, 9223372036854775807, 1000 '
	  . 'FROM generate_series(1, 300)' ],
	[ 'delete', 1, "DELETE FROM t WHERE ctid < '(20,1)'; VACUUM t; SELECT fill(500, 2)" ],
	[ 'part', 1, q{SELECT rencoder_compact(i, 20, 90)
		FROM unnest('{t_v,t_few}'::regclass[]) i} ],
	[ 'maintain', 1, q{SELECT rencoder_maintain_index(i)
		FROM unnest('{t_v,t_few}'::regclass[]) i} ],
	[ 'new rows', 2, q{SELECT fill(24000, 3); SELECT rencoder_maintain_index(i)
		FROM unnest('{t_v,t_few}'::regclass[]) i} ],
	[ 'room', 0, "DELETE FROM t WHERE ctid < '(128,1)' "
	  . "AND id % 2 = 0; VACUUM (INDEX_CLEANUP off) t" ],
	[ 'one insert', 1, 'INSERT INTO t VALUES (0, -9223372036854775808, -1)' ],
	[ 'one part', 1, q{SELECT rencoder_compact('t_v', 40, 60)} ],
	[ 'samples', 0, "SELECT count(rencoder_add_query_sample('t_v', v + 5, v + 12)) FROM t "
	  . "WHERE id % 40 = 1 AND id > 0" ],
	[ 'one compaction', 2, "SELECT rencoder_compact('t_v', 0, pg_relation_size('t') / 8192)" ],
	[ 'cut', 0, "DELETE FROM t WHERE ctid >= '(150,1)'; VACUUM t" ],
	[ 'one lowering', 3, 'VACUUM t' ]);
my $all = $ENV{RENCODER_ALL_RECORDS};
my @targets;
my $before = lsn();
foreach my $step (@steps)
{
	my ($name, $ntargets, $sql) = @$step;

	$primary->safe_psql('postgres', $sql);
	my $after = lsn();
	my @records = split /\n/,
	  $primary->safe_psql('postgres',
		"SELECT end_lsn, fpi_length > 0 FROM pg_get_wal_records_info('$before', '$after') "
		  . "WHERE resource_manager = 'Generic' ORDER BY 1");

	cmp_ok(scalar @records, '>', 1, "$name: " . @records . ' records')
	  if $ntargets > 0;
	if ($all)
	{
		push @targets, map { [ $name, $_ ] } @records if $name =~ /^one /;
	}
	else
	{
		push @targets, map { [ $name, rnd_pick(@records) ] } 1 .. $ntargets;
	}

	# The pages of a matrix are logged whole, one after the other, before the header
	# refers to them: before the first, between, after the last.
	if ($name eq 'new group' && !$all)
	{
		my ($first) = grep {
			$records[ $_ - 1 ] =~ /f$/ && $records[$_] =~ /t$/ && $records[ $_ + 1 ] =~ /t$/
		} 1 .. $#records - 1;
		my ($end) = grep { $records[$_] =~ /f$/ } $first .. $#records;

		push @targets, map { [ $name, $records[$_] ] } $first - 1, $first, $end - 1, $end;
	}
	$before = $after;
}
$primary->safe_psql('postgres', 'SELECT pg_switch_wal()');
$primary->stop;

my $queries = [
	map {
		my $id = rnd_between(1, 24000);

		(   "SELECT id FROM t WHERE v = hashint8extended($id, 1)",
			"SELECT id FROM t WHERE v = hashint8extended($id, 3)",
			"SELECT id FROM t WHERE few = $id % 50 AND v > 0",
			"SELECT id FROM t WHERE v = hashint8extended($id, 1) / 3",
			'SELECT id FROM t WHERE v IN (9223372036854775807, -9223372036854775808) '
			  . 'OR few IN (1000, -1)')
	} 1 .. ($all ? 2 : 5)
];
my $number = 0;
foreach my $target (@targets)
{
	my ($name, $record) = @$target;
	my ($lsn) = split /\|/, $record;
	my $node = PostgreSQL::Test::Cluster->new('recovered' . $number++);

	$node->init_from_backup($primary, 'base', has_restoring => 1, standby => 0);
	recover_to($node, $lsn, 'archive_mode = off');

	my $check =
	  q{SELECT rencoder_index_check(i, true) FROM unnest('{t_v,t_few}'::regclass[]) i};
	my ($ret, $out, $err) = $node->psql('postgres', $check);
	is($err, '', "$name, $lsn: sound");
	compare_many_with_seqscan($node, 'postgres', $queries, "$name, $lsn");

	($ret, $out, $err) = $node->psql(
		'postgres',
		q{SELECT fill(1000, 3); SELECT rencoder_maintain_index('t_v'); VACUUM t;
			SELECT rencoder_compact('t_v'); }
		  . ($all ? '' : 'SELECT fill(30000, 4); VACUUM t; ')
		  . $check,
		on_error_stop => 1);
	is($err, '', "$name, $lsn: goes on");
	compare_many_with_seqscan($node, 'postgres', $queries, "$name, $lsn, gone on");
	$node->stop('immediate');
	$node->clean_node;
}

done_testing();
