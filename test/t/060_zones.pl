# Dates, timestamps and timestamps with time zone compared with each other, at random places about
# changes of a zone's offset from UTC: by the index as by a sequential scan.
#
# ../../sql/bounds.sql has some changes that are known to be odd, and each edge value.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RencoderTest;
use Test::More;

# What is odd: half-hours and quarters, offsets with seconds, summer times of half an hour or of two
# hours, days that were left out or came twice, and what a POSIX string can say.
my @zones = (
	'Europe/Berlin', 'Europe/Dublin', 'Europe/Amsterdam', 'Africa/Monrovia',
	'Africa/Casablanca', 'America/New_York', 'America/St_Johns', 'America/Caracas',
	'America/Sitka', 'Antarctica/Troll', 'Asia/Kathmandu', 'Asia/Kolkata', 'Asia/Manila',
	'Asia/Pyongyang', 'Asia/Gaza', 'Atlantic/Azores', 'Australia/Lord_Howe', 'Pacific/Apia',
	'Pacific/Kwajalein', 'Pacific/Kiritimati', '<+1245>-12:45', 'AAA+167BBB-167,M1.1.0,M2.1.0',
	'AAA-3:30BBB,J1/0,J180/24', 'AAA100BBB,M10.1.0/-100,M3.1.0/100');
my @types = ('date', 'timestamp', 'timestamptz');
my $ZONES = 12;
my $CHANGES = 4;
my $QUERIES = 120;

my $node = new_node('zones');

# A change of the session's zone: the first in the four years after a moment, or that moment.
$node->safe_psql('postgres', q{
	CREATE FUNCTION shift(m timestamptz) RETURNS interval LANGUAGE sql AS
		$$SELECT m::timestamp - (m AT TIME ZONE 'UTC')$$;
	CREATE FUNCTION change_after(m timestamptz) RETURNS timestamptz LANGUAGE plpgsql AS $$
	DECLARE
		lo timestamptz := m;
		hi timestamptz;
		middle timestamptz;
	BEGIN
		FOR i IN 1 .. 200 LOOP
			hi := lo + interval '168 hours';
			EXIT WHEN shift(hi) <> shift(lo);
			lo := hi;
			hi := NULL;
		END LOOP;
		IF hi IS NULL THEN
			RETURN m;
		END IF;
		WHILE hi - lo > interval '1 second' LOOP
			middle := date_trunc('second', lo + (hi - lo) / 2);
			EXIT WHEN middle = lo;
			IF shift(middle) = shift(lo) THEN
				lo := middle;
			ELSE
				hi := middle;
			END IF;
		END LOOP;
		RETURN hi;
	END $$;
	CREATE TABLE t (id int GENERATED ALWAYS AS IDENTITY, c_date date, c_timestamp timestamp,
		c_timestamptz timestamptz, filler text) WITH (autovacuum_enabled = off);
	ALTER TABLE t ALTER filler SET STORAGE plain});
foreach my $type (@types)
{
	$node->safe_psql('postgres', "CREATE INDEX t_$type ON t USING rencoder (c_$type) "
		  . 'WITH (pages_per_range = 1, autosummarize = off)');
}

# Some time, as an expression of SQL: near one of the changes.
my @distances = (
	0, 0, '1 microsecond', '1 second', '30 minutes', '3599 seconds', '1 hour', '2 hours',
	'1 day', '25 hours');
my @changes;

sub moment
{
	my $change = rnd_pick(@changes);
	my $distance = rnd_pick(@distances, rnd(200_000) . ' seconds', rnd(2000) . ' hours');

	return "timestamptz '$change+00' " . rnd_pick('+', '-') . " interval '$distance'";
}

# The rows of one zone.  Literals are made by the session's zone, as a user's are.
sub fill
{
	my @first = map { rnd_between(1840, 2060) . sprintf('-%02d-01 00:00+00', 1 + rnd(12)) }
	  1 .. $CHANGES;
	my $rows = '';

	@changes = map {
		$node->safe_psql('postgres', "SELECT change_after('$_') AT TIME ZONE 'UTC'")
	} @first;
	$rows .= "('infinity', 'infinity', 'infinity'), ('-infinity', '-infinity', '-infinity')";
	foreach (1 .. 250)
	{
		my ($d, $ts, $tz) = (moment(), moment(), moment());

		$rows .= ", (($d)::date, ($ts)::timestamp, $tz)";
	}
	$node->safe_psql('postgres', 'TRUNCATE t; INSERT INTO t (c_date, c_timestamp, c_timestamptz, '
		  . "filler) SELECT a, b, c, repeat('x', 900) FROM (VALUES $rows) v (a, b, c); VACUUM t");
	return;
}

sub condition
{
	my $column = rnd_pick(@types);
	my $type = rnd_pick(grep { $_ ne $column } @types);
	my $value = '(' . moment() . ")::$type";

	return "c_$column " . rnd_pick('<', '<=', '=', '>=', '>') . " $value" if rnd(4) > 0;
	return "c_$column = ANY (ARRAY[$value, (" . moment() . ")::$type])" if rnd(2) > 0;
	return "c_$column >= $value AND c_$column < $value + interval '" . rnd(50) . " hours'";
}

my @left = @zones;
foreach my $n (1 .. $ZONES)
{
	my $zone = splice @left, rnd(scalar @left), 1;
	local $ENV{PGTZ} = $zone;

	fill();
	compare_many_with_seqscan($node, 'postgres',
		[ map { 'SELECT id FROM t WHERE ' . condition() } 1 .. $QUERIES ], $zone);
	ok(uses_index($node, 'postgres', 'SELECT id FROM t WHERE c_date < ' . moment(), 't_date'),
		"$zone: the index is used");
}

# Plans that are kept while the zone changes: those of functions.
my @asked = map { 'SELECT count(*) FROM t WHERE ' . condition() } 1 .. 20;
$node->safe_psql('postgres', "CREATE FUNCTION asked_$_(zone text) RETURNS bigint LANGUAGE plpgsql "
	  . 'AS $$ BEGIN PERFORM set_config(\'timezone\', zone, true); RETURN ('
	  . "$asked[$_]); END \$\$")
  for 0 .. $#asked;
compare_many_with_seqscan($node, 'postgres',
	[ map { my $zone = $_; map { "SELECT asked_$_('$zone')" } 0 .. $#asked } @zones ],
	'one plan in many zones');
$node->stop;
done_testing();
