# Sourced by accuracy.sh and defaults.sh: columns of a data directory as files of keys,
# one per line in the order of the table.

# A script that is asked for help does nothing else; the first argument is a directory or empty.
case ${1:-} in
	--help | -h)
		sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "${0##*/}"
		exit 0
		;;
	?*)
		if [ ! -d "$1" ]; then
			echo "${0##*/}: no such directory: $1" >&2
			exit 2
		fi
		;;
esac

# seconds_to_key: "2013-01-01 05:15:00" -> microseconds since 1970
seconds_to_key()
{
	awk -F'[-: ]' '{
		y = $1; m = $2
		if (m <= 2) { y--; m += 12 }
		days = 365 * y + int(y / 4) - int(y / 100) + int(y / 400) + int((153 * (m - 3) + 2) / 5) + $3 - 719469
		printf "%.0f\n", (days * 86400 + $4 * 3600 + $5 * 60 + $6) * 1000000
	}'
}

# field FILE NUMBER: a column of a csv file, without header
field()
{
	zstd -dcq "$1" | awk -F, -v n="$2" 'NR > 1 { print $n }'
}

# shuffle SEED: the lines in random order, the same for the same seed
shuffle()
{
	awk -v seed="$1" 'BEGIN { srand(seed) } { printf "%.9f %s\n", rand(), $0 }' | sort -n | cut -d' ' -f2
}

# make_columns DATA-DIRECTORY WORK-DIRECTORY SEED: sets $columns to NAME UNIT FILE ...
make_columns()
{
	local data=$1 work=$2 seed=$3

	# Made unordered where the file is ordered by it.
	field "$data/flights3m.csv.zst" 1 | awk 'NR % 10 == 0' | seconds_to_key | shuffle "$seed" > "$work/dep_time"
	field "$data/asn_ipv4.csv.zst" 1 | shuffle "$seed" > "$work/ip_start"
	field "$data/adsb.csv.zst" 1 | seconds_to_key > "$work/ts"
	field "$data/asn_ipv4.csv.zst" 3 > "$work/asn"
	field "$data/ipsum.csv.zst" 2 > "$work/ip_num"
	field "$data/cities500.csv.zst" 1 > "$work/geonameid"
	columns=(dep_time 1000000 "$work/dep_time" ip_start 1 "$work/ip_start"
		ts 1000000 "$work/ts" asn 1 "$work/asn" ip_num 1 "$work/ip_num"
		geonameid 1 "$work/geonameid")
}
