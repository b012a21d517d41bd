# Recovery to the middle of a flush, of a merge of deltas, of a compaction and of noting: wherever
# it ends, the index is sound, queries find all rows, and maintenance goes on from there (INV-4,
# INV-7, INV-13).
#
# Some records of each are chosen, from all parts of it; of one compaction those that change the
# catalog, at which what it says is to be there.  With RENCODER_ALL_RECORDS=1 all have their turn.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderRuns;
use RencoderTest;
use Test::More;

my $primary = new_node('primary', streaming => 1, conf => "wal_keep_size = '1GB'\n");
$primary->enable_archiving;
$primary->restart;
$primary->safe_psql('postgres', 'CREATE EXTENSION pg_walinspect');

# A base run, two groups behind it that nobody has summarized, deltas that are not merged yet.
load_runs_table($primary, 700);
create_runs_index($primary);
foreach my $k (1 .. 3)
{
	$primary->safe_psql('postgres', $_) foreach "SELECT change($k), change($k + 20)", 'VACUUM t';
}
$primary->safe_psql('postgres', 'SELECT fill(701, 2200)');
$primary->backup('base');

sub lsn
{
	$primary->safe_psql('postgres', "SELECT pg_logical_emit_message(true, 'rencoder', '')");
	return $primary->lsn('flush');
}

# Numbers of the deltas that are in use.
sub deltas
{
	return split /\n/, $primary->safe_psql('postgres', q{SELECT DISTINCT run
		FROM rencoder_runs('t_idx') WHERE kind = 'delta' AND state = 'live'});
}

# Name, how many records have their turn (-1: those of the metapage), commands.
my @steps = (
	[ 'flush', 5, 'VACUUM t' ],
	[ 'another delta', 0, 'SELECT change(4)', 'VACUUM t', 'SELECT change(6), change(26)' ],
	[ 'merge of deltas', 4, 'VACUUM t' ],
	[ 'more rows', 0, 'SELECT change(5), put(300)' ],
	[ 'compaction', 3, q{SELECT rencoder_compact('t_idx')} ],
	[ 'new rows', 0, 'SELECT put(400)' ],
	[ 'tail', 5, q{SELECT rencoder_maintain_index('t_idx')}, 'SELECT change(8), put(20)' ],
	[ 'all of it', -1, q{SELECT rencoder_compact('t_idx')} ]);
my @targets;
my $before = lsn();
foreach my $step (@steps)
{
	my ($name, $ntargets, @commands) = @$step;
	my %runs = runs_state($primary);
	my @deltas = deltas();

	$primary->safe_psql('postgres', $_) foreach @commands;
	my $after = lsn();
	my $records = "SELECT start_lsn FROM pg_get_wal_records_info('$before', '$after') "
	  . "WHERE resource_manager = 'Generic'";
	my @records = split /\n/, $primary->safe_psql('postgres', "$records ORDER BY 1");
	my %now = runs_state($primary);

	$before = $after;
	next if $ntargets == 0;
	cmp_ok(scalar @records, '>', 5, "$name: " . @records . ' records');
	if ($ENV{RENCODER_ALL_RECORDS})
	{
		push @targets, map { [ $name, $_ ] } @records;
	}
	elsif ($ntargets < 0)
	{
		my @catalog = split /\n/,
		  $primary->safe_psql('postgres', "$records AND block_ref ~ 'blk 0(\\D|\$)' ORDER BY 1");

		cmp_ok(scalar @catalog, '>=', 3, "$name: a run is begun, published, and another freed");
		push @targets, map { [ $name, $_ ] } @catalog;
	}
	else
	{
		push @targets, map {
			[ $name, $records[ int(@records * ($_ + rnd(1000) / 1000) / $ntargets) ] ]
		} 0 .. $ntargets - 1;
	}
	cmp_ok($now{'live base'}, '>', $runs{'live base'}, 'a base run more') if $name eq 'flush';
	if ($name =~ /deltas/)
	{
		my %left = map { $_ => 1 } deltas();

		cmp_ok(scalar @deltas, '>', 0, 'there were deltas');
		is(join(' ', grep { $left{$_} } @deltas), '', 'others are in their place');
	}
	is($now{'live base'}, 1, 'one base run') if $name eq 'compaction';
}
$primary->safe_psql('postgres', 'SELECT pg_switch_wal()');
$primary->stop;

my $number = 0;
my %found;
foreach my $target (@targets)
{
	my ($step, $lsn) = @$target;
	my $node = PostgreSQL::Test::Cluster->new('recovered' . $number++);
	my $name = "$step, $lsn";

	$node->init_from_backup($primary, 'base', has_restoring => 1, standby => 0);
	recover_to($node, $lsn, 'archive_mode = off');
	my %state = runs_state($node);
	$found{$_}++ foreach keys %state;
	verify_runs($node, $name, 3);

	$node->safe_psql('postgres', $_)
	  foreach 'SELECT change(9), put(200)', q{SELECT rencoder_maintain_index('t_idx')};
	verify_runs($node, "$name, goes on", 2);
	$node->safe_psql('postgres', $_) foreach 'VACUUM t', 'SELECT change(10)', 'VACUUM t';
	is(join(' ', grep { !/^live/ } keys %{ { runs_state($node) } }), '',
		"$name: nothing is left of other runs");
	verify_runs($node, "$name, maintained", 2);
	$node->stop('immediate');
	$node->clean_node;
}
note('met: ' . join(', ', map { "$found{$_} $_" } sort keys %found));
cmp_ok(scalar(grep { !/^live/ } keys %found), '>', 0, 'some were in the middle of a run');
done_testing();
