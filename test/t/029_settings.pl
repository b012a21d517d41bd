# Settings in sessions that have not used the index yet, as docs/tuning.md describes:
# a database owner without further rights.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderTest;
use Test::More;

my $node = new_node('settings');
$node->safe_psql('postgres', q{
	CREATE ROLE owner LOGIN;
	CREATE DATABASE d OWNER owner});
$node->safe_psql('d', q{
	CREATE EXTENSION rencoder;
	GRANT ALL ON SCHEMA public TO owner;
	SET ROLE owner;
	CREATE TABLE t (v int8);
	INSERT INTO t SELECT generate_series(1, 1000);
	CREATE INDEX t_v ON t USING rencoder (v)});

# (output, error) of statements in a session of their own.
sub as_owner
{
	my ($sql) = @_;
	my ($ret, $out, $err) = $node->psql('d', $sql, extra_params => [ '-U', 'owner' ]);

	return ($out, $err);
}

sub refused
{
	my ($sql, $error, $name) = @_;
	my (undef, $err) = as_owner($sql);

	like($err, $error, "refused: $name");
	return;
}

sub gives
{
	my ($sql, $expected, $name) = @_;
	my ($out, $err) = as_owner($sql);

	# EXPLAIN from 18 on.
	$out =~ s/\n *Disabled: true//;
	is("$out$err", $expected, $name);
	return;
}

my $get = q{SELECT setting || ' ' || source FROM pg_settings WHERE name = 'rencoder.sample_rate'};

# What a session does not know before.
refused('SHOW rencoder.sample_rate',
	qr/unrecognized configuration parameter "rencoder.sample_rate"/, 'SHOW');
refused('ALTER DATABASE d SET rencoder.sample_rate = 0',
	qr/permission denied to set parameter "rencoder.sample_rate"/,
	'ALTER DATABASE');
refused('ALTER ROLE owner SET rencoder.sample_rate = 0',
	qr/permission denied to set parameter "rencoder.sample_rate"/,
	'ALTER ROLE');
refused(q{LOAD 'rencoder'}, qr/access to library "rencoder" is not allowed/, 'LOAD');
gives('SET rencoder.typo = 1; SHOW rencoder.typo', '1',
	'SET of a name that is wrong is not noticed');

# SET is remembered until the library is there.
gives("SET rencoder.sample_rate = 3; SELECT count(*) FROM t WHERE v = 5; $get",
	"1\n3 session", 'SET works before');
like((as_owner("SET rencoder.sample_rate = -7; "
  . "SELECT 1 FROM t LIMIT 0; SHOW rencoder.sample_rate"))[1],
	qr/WARNING:  -7 is outside the valid range/, 'and is looked at when the library comes');

# Also by the query that brings the library.
gives('SET rencoder.enable_scan = off; SET enable_seqscan = off; '
	  . 'EXPLAIN (COSTS OFF) SELECT v FROM t WHERE v = 5',
	"Seq Scan on t\n  Filter: (v = 5)", 'and is heeded by that query');

# A superuser may set them for a database or a role before; a wrong name is noticed late, by each
# session that uses the index.
sub by_superuser { return ($node->psql('d', $_[0]))[2]; }
is(by_superuser('ALTER DATABASE d SET rencoder.sample_rate = 6'), '',
	'a superuser: ALTER DATABASE before');
is(by_superuser('ALTER ROLE owner SET rencoder.enable_scan = off'), '', 'and ALTER ROLE');
gives("SELECT 1 FROM t LIMIT 0; $get; SHOW rencoder.enable_scan", "6 database\noff", 'both hold');
is(by_superuser('ALTER DATABASE d SET rencoder.typo = 1'), '', 'a wrong name is stored');
gives('SELECT 1', '1', 'and does not disturb those who do not use the index');
like((as_owner('SELECT 1 FROM t LIMIT 0'))[1],
	qr/WARNING:  invalid configuration parameter name "rencoder.typo", removing it/,
	'the others are warned');
like(by_superuser('SELECT 1 FROM t LIMIT 0; ALTER DATABASE d SET rencoder.typo = 1'),
	qr/ERROR:  invalid configuration parameter name "rencoder.typo"/, 'it is refused after use');
is(by_superuser('ALTER DATABASE d RESET ALL; ALTER ROLE owner RESET ALL'), '', 'all are reset');
gives("SELECT 1 FROM t LIMIT 0; $get", '10 default', 'and nothing is left');

# First way: use the index, whichever way.
for my $use ('SELECT 1 FROM t LIMIT 0', 'SELECT rencoder_candidates(NULL, 0, 0)',
	q{SELECT version FROM rencoder_metapage('t_v')})
{
	gives("$use \\g /dev/null\n SHOW rencoder.sample_rate", '10', "known after: $use");
	refused("$use \\g /dev/null\n SET rencoder.typo = 1",
		qr/invalid configuration parameter name "rencoder.typo"/,
		"a wrong name after: $use");
}
gives("SELECT 1 FROM t LIMIT 0; ALTER DATABASE d SET rencoder.sample_rate = 2; "
  . "ALTER ROLE owner SET rencoder.enable_scan = off",
	'', 'ALTER DATABASE and ALTER ROLE by their owner after use');
gives("SELECT 1 FROM t LIMIT 0; $get; SHOW rencoder.enable_scan", "2 database\noff",
	'hold in the next session');
gives('SELECT 1 FROM t LIMIT 0; ALTER DATABASE d RESET rencoder.sample_rate; '
  . 'ALTER ROLE owner RESET ALL', '', 'and are reset');
gives("SELECT 1 FROM t LIMIT 0; $get", '10 default', 'and are gone in the next session');

# Second way: the right to set a parameter.
$node->safe_psql('d', 'GRANT SET ON PARAMETER rencoder.sample_rate TO owner');
gives('ALTER DATABASE d SET rencoder.sample_rate = 4', '',
	'ALTER DATABASE with the right to set the parameter');
gives("SELECT 1 FROM t LIMIT 0; $get", '4 database', 'holds');
gives('ALTER DATABASE d RESET rencoder.sample_rate', '', 'and is reset');
$node->safe_psql('d', 'REVOKE SET ON PARAMETER rencoder.sample_rate FROM owner');

# Third way: the library is loaded when a session begins.
refused(q{ALTER DATABASE d SET session_preload_libraries = 'rencoder'},
	qr/permission denied to set parameter "session_preload_libraries"/, 'preloading by an owner');
refused(q{ALTER ROLE owner SET session_preload_libraries = 'rencoder'},
	qr/permission denied to set parameter "session_preload_libraries"/, 'preloading by the role');
for my $whom ('DATABASE d', 'ROLE owner')
{
	$node->safe_psql('postgres', "ALTER $whom SET session_preload_libraries = 'rencoder'");
	gives('SHOW rencoder.sample_rate', '10', "$whom: SHOW in a new session");
	refused('SET rencoder.typo = 1', qr/invalid configuration parameter name "rencoder.typo"/,
		"$whom: a wrong name");
	gives('ALTER DATABASE d SET rencoder.sample_rate = 5; '
	  . 'ALTER ROLE owner SET rencoder.enable_scan = off', '', "$whom: ALTER");
	gives("$get; SHOW rencoder.enable_scan", "5 database\noff", "$whom: holds");
	gives('ALTER DATABASE d RESET rencoder.sample_rate; '
	  . 'ALTER ROLE owner RESET rencoder.enable_scan', '', "$whom: reset");
	$node->safe_psql('postgres', "ALTER $whom RESET session_preload_libraries");
}

# local_preload_libraries is for $libdir/plugins only.
like((as_owner(q{ALTER ROLE owner SET local_preload_libraries = 'rencoder'}))[1], qr/^$/,
	'local_preload_libraries can be set');
my ($ret, $out, $err) = $node->psql('d', 'SELECT 1',
	extra_params => [ '-U', 'owner' ], on_error_die => 0);
isnt($ret, 0, 'but no session begins with it');
$node->safe_psql('postgres', 'ALTER ROLE owner RESET local_preload_libraries');
gives("SELECT 1 FROM t LIMIT 0; $get", '10 default', 'and then they do again');

$node->stop;
done_testing();
