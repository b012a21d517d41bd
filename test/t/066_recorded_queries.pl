# rencoder_advise() keeps what recorded queries sort by in an order that rencoder has not, and tells
# the query; without pg_stat_statements, or where it may not be read, it says what it can say.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderTest;
use Test::More;

my $node = new_node('recorded');

$node->safe_psql('postgres', q{
	CREATE TABLE seen (id uuid, at text COLLATE "und-x-icu", "Amount" text COLLATE "und-x-icu",
		place point, tenant int8, code text COLLATE "C", note text COLLATE "und-x-icu")
		WITH (autovacuum_enabled = off);
	INSERT INTO seen SELECT md5(i::text)::uuid,
		md5((-i)::text), md5((i + 100000)::text),
		point(i % 1000, i / 1000), hashint8extended(i, 2) & 65535, md5((i + 1)::text),
		md5((i + 200000)::text)
	FROM generate_series(1, 60000) i;
	CREATE INDEX seen_id ON seen (id);
	CREATE INDEX seen_at ON seen (at);
	CREATE INDEX seen_amount ON seen ("Amount");
	CREATE INDEX seen_place ON seen USING gist (place);
	CREATE INDEX seen_two ON seen (tenant, at);
	CREATE INDEX seen_code ON seen (code);
	CREATE INDEX seen_note ON seen (note);
	CREATE ROLE reader LOGIN;
	GRANT SELECT ON seen TO reader;
	VACUUM ANALYZE seen;});

# What is asked of the table: all indexes are used.
my $queries = q{
	SET enable_seqscan = off;
	SET enable_bitmapscan = off;
	SELECT code FROM seen WHERE id = md5('5')::uuid;
	SELECT code FROM seen WHERE note = '2026-01-02';
	SELECT id FROM seen WHERE code = 'a' ORDER BY id;
	SELECT code,
		id	FROM seen ORDER BY at DESC LIMIT 3;
	SELECT max("Amount") FROM seen;
	SELECT code FROM seen ORDER BY place <-> point '(1,1)' LIMIT 5;
	SELECT code FROM seen WHERE tenant = 7 ORDER BY at LIMIT 5;
	SELECT count(code) FROM seen WHERE "Amount" BETWEEN '0' AND '01';};

# The advice for the table's indexes: "name verdict: reason" each.
sub advice
{
	my @arguments = @_;

	return $node->safe_psql('postgres', q{SELECT index || ' ' || verdict || ': ' || reason
		FROM rencoder_advise('public') WHERE "table" = 'seen'::regclass
		ORDER BY index::text}, @arguments);
}

my $unknown = <<'END';
seen_amount replace unless sorted: does ORDER BY, <, >, min or max use Amount?
seen_at replace unless sorted: does ORDER BY, <, >, min or max use at?
seen_code replace: for =, IN, ranges and order
seen_id replace: for =, IN, ranges and order
seen_note replace unless sorted: does ORDER BY, <, >, min or max use note?
seen_place replace unless sorted: does ORDER BY <-> use it?
seen_two replace unless sorted: does ORDER BY, <, >, min or max use at?
END
chomp $unknown;

$node->safe_psql('postgres', $queries);
is(advice(), $unknown, 'without pg_stat_statements');

$node->safe_psql('postgres', 'CREATE EXTENSION pg_stat_statements');
is(advice(), $unknown, 'with pg_stat_statements that is not loaded');

$node->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_stat_statements'");
$node->restart;
is(advice(), $unknown, 'nothing is recorded yet');

my $known = <<'END';
seen_amount keep: queries sort by it: SELECT max("Amount") FROM seen
seen_at keep: queries sort by it: SELECT code, id FROM .. ORDER BY at DESC LIMIT $1
seen_code replace: for =, IN, ranges and order
seen_id replace: for =, IN, ranges and order
seen_note replace unless sorted: does ORDER BY, <, >, min or max use note?
seen_place keep: queries sort by it: SELECT code FROM see .. ORDER BY place <-> point $
seen_two keep: queries sort by it: SELECT code FROM see .. ORDER BY at LIMIT $2
END
chomp $known;
$node->safe_psql('postgres', $queries);
is(advice(), $known, 'what is recorded');

# Those of others are not for everybody to see.
is(advice(extra_params => [ '-U', 'reader' ]), $unknown, 'a reader sees no queries of others');

# Another schema, that is in no search_path; or one that the caller may not use.
$node->safe_psql('postgres', 'CREATE SCHEMA "Odd place";
	ALTER EXTENSION pg_stat_statements SET SCHEMA "Odd place"');
is(advice(), $known, 'in another schema');
$node->safe_psql('postgres', 'REVOKE ALL ON SCHEMA "Odd place" FROM PUBLIC;
	REVOKE ALL ON "Odd place".pg_stat_statements FROM PUBLIC');
is(advice(extra_params => [ '-U', 'reader' ]), $unknown, 'a schema that may not be read');

# Queries of another database that has such a table are not asked.
$node->safe_psql('postgres', 'SELECT "Odd place".pg_stat_statements_reset()');
$node->safe_psql('postgres', 'CREATE DATABASE other');
$node->safe_psql('other', q{CREATE TABLE seen (at int); SELECT at FROM seen ORDER BY at;});
is(advice(), $unknown, 'queries of another database');

done_testing();
