# Calls of every function of the extension, with arguments of every kind, by its owner and by
# others, in all places where SQL runs: each returns or raises an error that is not an internal
# one, in a session that goes on, on a server that goes on; and the indexes stay sound.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderTest;
use Test::More;

my ($node, $standby) = start_primary_with_standby(conf => "max_prepared_transactions = 5\n");

# Relations of all kinds.  "fuzz_owner" owns all but those of the system and of "other".
$node->safe_psql('postgres', q{
	CREATE EXTENSION IF NOT EXISTS rencoder_postgis CASCADE})
  if $node->safe_psql('postgres',
	"SELECT count(*) FROM pg_available_extensions WHERE name = 'postgis'");
$node->safe_psql('postgres', q{
	CREATE ROLE fuzz_owner;
	CREATE ROLE fuzz_reader;
	CREATE ROLE fuzz_monitor IN ROLE pg_stat_scan_tables;
	CREATE ROLE fuzz_nobody;
	CREATE FOREIGN DATA WRAPPER fuzz_wrapper;
	CREATE SERVER fuzz_server FOREIGN DATA WRAPPER fuzz_wrapper;
	GRANT USAGE ON FOREIGN SERVER fuzz_server TO fuzz_owner;
	CREATE SCHEMA fuzz AUTHORIZATION fuzz_owner;
	GRANT USAGE ON SCHEMA fuzz TO PUBLIC;
	CREATE TABLE fuzz.other (v int8);
	CREATE INDEX other_v ON fuzz.other USING rencoder (v);
	CREATE DOMAIN fuzz.positive AS int8 CHECK (VALUE > 0);
	CREATE TYPE fuzz.mood AS ENUM ('sad', 'glad');
	CREATE TYPE fuzz.pair AS (a int, b text);
	SET ROLE fuzz_owner;
	CREATE TABLE fuzz.t (v int8, gone int, s text COLLATE "C", u text, p point, n numeric,
		at timestamptz, filler text);
	ALTER TABLE fuzz.t DROP gone;
	ALTER TABLE fuzz.t ALTER filler SET STORAGE plain;
	INSERT INTO fuzz.t SELECT (i * 2654435761) % 4294967296, 'key ' || i, 'key ' || i,
			point(i % 177, i % 180), nullif(i / 7.0, 1), now(), repeat('x', 800)
		FROM generate_series(1, 4000) i;
	CREATE INDEX t_run ON fuzz.t USING rencoder (v, s) WITH (pages_per_range = 1);
	CREATE INDEX t_filter ON fuzz.t USING rencoder (v) WITH (pages_per_range = 1);
	CREATE INDEX t_u ON fuzz.t USING rencoder (u);
	CREATE INDEX t_p ON fuzz.t USING rencoder (p);
	CREATE INDEX t_n ON fuzz.t USING rencoder (n, at);
	CREATE INDEX t_sum ON fuzz.t USING rencoder ((v + 1));
	CREATE INDEX t_part ON fuzz.t USING rencoder (v) WHERE n > 5;
	CREATE INDEX t_btree ON fuzz.t (v);
	CREATE INDEX t_brin ON fuzz.t USING brin (v);
	CREATE TABLE fuzz.empty (v int8);
	CREATE INDEX empty_v ON fuzz.empty USING rencoder (v);
	CREATE UNLOGGED TABLE fuzz.unlogged AS SELECT v FROM fuzz.t;
	CREATE INDEX unlogged_v ON fuzz.unlogged USING rencoder (v);
	CREATE MATERIALIZED VIEW fuzz.matview AS SELECT v FROM fuzz.t;
	CREATE INDEX matview_v ON fuzz.matview USING rencoder (v);
	CREATE VIEW fuzz.view AS SELECT v FROM fuzz.t;
	CREATE SEQUENCE fuzz.sequence;
	CREATE FOREIGN TABLE fuzz.foreign_table (v int8) SERVER fuzz_server;
	CREATE TABLE fuzz.parted (v int8) PARTITION BY RANGE (v);
	CREATE TABLE fuzz.parted_1 PARTITION OF fuzz.parted FOR VALUES FROM (0) TO (1000000000);
	CREATE FOREIGN TABLE fuzz.parted_2 PARTITION OF fuzz.parted DEFAULT SERVER fuzz_server;
	CREATE INDEX parted_v ON fuzz.parted USING rencoder (v);
	INSERT INTO fuzz.parted SELECT i FROM generate_series(1, 20000) i;
	GRANT SELECT ON fuzz.t, fuzz.unlogged, fuzz.matview, fuzz.empty, fuzz.parted_1 TO fuzz_reader;
	CREATE PROCEDURE fuzz.call(call text) LANGUAGE plpgsql AS $$
	BEGIN
		EXECUTE call;
		COMMIT;
		EXECUTE call;
	END $$;
	CREATE FUNCTION fuzz.caught(call text) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		BEGIN
			EXECUTE call;
			RAISE EXCEPTION USING ERRCODE = 'FUZZZ';
		EXCEPTION WHEN SQLSTATE 'FUZZZ' THEN
			EXECUTE call;
		END;
	END $$;
	CREATE FUNCTION fuzz.fails(int8) RETURNS int8 LANGUAGE plpgsql IMMUTABLE AS $$
	BEGIN
		RAISE EXCEPTION 'fails always' USING ERRCODE = 'FUZZY';
	END $$;
	CREATE FUNCTION fuzz.writes(int8) RETURNS int8 LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO fuzz.t (v) VALUES ($1);
		RETURN $1;
	END $$;
	CREATE FUNCTION fuzz.asks(int8) RETURNS int8 LANGUAGE plpgsql STABLE AS $$
	BEGIN
		PERFORM rencoder_candidates('fuzz.t_filter', 7, 7);
		PERFORM count(*) FROM fuzz.t WHERE v = 7;
		RETURN $1;
	END $$});

# An index that CREATE INDEX CONCURRENTLY failed to make.
my (undef, undef, $failed) = $node->psql('postgres',
	'CREATE INDEX CONCURRENTLY t_failed ON fuzz.t USING rencoder ((1 / (n * 7 - 14)))');
like($failed, qr/division by zero/, 'an index is left invalid');

# Temporary relations of another session, and what was dropped.
my $session = $node->background_psql('postgres');
$session->query_safe(q{
	CREATE TEMP TABLE of_another AS SELECT v FROM fuzz.t;
	CREATE INDEX of_another_v ON of_another USING rencoder (v)});
my $dropped = $node->safe_psql('postgres', q{
	CREATE INDEX dropped_v ON fuzz.t USING rencoder (v);
	SELECT 'fuzz.dropped_v'::regclass::oid;
	DROP INDEX fuzz.dropped_v});
my @relations = (
	split(/\n/, $node->safe_psql('postgres', q{
		SELECT oid FROM pg_class
		WHERE relnamespace IN ('fuzz'::regnamespace,
				(SELECT relnamespace FROM pg_class WHERE relname = 'of_another'))
			OR oid IN (SELECT unnest(array[c.reltoastrelid, x.indexrelid]) FROM pg_class c
				JOIN pg_index x ON x.indrelid = c.reltoastrelid WHERE c.oid = 'fuzz.t'::regclass)
			OR oid IN ('pg_class'::regclass, 'pg_class_oid_index'::regclass,
				'pg_database'::regclass, 'pg_views'::regclass)
		ORDER BY relname COLLATE "C"})),
	$dropped, 0, 1, 4294967295);
my %name_of = map { split /\|/ } split /\n/,
  $node->safe_psql('postgres', 'SELECT oid, oid::regclass FROM pg_class');
my @indexes = split /\n/, $node->safe_psql('postgres', q{
	SELECT indexrelid FROM pg_index JOIN pg_class c ON c.oid = indexrelid
		JOIN pg_am a ON a.oid = relam
	WHERE amname = 'rencoder' AND indisvalid AND relkind = 'i' AND relpersistence = 'p'
	ORDER BY relname COLLATE "C"});
cmp_ok(scalar @relations, '>', 30, 'there are relations of many kinds');

# What a call may be given, by the type of the argument.
my @strings = ("''", "'a'", "'key 77'", "repeat('x', 1000000)", "U&'\\00e4\\fffd'", "E'\\x7f\\n'");
my %pool = (
	bigint => [ qw(0 1 -1 7 127 128 4294967294 4294967295 4294967296),
		'(-9223372036854775808)', 9223372036854775807 ],
	integer => [ 0, 1, 2, 3, -1, 32768, '(-2147483648)', 2147483647 ],
	smallint => [ 0, 7, '(-32768)', 32767 ],
	boolean => [qw(true false)],
	oid => [ 0, 1, "'4294967295'" ],
	'double precision' =>
	  [ 0, "'NaN'", "'Infinity'", "'-Infinity'", "'-0'", "'1e308'", "'5e-324'" ],
	real => [ 0, "'NaN'", "'Infinity'", "'-Infinity'", "'1e-45'" ],
	numeric => [ 0, 1.5, "'NaN'", "'Infinity'", "'-Infinity'", "'1e131071'", "'-1e-16383'" ],
	money => [ "'0'", "'-92233720368547758.08'", "'92233720368547758.07'" ],
	date => [ "'infinity'", "'-infinity'", "'4713-11-24 BC'", "'5874897-12-31'", 'current_date' ],
	'timestamp without time zone' =>
	  [ "'infinity'", "'-infinity'", "'4713-11-24 BC'", "'294276-12-31'", "'epoch'" ],
	'timestamp with time zone' =>
	  [ "'infinity'", "'-infinity'", "'4713-11-25 BC'", "'294276-12-30'", 'now()' ],
	'time without time zone' => [ "'00:00'", "'24:00'", "'12:34:56.789'" ],
	'time with time zone' => [ "'00:00+15:59'", "'24:00-15:59'" ],
	interval => [ "'0'", "'178000000 years'", "'-178000000 years'", "'1 mon -30 days'" ],
	uuid => [ map { "'" . $_ x 32 . "'" } qw(0 8 f) ],
	macaddr => [ "'00:00:00:00:00:00'", "'ff:ff:ff:ff:ff:ff'" ],
	macaddr8 => [ "'00:00:00:00:00:00:00:00'", "'ff:ff:ff:ff:ff:ff:ff:ff'" ],
	inet => [ "'0.0.0.0/0'", "'255.255.255.255'", "'::/0'", "'10.0.0.1/8'",
		"'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'" ],
	cidr => [ "'0.0.0.0/0'", "'10.0.0.0/8'", "'::/0'" ],
	pg_lsn => [ "'0/0'", "'FFFFFFFF/FFFFFFFF'" ],
	xid8 => [ "'0'", "'18446744073709551615'" ],
	tid => [ "'(0,0)'", "'(4294967295,65535)'" ],
	bit => [ "'0'", "'1'" ],
	'bit varying' => [ "''", "'101'" ],
	'"char"' => [ "''", "'a'", "'\\377'" ],
	text => \@strings,
	'character varying' => \@strings,
	character => [ "''", "'a'" ],
	bytea => [ "''", "'\\x00ff'", "decode(repeat('00', 100000), 'hex')" ],
	name => [ "'v'", "'s'", "'p'", "'u'", "'n'", "''", "'nosuch'", "'ctid'", "'xmin'", "'tableoid'",
		"'........pg.dropped.2........'", "repeat('x', 63)", "'filler'", "'V'", "'*'" ],
	point => [ "'(0,0)'", "'(NaN,1)'", "'(Infinity,-Infinity)'", "'(1e308,-1e308)'", "'(7,7)'" ],
	box => [ "'(0,0),(9,9)'", "'(NaN,0),(1,1)'", "'(-Infinity,-Infinity),(Infinity,Infinity)'" ],
	circle => [ "'<(5,5),3>'", "'<(0,0),Infinity>'", "'<(NaN,0),1>'" ],
	polygon => [ "'((0,0),(5,9),(9,0))'", "'((NaN,NaN))'" ],
	json => [ "'{}'", "'null'" ],
	jsonb => [ "'{}'", "'[1]'" ],
	int4range => [ "'empty'", "'(,)'", "'[1,5)'" ],
	anyenum => [ map { "$_\::fuzz.mood" } "'sad'", "'glad'" ],
	anyrange => [ map { "$_\::int8range" } "'empty'", "'(,)'" ],
	anyarray => [ map { "$_\::int8[]" } "'{}'", "'{1,NULL}'" ],
	anycompatiblearray => [ "'{}'::int8[]", "'{1,5}'::int8[]", "'{2,NULL}'::int4[]",
		"'{7,3}'::int4[]", "'{a,b}'::text[]" ],
	'real[]' => [ "'{}'", "'{NULL}'", "'{0.1,NaN,-1}'", "'{0.5,0.25,0.25}'" ],
	'smallint[]' => [ "'{}'", "'{NULL}'", "'{1}'", "'{2,1,0,99}'", "'{-32768,1}'" ],
	'name[]' => [ "'{}'", "'{NULL}'", "'{v}'", "'{v,n,nosuch}'", "'{{v,n},{u,v}}'" ],
	'double precision[]' => [ "'{}'", "'{NULL}'", "'{{0.1,0.2},{0.3,NULL}}'", "'{NaN,-1,1e300}'",
		"'{0.5,0.25}'", "'[-5:-4]={1,2}'" ],
	'bigint[]' => [ "'{}'", "'{NULL}'", "'{{1,2},{3,NULL}}'", "'[-5:-4]={1,2}'",
		'array_fill(1::int8, array[1,1,1,1,1,1])' ],
	'fuzz.positive' => [ 1, 9223372036854775807 ],
	'fuzz.mood' => [ "'sad'" ],
	'fuzz.pair' => [ "'(1,x)'", "'(,)'" ],
	regclass => [ map { "'$_'" } @relations ],
	regnamespace => [ map { "'$_'" } 'fuzz', 'public', 'pg_catalog', 'pg_toast' ],
	refcursor => ["'c'"]);
$pool{geometry} = [ "'POINT(1 1)'", "'POINT EMPTY'", "'LINESTRING(0 0,1 1)'", "'POINT(NaN 1)'",
	"'SRID=4326;POINT(1 1)'" ]
  if $node->safe_psql('postgres', "SELECT count(*) FROM pg_type WHERE typname = 'geometry'");

# Conditions: what may stand after WHERE, and what may not.
my @conditions = (
	'*', 't.*', 't', '(t.*) IS NULL', 't IS NOT NULL AND v = 5', 't.v = 5', 'fuzz.t.v = 5',
	'postgres.fuzz.t.v = 5', 'a.b.c.d.e = 5', 't.*.v', 'v.*', '(t).v = 5', '(t).* = 5', 'v = 5',
	'v = 5 OR v = 7', 'v IN (1, 2, NULL)', 'v = ANY (NULL)', "v = ANY ('{}')",
	"v = ANY ('{{1,2},{3,4}}')", 'v = ANY (array[NULL])', 'v BETWEEN 9 AND 5', 'v IS NULL',
	'v = NULL', 'NULL', 'true', 'false', 'v = v', 'v > n', 'v = 5.5', 'v = 1e400', "n = 'NaN'",
	"n > '-Infinity'", 'v < 9223372036854775807', 'v = 9223372036854775808', "u ~ '('",
	"u LIKE '\\'", "u LIKE 'key 1%'", "u ~ '^key 1'", "u < 'a'", "s = 'key 7'",
	"p <@ box '(0,0),(3,3)'",
	"p ~= '(NaN,NaN)'", "p <@ box '(NaN,NaN),(NaN,NaN)'", "p <-> '(0,0)' < 5", 'ctid = \'(0,1)\'',
	"ctid = '(0,1)' AND v = 5", 'xmin = 5', 'tableoid = 5 AND v = 5', 'nosuch = 5', 'v = $1',
	'v = $99999999999', 'GROUPING(v) = 1', 'CURRENT OF c', 'DEFAULT', 'v = DEFAULT', 'count(*) > 1',
	'v = max(v)', 'v = row_number() OVER ()', 'v = generate_series(1, 3)', 'EXISTS (SELECT 1)',
	'v = (SELECT 1)', 'v IN (SELECT 1)', 'v = ANY (ARRAY(SELECT 1))', 'v = 5; SELECT 1', 'v = 5;',
	';',
	'', ' ', '--', '/*', "'", '"', '"" = 1', 'v = 5 AS x', 'DISTINCT v = 5',
	'DISTINCT ON (v) v = 5',
	'v = 5 ORDER BY 1', 'v = 5 LIMIT 1', 'v = 5 FOR UPDATE', 'v = 5 GROUP BY v',
	'v = 5 HAVING true',
	'v = 5 WINDOW w AS ()', 'v = 5 WHERE true', 'v = 5 FROM fuzz.t', 'v = 5 INTO x', 'ALL v = 5',
	'v = 5 UNION SELECT true', 'v = 5, true', 'v = fuzz.fails(5)', 'v = fuzz.writes(5)',
	'v = fuzz.asks(5)', 'v = 5 AND random() < 2', 'v = 5::fuzz.positive', 'v = 0::fuzz.positive',
	'v + 1 = 5', 'v + 1 = 5.5', 'row(v, n) = row(5, 6)', 'row(v, n) > row(5, 6)',
	'v OPERATOR(pg_catalog.=) 5',
	'v OPERATOR(nosuch.=) 5', 'v = 1/0', 'v = 5 AND n = 1/0', 'NOT v = 5', 'v IS DISTINCT FROM 5',
	'v = CASE WHEN true THEN 5 END', 'v = 5 AND n > 5', "u = 'x' COLLATE \"C\"",
	"u = 'x' COLLATE nosuch", "at > now() - interval '1 day'", "at = 'infinity'",
	'at = current_date',
	"at > 'x'", 'current_setting($$no.such$$)::int8 = v', 'xmlexists($$//a$$ PASSING NULL)',
	"'x'", '5', '8f14e45f-ceea', "'2020-01-01'::date", '"v" = 5', 'V = 5', 'U&"\\0076" = 5',
	'coalesce(v, 5) = 5', 'v = 5 IS TRUE', 'v = SOME (array[5])', 'v = ALL (array[5])',
	'v > ALL (array[5])', 'VARIADIC v', 'v := 5', 'x => 5', 'v = int8($$5$$)', 'lastval() = v');
# Conditions that are long or deep, as SQL; some are too deep.
my @long = (
	"repeat('(', 500) || 'v = 5' || repeat(')', 500)",
	"repeat('(', 50000) || 'v = 5' || repeat(')', 50000)",
	"'v = 5' || repeat(' OR v = 6', 3000)",
	"'v = 5' || repeat(' + 1', 100000)",
	"repeat('NOT ', 9000) || 'v = 5'",
	"repeat('(v = 1 OR (n = 5 AND ', 300) || 'v = 5' || repeat('))', 300)",
	"'v IN (0' || repeat(', 7', 50000) || ')'",
	"'v = ' || repeat('f(', 3000) || repeat(')', 3000)",
	"'v = 5 AND ' || repeat('x', 1000000) || ' = 6'");

# ---- Calls ----

# [ schema.function, [ types of arguments ], strict ]
my @functions = map {
	my ($function, $types) = split /\|/;

	[ $function, [ split /, /, $types ] ]
} split /\n/, $node->safe_psql('postgres', q{
	SELECT format('%I.%I', pronamespace::regnamespace, proname), string_agg(
		format_type(type, NULL), ', ' ORDER BY i)
	FROM pg_proc p JOIN pg_depend d ON d.objid = p.oid AND d.classid = 'pg_proc'::regclass
			AND d.deptype = 'e'
		JOIN pg_extension e ON e.oid = d.refobjid AND extname ~ '^rencoder'
		LEFT JOIN LATERAL unnest(proargtypes) WITH ORDINALITY u (type, i) ON true
	GROUP BY p.oid ORDER BY p.oid::regprocedure::text COLLATE "C"});
my @internal = grep { grep { $_ eq 'internal' } @{ $_->[1] } } @functions;
my @callable = grep {
	!grep { $_ eq 'internal' } @{ $_->[1] }
} @functions;
my %types = map { $_ => 1 } map { @{ $_->[1] } } @callable;
is_deeply([ grep { !$pool{$_} && $_ ne 'anycompatible' } sort keys %types ],
	[], 'there are values for all types of arguments');

my @any = grep { $_ !~ /^any/ } sort keys %pool;

sub value_of
{
	my ($type) = @_;

	return "NULL::$type" if rnd(12) == 0 && $type !~ /^any/;
	return rnd_pick(@{ $pool{$type} }) if $type =~ /^any/;
	return '(' . rnd_pick(@{ $pool{$type} }) . ")::$type";
}

# Values for "anycompatible": mostly two of one type, such as the index has.
sub any_of
{
	my ($n) = @_;
	my $kind = rnd(8);
	my @usual = ('bigint', 'text', 'point', 'numeric', 'integer');
	my $type = $kind < 4 ? rnd_pick(@usual) : rnd_pick(@any);

	return map { rnd_pick('NULL', "''", "'x'", "'5'", "'infinity'", '5') } 1 .. $n if $kind == 7;
	return map { value_of(rnd_pick(@any)) } 1 .. $n if $kind == 6;
	return map { value_of($type) } 1 .. $n;
}

# A call; "first" is the first argument, if it is given.
sub call_of
{
	my ($function, $first) = @_;
	my ($name, $types) = @$function;
	my @compatible = any_of(scalar grep { $_ eq 'anycompatible' } @$types);
	my @arguments;

	foreach my $type (@$types)
	{
		push @arguments, $type eq 'anycompatible' ? shift @compatible
		  : $type eq 'text' && $types->[0] eq 'regclass' ? rnd(4) ? quoted(rnd_pick(@conditions))
		  : rnd_pick(@long)
		  : value_of($type);
	}
	$arguments[0] = "'$first'::regclass" if defined $first;
	return rnd_pick("SELECT * FROM $name(", "SELECT $name(") . join(', ', @arguments) . ')';
}

sub quoted
{
	my ($text) = @_;

	return q{'} . ($text =~ s/'/''/gr) . q{'};
}

# Every function with every relation, every condition with some indexes, and some more.
sub calls
{
	my ($more) = @_;
	my @calls;

	foreach my $function (@callable)
	{
		my $takes_relation = @{ $function->[1] } && $function->[1][0] eq 'regclass';
		my @first = $takes_relation ? @relations : ();

		push @calls, map { call_of($function, $_) } @first;
		push @calls, map { call_of($function, $takes_relation ? rnd_pick(@indexes) : undef) }
		  1 .. $more;
		push @calls,
		  "SELECT $function->[0](" . join(', ', map { 'NULL' } @{ $function->[1] }) . ')';
	}
	my ($asks) = grep { "@{ $_->[1] }" eq 'regclass text' } @callable;
	foreach my $condition ((map { quoted($_) } @conditions), @long)
	{
		push @calls, map { "SELECT * FROM $asks->[0]('$_', $condition)" } rnd_pick(@indexes),
		  $indexes[-3];
	}
	return @calls;
}

# ---- Running them ----

my $started = $node->safe_psql('postgres', 'SELECT pg_postmaster_start_time()');
my $nfiles = 0;

# Runs each call as one line of a script in one session; returns the SQLSTATE and the message
# of each.  One test: the session and the server went on, and no error was an internal one.
sub run_calls
{
	my ($name, $where, $before, $wrap, @calls) = @_;
	my $file = $PostgreSQL::Test::Utils::tmp_check . "/fuzz_" . ++$nfiles . '.sql';
	my ($out, $err) = ('', '');
	my @state = map { [ '00000', '' ] } @calls;

	append_to_file($file, join "\n", "$before; SELECT 'pid', pg_backend_pid(); \\o /dev/null",
		(map { $wrap->($_) } @calls), "\\o\n SELECT 'pid', pg_backend_pid();\n");
	IPC::Run::run(
		[ 'psql', '-XqAt', '-v', 'VERBOSITY=verbose', '-d', $where->connstr('postgres'),
			'-f', $file ],
		'>', \$out, '2>', \$err);

	# Errors of a call that psql itself makes of a lost connection have no SQLSTATE.
	while ($err =~ /^psql:\Q$file\E:(\d+): (?:ERROR|FATAL|PANIC):  (\w{5}): (.*)/gm)
	{
		$state[ $1 - 2 ] = [ $2, substr $3, 0, 300 ] if $1 >= 2 && $state[ $1 - 2 ][0] eq '00000';
	}
	my @wrong = grep { $state[$_][0] =~ /^XX/ } 0 .. $#calls;
	my ($first, $last) = $out =~ /^pid\|(\d+)$/gm;

	is($last // 'lost', $first // 'none', "$name: the session goes on, $#calls calls");
	is(scalar @wrong, 0, "$name: no internal error");
	diag("$state[$_][0] $state[$_][1]: " . substr $calls[$_], 0, 300) foreach splice @wrong, 0, 20;
	return @state;
}

# How many of the calls returned?
sub returned
{
	return scalar grep { $_->[0] eq '00000' } @_;
}

my $plain = sub { return "$_[0];" };
my $as = sub { return "SET ROLE fuzz_$_[0]; SET statement_timeout = '100s'; SET jit = off" };
my $more = $ENV{RENCODER_FUZZ_CALLS} // 25;
my @calls = calls($more);
my %seen;
my @state = run_calls('owner', $node, $as->('owner'), $plain, @calls);
foreach my $i (0 .. $#calls)
{
	my ($function) = $calls[$i] =~ /(\w+)\(/;

	$seen{$function}{ $state[$i][0] eq '00000' ? 'returned' : 'failed' }++;
}
foreach my $function (@callable)
{
	my ($name) = $function->[0] =~ /(\w+)$/;

	cmp_ok($seen{$name}{returned} // 0, '>', 0, "$name: some calls return");
}
cmp_ok(scalar(grep { $_->{failed} } values %seen), '>', 10, 'many functions refuse something');

# The same in other places: a part of new calls each.
my %wrap = (
	'subtransaction that is rolled back' =>
	  sub { return "BEGIN; SAVEPOINT a; $_[0]; ROLLBACK TO a; COMMIT;" },
	'transaction that is rolled back' => sub { return "BEGIN; $_[0]; ROLLBACK;" },
	'procedure that commits' => sub { return 'CALL fuzz.call(' . quoted($_[0]) . ');' },
	'subtransaction of a function' => sub { return 'SELECT fuzz.caught(' . quoted($_[0]) . ');' },
	'cursor' => sub { return "BEGIN; DECLARE c CURSOR FOR $_[0]; FETCH c; FETCH ALL c; COMMIT;" },
	'prepared transaction' =>
	  sub { return "BEGIN; $_[0]; PREPARE TRANSACTION 'fuzz'; ROLLBACK PREPARED 'fuzz';" });

sub some_calls
{
	my @all = calls(1);

	return map { rnd_pick(@all) } 1 .. 200;
}

foreach my $name (sort keys %wrap)
{
	my @some = some_calls();
	my @of = run_calls($name, $node, $as->('owner'), $wrap{$name}, @some);

	cmp_ok(returned(@of), '>', 20, "$name: some return");
}
foreach my $name ('READ ONLY', 'ISOLATION LEVEL SERIALIZABLE', 'ISOLATION LEVEL REPEATABLE READ')
{
	my @of = run_calls($name, $node, $as->('owner'),
		sub { return "BEGIN $name; $_[0]; COMMIT;" }, some_calls());

	cmp_ok(returned(@of), '>', 20, "$name: some return");
}
run_calls('superuser', $node, 'SELECT 1', $plain, some_calls());
run_calls('reader', $node, $as->('reader'), $plain, some_calls());
run_calls('monitor', $node, $as->('monitor'), $plain, some_calls());

# Who has no privilege learns nothing, and waits for no lock of a table that is not his.
my @theirs = grep { /\((?:'|\()*'?(\d+)'/ && ($name_of{$1} // '') =~ /^fuzz\.|pg_temp/ } calls(5);
cmp_ok(scalar @theirs, '>', 300, 'there are calls for the relations of others');
$session->query_safe('BEGIN; LOCK fuzz.t, fuzz.empty, fuzz.unlogged, fuzz.parted, fuzz.other');
my @nobody = run_calls('nobody', $node, $as->('nobody') . "; SET lock_timeout = '1s'", $plain,
	@theirs);
$session->query_safe('COMMIT');
# rencoder_maintain() has rows of the caller's own indexes only.
is_deeply([ map { $theirs[$_] }
	grep { $nobody[$_][0] eq '00000' && $theirs[$_] !~ /NULL|rencoder_maintain/ } 0 .. $#theirs ],
	[], 'nobody: no call returns');
is(scalar(grep { $_->[0] eq '55P03' } @nobody), 0, 'nobody: no call waits for a lock');
cmp_ok(scalar(grep { $_->[0] eq '42501' } @nobody), '>', 100, 'nobody: privileges are missed');

# Functions with an argument of type internal cannot be called.
cmp_ok(scalar @internal, '>', 10, 'functions with an argument of type internal');
foreach my $function (@internal)
{
	my ($name, $types) = @$function;
	my @values = map { $_ eq 'internal' ? 'NULL' : $_ eq '"any"' ? '5' : value_of($_) } @$types;
	my (undef, undef, $err) =
	  $node->psql('postgres', "SELECT $name(" . join(', ', @values) . ')');

	like($err, qr/cannot accept a value of type internal|does not exist/, "$name cannot be called");
}

# On a standby, where nothing may be written.
$node->wait_for_catchup($standby);
my $on_standby = sub {
	return run_calls($_[0], $standby, $as->('owner'), $plain, calls(3));
};
cmp_ok(returned($on_standby->('standby')), '>', 100, 'standby: some return');

# What all that has left.
is($node->safe_psql('postgres', 'SELECT pg_postmaster_start_time()'), $started,
	'the server was not started anew');
foreach my $oid (@indexes)
{
	is(($node->psql('postgres', "SELECT rencoder_index_check('$oid', true)"))[2], '',
		"$name_of{$oid} is sound");
}
compare_with_seqscan($node, 'postgres', "SELECT v FROM fuzz.t WHERE v = $_ OR v < 1000000")
  foreach 7, 2654435761;
$session->quit;
foreach my $server ($node, $standby)
{
	my $log = slurp_file($server->logfile);

	unlike($log, qr/TRAP:|PANIC:|was terminated by signal/, $server->name . ': no crash');
	unlike($log, qr/ leak|still referenced|snapshot .* still active/, $server->name . ': no leak');
}
done_testing();
