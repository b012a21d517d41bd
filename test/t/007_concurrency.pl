# Maintenance while rows are updated, and while queries run.
use strict;
use warnings;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderTest;
use Test::More;

# Few buffers, so that scans take long.
my $node = new_node('main', conf => "shared_buffers = 1MB\n"
	  . "max_wal_size = 2GB\nsynchronous_commit = off\n");
$node->safe_psql(
	'postgres', q{
	CREATE TABLE go (x int);
	CREATE TABLE t (id int, v int8, few int4) WITH (fillfactor = 70);
	CREATE INDEX t_v ON t USING rencoder (v)
		WITH (autosummarize = off, pages_per_range = 8, bits_per_key = 36);
	CREATE INDEX t_few ON t USING rencoder (few)
		WITH (autosummarize = off, pages_per_range = 8);
	CREATE FUNCTION fill(n int) RETURNS void LANGUAGE sql AS $$
		INSERT INTO t SELECT i, hashint8extended(i, 1), i % 1000 FROM generate_series(1, n) i
	$$;
});

sub start_client
{
	my ($sql) = @_;
	my ($in, $out, $err) = ('', '', '');

	return {
		err    => \$err,
		handle => IPC::Run::start(
			[ 'psql', '-XqAt', '-v', 'ON_ERROR_STOP=1', '-d',
				$node->connstr('postgres'), '-c', $sql ],
			'<', \$in, '>', \$out, '2>', \$err)
	};
}

# A statement again and again, each in a transaction, until the table "go" is
# empty.
sub repeat
{
	my ($statement) = @_;

	return qq{DO \$\$ BEGIN
		WHILE (SELECT count(*) FROM go) > 0 LOOP $statement; COMMIT; END LOOP; END \$\$};
}

# Runs SQL while the clients repeat their statements.
sub run_meanwhile
{
	my ($name, $sql, @statements) = @_;
	my @clients;

	$node->safe_psql('postgres', 'INSERT INTO go VALUES (1)');
	push @clients, start_client(repeat($_)) foreach @statements;
	my ($ret, $out, $err) = $node->psql('postgres', $sql, on_error_stop => 1);
	is($err, '', "$name: maintenance");
	$node->safe_psql('postgres', 'DELETE FROM go');
	foreach my $client (@clients)
	{
		$client->{handle}->finish;
		is(${ $client->{err} }, '', "$name: client");
	}
	return;
}

# Updates while groups are made at once: those that meet a range that is being
# summarized put an entry on the pending list (INV-3).  And while groups grow slice by
# slice, as one does of which some ranges are summarized already.
# VACUUM's delays make time for them.  Few pages are updated, or VACUUM would
# spend its time with the table.
$node->safe_psql(
	'postgres', q{
	CREATE FUNCTION update_some() RETURNS void LANGUAGE sql AS $$
		UPDATE t SET v = hashint8extended(id, (random() * 1000000)::int8),
			few = 1000 + random() * 3000
		WHERE ctid = ANY (ARRAY(
			SELECT format('(%s,%s)', (random() * 230)::int * 8, 1 + (random() * 150)::int)::tid
			FROM generate_series(1, 10)));
		SELECT pg_sleep(0.0005)
	$$;
});
foreach my $round ('groups at once', 'slices')
{
	$node->safe_psql('postgres', 'TRUNCATE t; SELECT fill(60000)');
	$node->safe_psql('postgres',
		"SELECT rencoder_maintain_index('t_v'), rencoder_maintain_index('t_few')")
	  if $round eq 'slices';
	$node->safe_psql('postgres', 'SELECT fill(240000); VACUUM (INDEX_CLEANUP off) t');
	run_meanwhile(
		"updates, $round", q{
		SET vacuum_cost_delay = 0.3; SET vacuum_cost_limit = 1;
		SET vacuum_cost_page_hit = 0; SET vacuum_cost_page_miss = 0;
		VACUUM t;
		SELECT rencoder_index_check('t_v', true), rencoder_index_check('t_few', true)},
		'PERFORM update_some()');
	$node->safe_psql('postgres',
		q{SELECT rencoder_index_check('t_v', true), rencoder_index_check('t_few', true)});
	note($node->safe_psql('postgres',
		q{SELECT count(*) || ' rows updated' FROM t WHERE v <> hashint8extended(id, 1)}));
}

# Scans while parts of the table are read again: one that began
# before must notice that pages of runs have gone (INV-7).  Every page has a row that it looks for.
$node->safe_psql(
	'postgres', q{
	CREATE TABLE s (few int4, filler text);
	ALTER TABLE s ALTER filler SET STORAGE plain;
	INSERT INTO s SELECT 1 + i % 2, repeat('x', 3500) FROM generate_series(1, 15360) i;
	CREATE INDEX s_few ON s USING rencoder (few)
		WITH (autosummarize = off, pages_per_range = 1);
	CREATE FUNCTION look() RETURNS void LANGUAGE plpgsql
	SET enable_seqscan = off SET max_parallel_workers_per_gather = 0 AS $$
	DECLARE
		found int;
	BEGIN
		SELECT count(*) INTO found FROM s WHERE few = 2;
		IF found <> 7680 THEN
			RAISE EXCEPTION '% of 7680 rows found', found;
		END IF;
	END $$;
	CREATE PROCEDURE summarize_again() LANGUAGE plpgsql AS $$
	DECLARE
		b int;
	BEGIN
		FOR i IN 1 .. 10000 LOOP
			b := (random() * 7679)::int;
			PERFORM rencoder_compact('s_few', b, b + 10);
			COMMIT;
		END LOOP;
	END $$;
});
ok( uses_index($node, 'postgres', 'SELECT count(*) FROM s WHERE few = 2', 's_few'),
	'the scans use the index');
run_meanwhile('scans', 'CALL summarize_again()', 'PERFORM look()', 'PERFORM look()');
$node->safe_psql('postgres', q{SELECT rencoder_index_check('s_few', true)});

$node->stop;
done_testing();
