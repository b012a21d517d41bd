# RencoderDamage.pm
#		Damage to the file of an index, while its server is down.
#
# "$data" is a reference to the bytes of the file.  A damage is a sub that is called
# with it and returns the block that an error must name, undef if any.
package RencoderDamage;

use strict;
use warnings;

use Exporter 'import';
use PostgreSQL::Test::Utils;
use RencoderTest;

our @EXPORT = qw(
  $BLCKSZ $PAYLOAD
  pages_of_type first_page peek poke poke_first zero_block zero_page copy_page
  index_path damage_file $ANSWER
);

our $BLCKSZ = 8192;

# Where the content of a page begins.
our $PAYLOAD = 24;

# What a query gives by an index, which may be damaged, and nothing but that: 'answered' is what it
# gives without, 'refused' an error that names the damage, all else 'wrong'.
our $ANSWER = q{
	CREATE FUNCTION answer(ind text, query text) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE
		truth bigint;
		answer bigint;
	BEGIN
		PERFORM set_config('enable_seqscan', 'off', true),
			set_config('rencoder.enable_scan', 'off', true);
		EXECUTE query INTO truth;
		PERFORM set_config('rencoder.enable_scan', 'on', true);
		BEGIN
			EXECUTE query INTO answer;
			RETURN CASE WHEN answer = truth THEN 'answered' ELSE 'wrong' END;
		EXCEPTION WHEN index_corrupted THEN
			RETURN CASE WHEN SQLERRM LIKE format('index "%s" is corrupted at block %%', ind)
				THEN 'refused' ELSE 'wrong' END;
		END;
	END $$;
};

# Page ids, in the last two bytes of a page (src/store/page.h).
my %PAGE_ID = (
	meta      => 0xFFB0,
	matrix    => 0xFFB1,
	windows   => 0xFFB2,
	free      => 0xFFB3,
	coders    => 0xFFB4,
	coder     => 0xFFB5,
	run_info  => 0xFFB7,
	run       => 0xFFB8,
	pending   => 0xFFB9);

sub blocks_of_type
{
	my ($data, $type) = @_;

	return grep {
		unpack('v', substr($$data, ($_ + 1) * $BLCKSZ - 2, 2)) == $PAGE_ID{$type}
	} 0 .. length($$data) / $BLCKSZ - 1;
}

# Blocks by the type of their pages, without free pages, which are still what they were.
sub pages_of_type
{
	my ($data, $type) = @_;
	my %free;

	foreach my $list (blocks_of_type($data, 'free'))
	{
		my (undef, $n) = unpack('VV', peek($data, $list, 0, 8));

		foreach my $i (1 .. $n)
		{
			my ($start, $npages) = unpack('VV', peek($data, $list, 8 * $i, 8));

			@free{ $start .. $start + $npages - 1 } = ();
		}
	}
	return grep { !exists $free{$_} } blocks_of_type($data, $type);
}

sub first_page
{
	my ($data, $type) = @_;
	my ($block) = pages_of_type($data, $type);

	die "no $type page" if !defined $block;
	return $block;
}

# Bytes of a page's payload: peek($data, BLOCK, OFFSET, LENGTH)
sub peek
{
	my ($data, $block, $offset, $length) = @_;

	return substr($$data, $block * $BLCKSZ + $PAYLOAD + $offset, $length);
}

# Overwrites bytes of a page's payload; returns the block.
sub poke
{
	my ($data, $block, $offset, $bytes) = @_;

	substr($$data, $block * $BLCKSZ + $PAYLOAD + $offset, length $bytes) = $bytes;
	return $block;
}

# Damage: the same to the first page of a type.
sub poke_first
{
	my ($type, $offset, $bytes) = @_;

	return sub {
		my ($data) = @_;

		return poke($data, first_page($data, $type), $offset, $bytes);
	};
}

# Empties a block; returns it.
sub zero_block
{
	my ($data, $block) = @_;

	substr($$data, $block * $BLCKSZ, $BLCKSZ) = "\0" x $BLCKSZ;
	return $block;
}

# Damage: one page of a type is empty.
sub zero_page
{
	my ($type) = @_;

	return sub {
		my ($data) = @_;

		return zero_block($data, rnd_pick(pages_of_type($data, $type)));
	};
}

# Damage: one page of a type stands in the place of another.
sub copy_page
{
	my ($from, $to) = @_;

	return sub {
		my ($data) = @_;
		my $target = rnd_pick(pages_of_type($data, $to));
		my $source = rnd_pick(grep { $_ != $target } pages_of_type($data, $from));

		substr($$data, $target * $BLCKSZ, $BLCKSZ) =
		  substr($$data, $source * $BLCKSZ, $BLCKSZ);
		return $target;
	};
}

# The file of an index: index_path(NODE, INDEX)
sub index_path
{
	my ($node, $index) = @_;

	return $node->data_dir . '/'
	  . $node->safe_psql('postgres', "SELECT pg_relation_filepath('$index')");
}

# Damages a file, while the server is down; returns what the damage does.
sub damage_file
{
	my ($path, $damage) = @_;
	my $data   = slurp_file($path);
	my $result = $damage->(\$data);

	open my $file, '>:raw', $path or die "$path: $!";
	print $file $data;
	close $file;
	return $result;
}

1;
