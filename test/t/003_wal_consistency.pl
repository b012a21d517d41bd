# Replay gives the pages that the primary has, byte for byte:
# wal_consistency_checking compares them after each record.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderTest;
use Test::More;

my ($primary, $standby) = start_primary_with_standby(
	conf => "wal_consistency_checking = 'generic'\nwal_keep_size = '2GB'\n");
my $start_lsn = $primary->lsn('flush');

$primary->safe_psql(
	'postgres', q{
	CREATE TABLE t (id int, v int8, few int4, filler text);
	ALTER TABLE t ALTER filler SET STORAGE plain;
	CREATE FUNCTION fill(n int, seed int) RETURNS void LANGUAGE sql AS $$
		INSERT INTO t SELECT i, hashint8extended(i, seed),
			nullif(abs(hashint4extended(i, seed)) % 30, 7), repeat('x', 60)
		FROM generate_series(1, n) i
	$$;
	CREATE INDEX t_v ON t USING rencoder (v, few)
		WITH (autosummarize = off, pages_per_range = 1);
	CREATE INDEX t_few ON t USING rencoder (few)
		WITH (autosummarize = off, pages_per_range = 2);
});

# Runs, the free list; then the pending list, parts of the table that are read again,
# merging, VACUUM.
my @steps = (
	[ 'a run', q{SELECT fill(3000, 1);
		SELECT rencoder_maintain_index('t_v'), rencoder_maintain_index('t_few')} ],
	[ 'another one', q{SELECT fill(20000, 2);
		SELECT rencoder_maintain_index('t_v'), rencoder_maintain_index('t_few')} ],
	[ 'inserts', q{DELETE FROM t WHERE id % 4 = 0; VACUUM t; SELECT fill(4000, 3)} ],
	[ 'beyond all bounds', q{UPDATE t SET v = CASE WHEN id % 2 = 0 THEN 9223372036854775807
		ELSE -9223372036854775808 END, few = 1000000 + id WHERE id % 9 = 1} ],
	[ 'parts', q{SELECT rencoder_compact('t_v', b, b + 20), rencoder_compact('t_few', b, b + 20)
		FROM generate_series(0, 100, 10) b} ],
	[ 'maintain', q{SELECT rencoder_maintain_index('t_v'),
		rencoder_maintain_index('t_few')} ],
	[ 'many keys', q{INSERT INTO t SELECT i, i, i FROM generate_series(1, 20000) i; VACUUM t} ],
	[ 'rebuild', q{REINDEX TABLE t} ],
	[ 'tail', q{TRUNCATE t; SELECT fill(100, 5); VACUUM t; SELECT fill(5000, 6); VACUUM t} ]);

foreach my $step (@steps)
{
	my ($name, $sql) = @$step;

	$primary->safe_psql('postgres', $sql);
	wait_for_standby($primary, $standby);
	is($standby->safe_psql('postgres', 'SELECT 1'), 1, "$name: replayed");
	foreach my $index ('t_v', 't_few')
	{
		$standby->safe_psql('postgres', "SELECT rencoder_index_check('$index', true)");
	}
	# Either index can answer this.
	my $query = 'SELECT id, v FROM t WHERE few = ' . rnd(30);
	ok( uses_index($standby, 'postgres', $query, 't_few')
		  || uses_index($standby, 'postgres', $query, 't_v'),
		"$name: by an index");
	compare_with_seqscan($standby, 'postgres', $query, name => "$name: compared");
}
unlike(slurp_file($standby->logfile), qr/inconsistent page found/,
	'no page was found different');

# Was there anything to compare?
my $end_lsn = $primary->lsn('flush');
$primary->safe_psql('postgres', 'CREATE EXTENSION pg_walinspect');
cmp_ok(
	$primary->safe_psql('postgres',
		"SELECT count(*) FROM pg_get_wal_records_info('$start_lsn', '$end_lsn') "
		  . "WHERE resource_manager = 'Generic'"),
	'>', 1000, 'generic WAL was written');

$standby->stop;
$primary->stop;
done_testing();
