# RencoderRunsInUse.pm
#		For tests of runs: a table whose rows change and come while an index of runs is
#		maintained, crashes in the middle of it, and looks for rows that stay.
package RencoderRunsInUse;

use strict;
use warnings;

use Exporter 'import';
use IPC::Run;
use PostgreSQL::Test::Utils;
use RencoderTest;
use Test::More;
use Time::HiRes qw(usleep);

our @EXPORT = qw(make_table verify crash_at_work crash_when look_at_work);

# Half of each page is free.  Rows up to KEPT keep their v for ever; of the others change()
# updates one of PART.
my $TABLE = q{
	CREATE TABLE go (x int);
	CREATE SEQUENCE ids START 3001;
	CREATE TABLE t (id int, v int8, s text COLLATE "C", few int, filler text)
		WITH (fillfactor = 50);
	ALTER TABLE t ALTER filler SET STORAGE plain;
	CREATE FUNCTION fill(first int, last int) RETURNS void LANGUAGE sql AS $$
		INSERT INTO t SELECT i, hashint8extended(i, 1) >> 20,
			'https://example.org/' || md5((i / 3)::text),
			nullif(abs(hashint4(i)) % 30, 7), repeat('x', FILLER)
		FROM generate_series(first, last) i
	$$;
	SELECT fill(1, ROWS);
	CREATE FUNCTION change(k int) RETURNS void LANGUAGE sql AS $$
		UPDATE t SET v = hashint8extended(id, k) >> 20,
			few = CASE WHEN id % 7 = 0 THEN NULL ELSE (few + 1) % 30 END,
			s = CASE WHEN id % 5 = 0 THEN 'https://example.org/' || md5(s || k) ELSE s END
		WHERE id > KEPT AND id % PART = k % PART
	$$;
	CREATE PROCEDURE write_some(grow bool) LANGUAGE plpgsql AS $$
	BEGIN
		FOR k IN 1 .. 1000000 LOOP
			PERFORM change(k);
			IF grow THEN
				PERFORM fill(i, i + 24) FROM (SELECT nextval('ids')::int * 25 AS i) q
				WHERE i < 400000;
			END IF;
			COMMIT;
			PERFORM pg_sleep(0.02);
		END LOOP;
	END $$;
	-- A row that has been there from the beginning is always found.
	CREATE FUNCTION look() RETURNS int LANGUAGE plpgsql
	SET enable_seqscan = off AS $$
	DECLARE
		row int;
		found int;
		count int := 0;
	BEGIN
		WHILE (SELECT count(*) FROM go) > 0 LOOP
			row := 1 + (random() * (KEPT - 1))::int;
			SELECT count(*) INTO found FROM t WHERE v = hashint8extended(row, 1) >> 20 AND id = row;
			IF found <> 1 THEN
				RAISE EXCEPTION 'row % was found % times', row, found;
			END IF;
			count := count + 1;
			EXIT WHEN count = 60;
		END LOOP;
		RETURN count;
	END $$;
	CREATE INDEX t_idx ON t USING rencoder (v, s, few)
		WITH (storage = STORED, autosummarize = off, pages_per_range = PAGES)};

my %options;

# Makes table and index in database postgres.  Options: rows, kept, part; filler, bytes of a row;
# pages, of a range; grow, do writers insert, too; maintenance, what is done again and again;
# stored, how, if not in runs.
sub make_table
{
	my ($node, %given) = @_;
	my $sql = $TABLE;

	%options = (stored => 'run', %given);
	$sql =~ s{\b([A-Z]+)\b}{$options{lc $1} // $1}ge;
	$node->safe_psql('postgres', $sql);
	return;
}

# The index is sound, has all rows, and finds them.
sub verify
{
	my ($node, $name) = @_;
	my @queries;

	foreach my $i (1 .. 8)
	{
		my $id = rnd_between(1, $options{rows});
		my $value = "(SELECT min(v) FROM t WHERE id = $id)";
		my $string = "(SELECT min(s) FROM t WHERE id = $id)";

		push @queries, "SELECT id FROM t WHERE v = $value",
		  "SELECT id FROM t WHERE v BETWEEN $value AND $value + " . 10**rnd(13),
		  "SELECT id FROM t WHERE s = $string AND few = " . rnd(30),
		  "SELECT id FROM t WHERE s BETWEEN $string AND $string || '~'",
		  "SELECT id FROM t WHERE few IS NULL AND v < " . -10**(10 + rnd(3));
	}
	my ($ret, $out, $err) =
	  $node->psql('postgres', "SELECT rencoder_index_check('t_idx', true)");

	is($err, '', "$name: index is sound and covers all rows");
	compare_many_with_seqscan($node, 'postgres', \@queries, $name);
	return;
}

# Two sessions: one that writes, one that maintains.
sub start_work
{
	my ($node) = @_;
	my ($in, $out, $err) = ('', '', '');
	my @commands = map { ('-c', $_) } @{ $options{maintenance} };

	return {
		writer => start_sql($node, 'CALL write_some(' . ($options{grow} ? 'true' : 'false') . ')'),
		maintenance => {
			err    => \$err,
			handle => IPC::Run::start(
				[ 'psql', '-XqAt', '-d', $node->connstr('postgres'), (@commands) x 1000 ],
				'<', \$in, '>', \$out, '2>', \$err)
		}
	};
}

sub finish_work
{
	my ($work, $name) = @_;

	foreach my $who (qw(writer maintenance))
	{
		$work->{$who}{handle}->finish;
		unlike(${ $work->{$who}{err} }, qr/^(?!.*(terminat|server closed|connection)).*ERROR/m,
			"$name: $who has had no error before");
	}
	return;
}

# Both work for some microseconds; then the server crashes and comes again.
sub crash_at_work
{
	my ($node, $microseconds, $name, $checkpoint) = @_;
	my $work = start_work($node);

	usleep($microseconds);
	$node->safe_psql('postgres', 'CHECKPOINT') if $checkpoint;
	$node->stop('immediate');
	finish_work($work, $name);
	$node->start;
	return;
}

# Both work until a condition is seen to be true.  The session that looks for it brings the WAL to
# disk and dies, and with it the server, which comes again.
sub crash_when
{
	my ($node, $condition, $name) = @_;
	my $work = start_work($node);
	my $seconds = $PostgreSQL::Test::Utils::timeout_default;

	my ($ret, $out, $err) = $node->psql('postgres', qq{SET statement_timeout = '${seconds}s';
		DO \$\$ BEGIN
			WHILE NOT ($condition) LOOP END LOOP;
			PERFORM pg_switch_wal();
			EXECUTE format('COPY (SELECT) TO PROGRAM %L', 'kill -9 ' || pg_backend_pid());
		END \$\$});
	die "in vain: $condition: $err" if $err =~ /ERROR/;
	finish_work($work, $name);
	wait_for_server($node);
	return;
}

# Both work on the primary, and rows that stay are looked for on both servers, so many times and
# until a query of the primary says that there was work enough; at the end these are verified.
sub look_at_work
{
	my ($primary, $standby, $times, $enough) = @_;

	$primary->safe_psql('postgres', 'INSERT INTO go VALUES (1)');
	wait_for_standby($primary, $standby);
	my $work = start_work($primary);
	foreach my $i (1 .. $times)
	{
		foreach my $node ($primary, $standby)
		{
			my ($ret, $out, $err) = $node->psql('postgres', 'SELECT look()');

			next if $err =~ /conflict with recovery/;
			is("$out$err", 60, $node->name . ": each row is found while the primary works, $i");
		}
	}
	$primary->poll_query_until('postgres', $enough) or die "in vain: $enough" if $enough;
	$primary->safe_psql('postgres', q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()});
	finish_work($work, 'primary');
	wait_for_standby($primary, $standby);
	verify($_, $_->name . ' at the end') foreach $primary, $standby;
	return;
}

1;
