# What docs/ has for monitoring systems: the query of postgres_exporter.yaml runs as the role that
# it asks for, and has the columns that the file names; grafana.json and prometheus_rules.yaml ask
# for metrics that are there.
use strict;
use warnings;

use FindBin;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderTest;
use Test::More;

my $docs = "$FindBin::RealBin/../../docs";
my $yaml = slurp_file("$docs/postgres_exporter.yaml");
my $node = new_node('exporter');

$node->safe_psql('postgres', q{
	CREATE TABLE seen (v int8);
	INSERT INTO seen SELECT hashint8extended(i, 0) FROM generate_series(1, 300000) i;
	CREATE INDEX seen_v ON seen USING rencoder (v);
	CREATE INDEX seen_btree ON seen (v);
	CREATE TABLE empty (v text);
	CREATE INDEX empty_v ON empty USING rencoder (v);
	CREATE ROLE exporter LOGIN;
	GRANT pg_monitor TO exporter;
	VACUUM ANALYZE seen;});

# A file of this exporter: names at the left, of each a query and its metrics.
my ($name) = $yaml =~ /^(\w+):$/m;
my ($query) = $yaml =~ /^  query: "(.*)"$/m;
my @metrics = $yaml =~ /^    - (\w+):\n        usage: "(\w+)"\n        description: "[^"]+"$/gm;
my %usage = @metrics;
is(scalar(() = $yaml =~ /^\w+:$/mg), 1, 'there is one query');
is(scalar(() = $yaml =~ /^    - /mg), @metrics / 2, 'each metric has a usage and a description');
is_deeply([ grep { !/^(LABEL|GAUGE|COUNTER)$/ } values %usage ], [], 'of known kinds');

my $answer = $node->safe_psql('postgres', "SELECT json_agg(q) FROM ($query) AS q",
	extra_params => [ '-U', 'exporter' ]);
my @rows = sort { $a->{indexrelname} cmp $b->{indexrelname} } @{ decode_json($answer) };
is_deeply([ map { $_->{indexrelname} } @rows ], [ 'empty_v', 'seen_v' ],
	'a row for each rencoder index');
is_deeply([ sort keys %{ $rows[1] } ], [ sort keys %usage ], 'with the columns of the metrics');
is_deeply([ grep { $usage{$_} ne 'LABEL' && $rows[1]{$_} !~ /^[0-9.e+-]+$/ } keys %usage ], [],
	'all that are no label are numbers');
is($rows[1]{size}, $node->safe_psql('postgres', q{SELECT pg_relation_size('seen_v')}),
	'the size is right');

# Counters count.
$node->safe_psql('postgres', q{SET enable_seqscan = off; SET enable_indexscan = off;
	SET enable_indexonlyscan = off; DROP INDEX seen_btree;
	SELECT count(*) FROM seen WHERE v = 5;});
ok($node->poll_query_until('postgres',
		q{SELECT scans > 0 AND table_pages >= pages FROM rencoder_stat_indexes
		WHERE indexrelname = 'seen_v'}), 'a scan is counted');

# Without the role there is nothing to see, and no error.
$node->safe_psql('postgres', 'REVOKE pg_monitor FROM exporter');
is($node->safe_psql('postgres', $query, extra_params => [ '-U', 'exporter' ]), '',
	'no rows for a role that may not inspect them');

my $board = decode_json(slurp_file("$docs/grafana.json"));
my @targets = map { @{ $_->{targets} } } @{ $board->{panels} };
my @shown = map { $_->{expr} =~ /\b(${name}_\w+)/g } @targets;
my %known = map { ("${name}_$_" => 1) } grep { $usage{$_} ne 'LABEL' } keys %usage;
cmp_ok(scalar @shown, '>', 0, 'the dashboard shows metrics');
is_deeply([ grep { !$known{$_} } @shown ], [], 'of the file');
is_deeply([ grep { !exists $usage{$_} } map { $_->{legendFormat} =~ /\{\{(\w+)\}\}/g } @targets ],
	[], 'by labels of the file');

# Alerts: of such metrics and labels; what they tell to read is there.
my $rules = slurp_file("$docs/prometheus_rules.yaml");
my @asked = $rules =~ /\b(${name}_\w+)/g;
cmp_ok(scalar @asked, '>', 0, 'there are rules for alerts');
is_deeply([ grep { !$known{$_} } @asked ], [], 'of metrics of the file');
is_deeply([ grep { !exists $usage{$_} } $rules =~ /\$labels\.(\w+)/g ], [], 'by its labels');
is(scalar(() = $rules =~ /- alert:/g), scalar(() = $rules =~ /docs\/\w+\.md, /g),
	'each names what to read');
while ($rules =~ /docs\/(\w+\.md), (.*)"$/mg)
{
	my ($text, $heading) = ($1, $2);

	like(slurp_file("$docs/$text"), qr/^(?:#+ |\*\*)\Q$heading\E/m, "$text has $heading");
}

done_testing();
