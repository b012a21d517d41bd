# rencoder_advise() keeps what recorded queries sort by where rencoder has no such order, and tells
# the query; without pg_stat_statements, or where it may not be read, it says what it can say.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderTest;
use Test::More;

my $node = new_node('recorded');

$node->safe_psql('postgres', q{
	CREATE TABLE seen (id uuid, at timestamptz, "Amount" text COLLATE "en-x-icu", place point,
		tenant int8, code text COLLATE "en-x-icu", note text COLLATE "en-x-icu",
		name text COLLATE "C") WITH (autovacuum_enabled = off);
	INSERT INTO seen SELECT md5(i::text)::uuid,
		timestamptz '2026-01-01' + hashint4(i) * interval '1 second', hashint8extended(i, 1),
		point(i % 1000, i / 1000), hashint8extended(i, 2) & 65535, md5((i + 1)::text),
		md5((i + 2)::text), md5((i + 3)::text)
	FROM generate_series(1, 60000) i;
	CREATE INDEX seen_id ON seen (id);
	CREATE INDEX seen_at ON seen (at);
	CREATE INDEX seen_amount ON seen ("Amount");
	CREATE INDEX seen_place ON seen USING gist (place);
	CREATE INDEX seen_two ON seen (tenant, id);
	CREATE INDEX seen_mixed ON seen (tenant, at DESC);
	CREATE INDEX seen_code ON seen (code);
	CREATE INDEX seen_note ON seen (note);
	CREATE INDEX seen_name ON seen (name);
	CREATE ROLE reader LOGIN;
	GRANT SELECT ON seen TO reader;
	VACUUM ANALYZE seen;});

# What is asked of the table: all indexes are used.
my $queries = q{
	SET enable_seqscan = off;
	SET enable_bitmapscan = off;
	SELECT code FROM seen WHERE id = md5('5')::uuid;
	SELECT code FROM seen WHERE note = 'a';
	SELECT code FROM seen WHERE code = 'a';
	SELECT code FROM seen WHERE name = 'a' ORDER BY name;
	SELECT id FROM seen WHERE note = 'a' ORDER BY id;
	SELECT note,
		code	FROM seen ORDER BY at DESC LIMIT 3;
	SELECT max("Amount") FROM seen;
	SELECT count(code) FROM seen WHERE "Amount" > '8';
	SELECT code FROM seen ORDER BY place <-> point '(1,1)' LIMIT 5;
	SELECT code FROM seen WHERE tenant = 7 ORDER BY at LIMIT 5;
	SELECT code FROM seen WHERE tenant = 7 ORDER BY id LIMIT 5;};
my $more = q{SELECT note FROM seen ORDER BY code LIMIT 1;
	SELECT note FROM seen ORDER BY tenant, at DESC LIMIT 7;};

# The advice for the table's indexes: "name verdict: reason" each.
sub advice
{
	my @arguments = @_;

	return $node->safe_psql('postgres', q{SELECT index || ' ' || verdict || ': ' || reason
		FROM rencoder_advise('public') WHERE "table" = 'seen'::regclass
		ORDER BY index::text}, @arguments);
}

my $unknown = <<'END';
seen_amount replace unless sorted: does ORDER BY, <, > use Amount?
seen_at replace: for =, IN, ranges and order
seen_code replace: for =, IN and LIKE
seen_id replace: for =, IN, ranges and order
seen_mixed replace unless sorted: does ORDER BY use ASC with DESC?
seen_name replace: for =, IN, ranges and order
seen_note replace unless sorted: does ORDER BY, <, > use note?
seen_place replace unless sorted: does ORDER BY <-> use place?
seen_two replace: for =, IN, ranges and order
END
chomp $unknown;

$node->safe_psql('postgres', $queries);
is(advice(), $unknown, 'without pg_stat_statements');

$node->safe_psql('postgres', 'CREATE EXTENSION pg_stat_statements');
is(advice(), $unknown, 'with pg_stat_statements that is not loaded');

$node->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_stat_statements'");
$node->restart;
is(advice(), $unknown, 'nothing is recorded yet');

# Those that rencoder has in order it may replace.
my $known = $unknown;
sub keep
{
	my ($index, $query) = @_;

	$known =~ s/($index) .*/$1 keep: queries sort by it: $query/;
}
keep('seen_amount', 'SELECT max("Amount") FROM seen');
keep('seen_place', 'SELECT code FROM see .. ORDER BY place <-> point $');
$node->safe_psql('postgres', $queries);
is(advice(), $known, 'what is recorded');

# A column that looks like one of identifiers; both directions.
keep('seen_code', 'SELECT note FROM seen ORDER BY code LIMIT $1');
keep('seen_mixed', 'SELECT note FROM see .. ORDER BY tenant, at DESC L');
$node->safe_psql('postgres', $more);
is(advice(), $known, 'more is recorded');

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

# The order of the default collation is that of its provider, whatever lc_collate says.
$node->safe_psql('postgres', q{CREATE DATABASE icu TEMPLATE template0 LOCALE_PROVIDER icu
	ICU_LOCALE 'en' LC_COLLATE 'C'});
$node->safe_psql('icu', q{CREATE EXTENSION rencoder;
	CREATE TABLE seen AS SELECT md5(i::text) AS note FROM generate_series(1, 60000) i;
	CREATE INDEX seen_note ON seen (note);
	VACUUM ANALYZE seen;
	SET enable_seqscan = off;
	SET enable_bitmapscan = off;
	SET enable_indexonlyscan = off;
	SELECT count(note) FROM seen WHERE note = 'a';});
is( $node->safe_psql(
		'icu', q{SELECT verdict FROM rencoder_advise('public') WHERE index IS NOT NULL}),
	'replace unless sorted',
	'a database of ICU');

done_testing();
