# Logical replication into tables that have indexes: the apply worker inserts,
# updates and deletes, the initial copy is a COPY.  The truth is the subscriber's
# own sequential scan.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderTest;
use Test::More;

my $publisher = PostgreSQL::Test::Cluster->new('publisher');
$publisher->init(allows_streaming => 'logical', extra => [ '--locale=C', '--encoding=UTF8' ]);
$publisher->append_conf('postgresql.conf', "autovacuum = off\n");
$publisher->start;
my $subscriber = new_node('subscriber');
my $seed = rnd(1_000_000);

my $table = q{CREATE TABLE t (id int PRIMARY KEY, v int8, s text, filler text)
	WITH (fillfactor = 70);
	ALTER TABLE t ALTER filler SET STORAGE plain};
# Rows of the publisher are not indexed at all, and come in another order.
$publisher->safe_psql('postgres', qq{$table;
	CREATE FUNCTION fill(first int, last int) RETURNS void LANGUAGE sql AS \$\$
		INSERT INTO t SELECT i, hashint8extended(i, $seed), 'name ' || md5(i::text),
			repeat('x', 300)
		FROM generate_series(first, last) i
	\$\$;
	SELECT fill(1, 3000);
	CREATE PUBLICATION p FOR TABLE t});
# One index without a worker, so that what is indexed is what the test says.
$subscriber->safe_psql('postgres', qq{$table;
	CREATE INDEX t_v ON t USING rencoder (v) WITH (pages_per_range = 1);
	CREATE INDEX t_s ON t USING rencoder (s)
		WITH (autosummarize = off, pages_per_range = 1)});
my $connstr = $publisher->connstr . ' dbname=postgres';
$subscriber->safe_psql('postgres', "CREATE SUBSCRIPTION s CONNECTION '$connstr' PUBLICATION p");

sub compare
{
	my ($name) = @_;
	my @queries;

	$publisher->wait_for_catchup('s');
	foreach (1 .. 20)
	{
		my $id = rnd_between(1, 6500);

		push @queries, "SELECT id, v FROM t WHERE v = hashint8extended($id, $seed)",
		  'SELECT id, v FROM t WHERE v BETWEEN '
		  . interval("hashint8extended($id, $seed)", '10000000000000000'),
		  "SELECT id, s FROM t WHERE s = 'name ' || md5('$id')";
	}
	$subscriber->safe_psql('postgres',
		"SELECT rencoder_index_check('t_v', true), rencoder_index_check('t_s', true)");
	compare_many_with_seqscan($subscriber, 'postgres', \@queries, $name);
	my $rows = 'SELECT count(*) || \' \' || sum(hashtext(t::text)) FROM t';
	is($subscriber->safe_psql('postgres', $rows), $publisher->safe_psql('postgres', $rows),
		"$name: the rows of the publisher");
	return;
}

$subscriber->poll_query_until('postgres',
	"SELECT count(*) = 1 FROM pg_subscription_rel WHERE srsubstate = 'r'")
  or die 'the initial copy did not finish';
compare('initial copy');
# From PostgreSQL 16 on COPY extends a table by up to 64 pages at once; the last
# ones are empty, and wait for rows.
ok( $subscriber->poll_query_until('postgres', "SELECT unindexed < 16 + 64 "
  . "FROM rencoder_candidates('t_v', 1::int8, 2::int8)"),
	'the worker indexes what was copied');
$subscriber->safe_psql('postgres', "SELECT rencoder_maintain_index('t_s')");
$publisher->safe_psql('postgres', 'SELECT fill(3001, 3200)');
$publisher->safe_psql('postgres', "UPDATE t SET v = hashint8extended(id + 1, $seed), "
  . "s = 'name ' || md5((id + 3000)::text) WHERE id % 7 = 1");
$publisher->safe_psql('postgres', 'DELETE FROM t WHERE id % 11 = 3');
$publisher->safe_psql('postgres', 'BEGIN; SELECT fill(6001, 6100); SAVEPOINT a; '
  . 'UPDATE t SET v = 0; ROLLBACK TO a; DELETE FROM t WHERE id = 5; COMMIT');
compare('inserts, updates, deletes');

# Maintenance while they come, in many small transactions.
my $client = $publisher->background_psql('postgres');
$client->query_until(qr/started/, qq{\\echo started
	DO \$\$ BEGIN
		FOR i IN 1 .. 300 LOOP
			PERFORM fill(4000 + i * 5, 4004 + i * 5);
			UPDATE t SET v = hashint8extended(id + i, $seed) WHERE id = i * 3;
			COMMIT;
		END LOOP; END \$\$;
});
foreach my $maintenance ('VACUUM t', "SELECT rencoder_maintain_index('t_s')",
	"SELECT rencoder_compact('t_v')",
	'REINDEX INDEX CONCURRENTLY t_v', 'REINDEX INDEX t_s')
{
	$subscriber->safe_psql('postgres', $maintenance);
}
$client->query_safe('SELECT 1');
$client->quit;
compare('with maintenance meanwhile');

# The subscriber crashes, and goes on.
$publisher->safe_psql('postgres', 'SELECT fill(5600, 5800)');
$subscriber->stop('immediate');
$publisher->safe_psql('postgres', 'UPDATE t SET s = s || \'x\' WHERE id % 13 = 1');
$subscriber->start;
compare('after a crash of the subscriber');

# TRUNCATE is replicated, too.
$publisher->safe_psql('postgres', 'TRUNCATE t; SELECT fill(1, 1000)');
compare('after TRUNCATE');

$subscriber->safe_psql('postgres', 'DROP SUBSCRIPTION s');
$subscriber->stop;
$publisher->stop;
done_testing();
