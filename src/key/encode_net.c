/*
 * encode_net.c
 *		Keys of macaddr, macaddr8 and inet (with cidr).
 *
 * encode.h says what a key function must do.
 */
#include "key/encode.h"
#include "key/intervals.h"

#include <sys/socket.h>

#include "utils/inet.h"

PG_FUNCTION_INFO_V1(rencoder_macaddr_key);
PG_FUNCTION_INFO_V1(rencoder_inet_key);
PG_FUNCTION_INFO_V1(rencoder_inet_bound);
PG_FUNCTION_INFO_V1(rencoder_inet_intervals);

/* Six bytes, at the upper end as in macaddr8's keys. */
Datum
rencoder_macaddr_key(PG_FUNCTION_ARGS)
{
	unsigned char bytes[sizeof(uint64)] = {0};

	memcpy(bytes, PG_GETARG_MACADDR_P(0), sizeof(macaddr));
	PG_RETURN_KEY(rencoder_load_big_endian(bytes));
}

RENCODER_KEY_FUNCTION(rencoder_macaddr8_key, rencoder_load_big_endian(&PG_GETARG_MACADDR8_P(0)->a));

/*
 * inet and cidr.
 *
 *		IPv4:	| 0 | network (32 bits) | masklen (6) | host, first 25 bits |
 *		IPv6:	| 1 | network, first 63 bits                                |
 *
 * "network" is the address with its host bits zero.  SQL compares the family,
 * then as many bits as the shorter mask has, then the masks' lengths, then the
 * whole addresses.  Let x < y of one family.
 *
 * - They differ in the common bits: those are in both networks, so
 *	 network(x) < network(y).
 * - They do not, and x has the shorter mask: network(x) is the common bits
 *	 followed by zeros, so network(x) <= network(y); if equal, masklen decides.
 * - Their masks are equally long: the networks are equal, and the host bits
 *	 decide, of which the same number is cut off.
 */
#define INET4_HOST_BITS		25
#define INET4_MASKLEN_SHIFT	INET4_HOST_BITS
#define INET4_NETWORK_SHIFT	(INET4_HOST_BITS + 6)
#define INET4_REST			((UINT64CONST(1) << INET4_NETWORK_SHIFT) - 1)
#define INET4_HOST			((UINT64CONST(1) << INET4_HOST_BITS) - 1)
#define INET6_FAMILY		(UINT64CONST(1) << 63)

/* Addresses as numbers: of IPv6 the first half. */
#define INET4_BITS			32
#define INET6_BITS			64

/* The last "n" bits of a number, none if n <= 0, all if n >= 64. */
static inline uint64
net_low_bits_mask(int n)
{
	return n <= 0 ? 0 : n >= 64 ? PG_UINT64_MAX : (UINT64CONST(1) << n) - 1;
}

static inline bool
is_inet4(const inet *addr)
{
	return ip_family(addr) == PGSQL_AF_INET;
}

static inline uint64
inet_address(const inet *addr)
{
	uint32		v4;

	if (!is_inet4(addr))
		return rencoder_load_big_endian(ip_addr(addr));
	memcpy(&v4, ip_addr(addr), sizeof(v4));
	return pg_ntoh32(v4);
}

/* The first or the last address that shares the first "masklen" bits. */
static inline uint64
inet_first(const inet *addr, int masklen)
{
	return inet_address(addr) &
		~net_low_bits_mask((is_inet4(addr) ? INET4_BITS : INET6_BITS) - masklen);
}

static inline uint64
inet_last(const inet *addr, int masklen)
{
	return inet_address(addr) |
		net_low_bits_mask((is_inet4(addr) ? INET4_BITS : INET6_BITS) - masklen);
}

static inline uint64
inet6_key(uint64 network)
{
	return INET6_FAMILY | network >> 1;
}

Datum
rencoder_inet_key(PG_FUNCTION_ARGS)
{
	inet	   *addr = PG_GETARG_INET_PP(0);
	int			masklen = ip_bits(addr);
	uint64		network = inet_first(addr, masklen);
	int			host_bits = INET4_BITS - masklen;
	uint64		host;

	if (!is_inet4(addr))
		PG_RETURN_KEY(inet6_key(network));
	host = inet_address(addr) - network;
	if (host_bits > INET4_HOST_BITS)
		host >>= host_bits - INET4_HOST_BITS;
	PG_RETURN_KEY(network << INET4_NETWORK_SHIFT |
				  (uint64) masklen << INET4_MASKLEN_SHIFT | host);
}

/*
 * rencoder_inet_bound(inet, internal) returns void
 *
 * Support function 2.  Values of one IPv4 key differ in the host bits that are cut off, if any.
 * IPv6 keys are of many networks and hosts.
 */
Datum
rencoder_inet_bound(PG_FUNCTION_ARGS)
{
	inet	   *addr = PG_GETARG_INET_PP(0);
	uint64		cut = net_low_bits_mask(INET4_BITS - ip_bits(addr) - INET4_HOST_BITS);

	if (is_inet4(addr))
		rencoder_bound_exclude_by_rest(ARGUMENT_BOUND, inet_address(addr) & cut, cut);
	PG_RETURN_VOID();
}

/*
 * Networks within "addr": their first bits are those of "addr", and the rest
 * of the network is between zeros and ones.
 */
static void
add_subnets(RencoderIntervals *list, const inet *addr)
{
	uint64		first = inet_first(addr, ip_bits(addr));
	uint64		last = inet_last(addr, ip_bits(addr));

	if (is_inet4(addr))
		rencoder_intervals_add(list, first << INET4_NETWORK_SHIFT,
							   last << INET4_NETWORK_SHIFT | INET4_REST);
	else
		rencoder_intervals_add(list, inet6_key(first), inet6_key(last));
}

/*
 * Networks that contain "addr": for every shorter mask, or one as long, its
 * network with any host.
 */
static void
add_supernets(RencoderIntervals *list, const inet *addr)
{
	for (int masklen = 0; masklen <= ip_bits(addr); masklen++)
	{
		uint64		network = inet_first(addr, masklen);

		if (is_inet4(addr))
		{
			uint64		lo = network << INET4_NETWORK_SHIFT |
				(uint64) masklen << INET4_MASKLEN_SHIFT;

			rencoder_intervals_add(list, lo, lo | INET4_HOST);
		}
		else
			rencoder_intervals_add(list, inet6_key(network), inet6_key(network));
	}
}

/*
 * rencoder_inet_intervals(inet, int2, internal) returns void
 *
 * Support function 3: the keys of all x for which "x operator addr" may hold.
 */
Datum
rencoder_inet_intervals(PG_FUNCTION_ARGS)
{
	inet	   *addr = PG_GETARG_INET_PP(0);
	RencoderIntervals *list = ((RencoderOperand *) PG_GETARG_POINTER(2))->intervals;

	switch (PG_GETARG_INT16(1))
	{
		case RENCODER_STRATEGY_SUB:
		case RENCODER_STRATEGY_SUB_EQUAL:
			add_subnets(list, addr);
			break;
		case RENCODER_STRATEGY_SUPER:
		case RENCODER_STRATEGY_SUPER_EQUAL:
			add_supernets(list, addr);
			break;
		case RENCODER_STRATEGY_OVERLAP:
			add_subnets(list, addr);
			add_supernets(list, addr);
			break;
		default:
			elog(ERROR, "unrecognized strategy number: %d", PG_GETARG_INT16(1));
	}
	PG_RETURN_VOID();
}
