-- Random and edge values of all types with an operator class, for tests.
-- setseed() makes them repeatable.

-- 64 random bits; an integer of at most 64 - shift bits, all magnitudes alike;
-- an unsigned one.
CREATE FUNCTION value_bits() RETURNS int8 LANGUAGE sql VOLATILE AS
	'SELECT floor(random() * 4294967296)::int8 << 32 | floor(random() * 4294967296)::int8';
CREATE FUNCTION value_int(shift int) RETURNS int8 LANGUAGE sql VOLATILE AS
	'SELECT value_bits() >> (shift + floor(random() * (64 - shift))::int)';
CREATE FUNCTION value_unsigned(bits int) RETURNS numeric LANGUAGE sql VOLATILE AS $$
	SELECT mod(value_int(0)::numeric + 18446744073709551616, power(2::numeric, bits))::numeric(20)
$$;
CREATE FUNCTION value_hex(digits int) RETURNS text LANGUAGE sql VOLATILE AS $$
	SELECT left(lpad(to_hex(value_int(0)), 16, '0') || lpad(to_hex(value_bits()), 16, '0'), digits)
$$;

-- A SQL expression for one random value.
CREATE FUNCTION value_random(type text) RETURNS text LANGUAGE sql AS $fn$
	SELECT CASE type
	WHEN 'int2' THEN 'value_int(48)::int2'
	WHEN 'int4' THEN 'value_int(32)::int4'
	WHEN 'int8' THEN 'value_int(0)'
	WHEN 'oid' THEN 'value_unsigned(32)::text::oid'
	WHEN 'date' THEN $$CASE WHEN random() < 0.5 THEN date '2000-01-01' + value_int(43)::int
		ELSE date '2000-01-01' + (value_unsigned(31) * 0.998)::int END$$
	WHEN 'timestamp' THEN $$timestamp '2000-01-01' + value_int(7) * interval '1 microsecond'$$
	WHEN 'timestamptz' THEN
		$$timestamptz '2000-01-01 00:00+00' + value_int(7) * interval '1 microsecond'$$
	WHEN 'time' THEN $$time '00:00' + value_int(26) * interval '1 microsecond'$$
	WHEN 'timetz' THEN $$((time '00:00' + value_int(26) * interval '1 microsecond')
		|| (ARRAY['+00', '+00', '+05:30', '-08', '+15:59:59', '-15:59:59'])
			[1 + floor(random() * 6)::int])::timetz$$
	WHEN 'interval' THEN $$make_interval(months => value_int(33)::int, days => value_int(33)::int)
		+ value_int(20) * interval '1 microsecond'$$
	WHEN '"char"' THEN 'chr(1 + floor(random() * 127)::int)::"char"'
	WHEN 'tid' THEN $$format('(%s,%s)', value_unsigned(32), value_unsigned(16))::tid$$
	WHEN 'bit(70)' THEN '(value_int(0)::bit(64) || value_bits()::bit(6))::bit(70)'
	WHEN 'varbit' THEN $$substring((value_int(0)::bit(64) || value_int(0)::bit(64))::varbit
		FROM 1 + floor(random() * 64)::int FOR floor(random() * 90)::int)$$
	WHEN 'money' THEN '(value_int(0)::numeric / 100)::money'
	WHEN 'pg_lsn' THEN $$pg_lsn '0/0' + value_unsigned(64)$$
	WHEN 'xid8' THEN 'value_unsigned(64)::text::xid8'
	WHEN 'float4' THEN $$CASE floor(random() * 3)
		WHEN 0 THEN ((random() - 0.5) * power(10::float8, floor(random() * 70) - 35))::float4
		WHEN 1 THEN (1 + floor(random() * 1000) * 1.1920929e-07)::float4
		ELSE value_int(0)::float4 END$$
	WHEN 'float8' THEN $$CASE floor(random() * 4)
		WHEN 0 THEN (random() - 0.5) * power(10::float8, floor(random() * 600) - 300)
		WHEN 1 THEN 1 + floor(random() * 1000) * 2.220446049250313e-16
		WHEN 2 THEN ((random() - 0.5) * power(10::float8, floor(random() * 70) - 35))::float4
		ELSE value_int(0)::float8 END$$
	WHEN 'numeric' THEN $$CASE floor(random() * 6)
		WHEN 0 THEN value_int(0)::numeric
		WHEN 1 THEN (value_int(0) || 'e' || floor(random() * 700) - 350)::numeric
		WHEN 2 THEN 1 + value_int(0)::numeric / 1e20
		WHEN 3 THEN value_int(40)::numeric / 100
		WHEN 4 THEN sign(random() - 0.5)::numeric * (floor(random() * 3) + 9999)::numeric
			* (floor(random() * 3) + 9999)::numeric * (floor(random() * 3) + 9999)::numeric
			* (floor(random() * 3) + 9999)::numeric * (floor(random() * 3) + 9999)::numeric
		ELSE (value_int(0) || '.' || repeat('0', floor(random() * 20)::int)
			|| abs(value_int(2)))::numeric END$$
	WHEN 'uuid' THEN 'value_hex(32)::uuid'
	WHEN 'macaddr' THEN 'value_hex(12)::macaddr'
	WHEN 'macaddr8' THEN 'value_hex(16)::macaddr8'
	WHEN 'inet' THEN $$CASE floor(random() * 4)
		WHEN 0 THEN set_masklen(inet '0.0.0.0' + value_unsigned(32)::int8,
			floor(random() * 33)::int)
		WHEN 1 THEN inet '0.0.0.0' + value_unsigned(32)::int8
		WHEN 2 THEN set_masklen(inet '10.0.0.0' + floor(random() * 2048)::int8,
			20 + floor(random() * 13)::int)
		ELSE set_masklen(regexp_replace(value_hex(32), '(....)(?!$)', '\1:', 'g')::inet,
			floor(random() * 129)::int)
		END$$
	WHEN 'text' THEN $$CASE floor(random() * 7)
		WHEN 0 THEN value_hex(floor(random() * 33)::int)
		WHEN 1 THEN 'https://www.example.com/' || value_hex(1 + floor(random() * 12)::int)
		WHEN 2 THEN repeat(chr(97 + floor(random() * 3)::int), floor(random() * 340)::int)
			|| value_hex(floor(random() * 4)::int)
		WHEN 3 THEN chr(33 + floor(random() * 95)::int) || chr(160 + floor(random() * 55000)::int)
			|| chr(65536 + floor(random() * 100000)::int)
		WHEN 4 THEN translate(value_hex(16), '0123456789abcdef', 'aaaabbbbccccdddd')
		WHEN 5 THEN value_hex(2) || chr(1 + floor(random() * 50)::int)
			|| value_hex(floor(random() * 3)::int)
		ELSE translate(value_hex(1 + floor(random() * 5)::int), '0123456789abcdef',
			E'%_\\ ~aeiou\t\u00e9\u00fc\u4e2dxz') END$$
	WHEN 'varchar' THEN value_random('text')
	WHEN 'bpchar' THEN format($$(%s) || repeat(' ', floor(random() * 4)::int)$$,
		value_random('text'))
	WHEN 'name' THEN format($$left(%s, 15)$$, value_random('text'))
	WHEN 'bytea' THEN $$CASE floor(random() * 4)
		WHEN 0 THEN decode(value_hex(2 * floor(random() * 13)::int), 'hex')
		WHEN 1 THEN decode(repeat(value_hex(2), floor(random() * 320)::int) || value_hex(4), 'hex')
		WHEN 2 THEN decode(repeat('00', floor(random() * 5)::int) || value_hex(2)
			|| repeat('ff', floor(random() * 5)::int), 'hex')
		ELSE decode(translate(value_hex(2 * floor(random() * 8)::int), '23456789bcde',
			'0f0f0f0f0f0f'), 'hex') END$$
	END
$fn$;

-- Values where an encoder may go wrong, as text.
CREATE FUNCTION value_edges(type text) RETURNS text[] LANGUAGE sql AS $fn$
	SELECT CASE type
	WHEN 'int2' THEN '{-32768,-32767,-256,-255,-1,0,1,255,256,32767}'
	WHEN 'int4' THEN '{-2147483648,-2147483647,-65536,-1,0,1,65535,65536,2147483647}'
	WHEN 'int8' THEN '{-9223372036854775808,-9223372036854775807,-4294967296,-1,0,1,4294967295,'
		'9223372036854775807}'
	WHEN 'oid' THEN '{0,1,65535,2147483647,2147483648,4294967294,4294967295}'
	WHEN 'date' THEN '{-infinity,infinity,4713-01-01 BC,1999-12-31,2000-01-01,2000-01-02,'
		'294276-12-31,294277-01-01,294277-01-02,5874897-12-31}'
	WHEN 'timestamp' THEN '{-infinity,infinity,4713-01-01 00:00:00 BC,1999-12-31 23:59:59.999999,'
		'2000-01-01,2000-01-01 00:00:00.000001,294276-12-31 23:59:59.999999}'
	WHEN 'timestamptz' THEN '{-infinity,infinity,4713-01-01 00:00:00+00 BC,'
		'1999-12-31 23:59:59.999999+00,2000-01-01 00:00+00,2000-01-01 00:00:00.000001+00,'
		'294276-12-31 23:59:59.999999+00}'
	WHEN 'time' THEN '{00:00,00:00:00.000001,11:59:59.999999,12:00,23:59:59.999999,24:00}'
	WHEN 'timetz' THEN '{00:00+15:59:59,00:00-15:59:59,24:00+15:59:59,24:00-15:59:59,12:00+00,'
		'11:00-01,13:00+01,12:00:00.000001+00,11:59:59.999999+00,00:00+00,24:00+00}'
	WHEN 'interval' THEN '{0,1 mon,30 days,29 days 24:00:00,720:00:00,-1 mon,-30 days,'
		'00:00:00.000001,-00:00:00.000001,53375995 days,53375994 days 23:59:59.999999,'
		'53375995 days 00:00:00.002048,-53375995 days,-53375995 days -00:00:00.000001,'
		'2147483647 mons 2147483647 days 2562047788:00:54.775806,'
		'-2147483648 mons -2147483648 days -2562047788:00:54.775807'
		|| CASE WHEN current_setting('server_version_num')::int >= 170000
			THEN ',-infinity,infinity}'
		ELSE ',2147483647 mons 2147483647 days 2562047788:00:54.775807}' END
	WHEN '"char"' THEN ARRAY['', ' ', '0', '9', 'A', 'Z', 'a', 'z', '~', chr(1), chr(127)]::text
	WHEN 'tid' THEN '{"(0,0)","(0,1)","(0,65535)","(1,0)","(1,1)","(65535,1)","(65536,0)",'
		'"(2147483647,65535)","(2147483648,0)","(4294967295,0)","(4294967295,65535)"}'
	WHEN 'bit(70)' THEN ARRAY[repeat('0', 70), repeat('0', 69) || '1',
		repeat('0', 58) || repeat('1', 12), repeat('0', 57) || '1' || repeat('0', 12),
		repeat('0', 57) || repeat('1', 13),
		'0' || repeat('1', 69), '1' || repeat('0', 69), repeat('1', 57) || repeat('0', 13),
		repeat('1', 58) || repeat('0', 12), repeat('1', 69) || '0', repeat('1', 70)]::text
	WHEN 'varbit' THEN (SELECT (array_agg(repeat('0', n) || last ORDER BY n, last)
			|| (SELECT array_agg(repeat('1', n) || last ORDER BY n, last)
				FROM unnest('{7,8,55,56,57,58,59,60,63,64}'::int[]) n,
					unnest('{"",0}'::text[]) last))::text
		FROM unnest('{0,1,6,7,8,9,55,56,57,58,59,60,63,64,65,200}'::int[]) n,
			unnest('{"",1,11}'::text[]) last)
	WHEN 'money' THEN '{-92233720368547758.08,-92233720368547758.07,-1,-0.01,0,0.01,1,'
		'92233720368547758.07}'
	WHEN 'pg_lsn' THEN '{0/0,0/1,0/FFFFFFFF,1/0,7FFFFFFF/FFFFFFFF,80000000/0,FFFFFFFF/FFFFFFFF}'
	WHEN 'xid8' THEN '{0,1,4294967295,4294967296,9223372036854775807,9223372036854775808,'
		'18446744073709551615}'
	WHEN 'float4' THEN '{-Infinity,-3.4028235e+38,-1.17549435e-38,-1e-45,-0,0,1e-45,1.17549435e-38,'
		'0.1,1,16777216,16777218,3.4028235e+38,Infinity,NaN}'
	WHEN 'float8' THEN '{-Infinity,-1.7976931348623157e+308,-3.4028235677973366e+38,'
		'-2.2250738585072014e-308,-5e-324,-0,0,5e-324,2.2250738585072014e-308,0.1,'
		'0.10000000149011612,1,9007199254740992,9007199254740994,1.7976931348623157e+308,'
				'Infinity,NaN}'
	WHEN 'numeric' THEN ('{-Infinity,Infinity,NaN,0,0.00,-0,1,1.0,1.000000,-1,9,10,99,100,999,1000,'
		'9999,10000,10001,99999999,100000000'
		|| ',9999999999999999,10000000000000000,10000000000000001,99999999999999999,'
			'99999999999999990,99999999999999999999,100000000000000000000'
		|| ',-9999999999999999,-10000000000000000,-99999999999999999,-99999999999999999999,'
			'-100000000000000000000'
		|| ',0.1,0.10,0.01,0.001,0.0001,0.00001,0.99999999999999999999,1.00000000000000000001,'
			'-0.99999999999999999999'
		|| ',1e308,1.8e308,1e309,-1e309,1e-323,1e-324,1e-400,-1e-400,1e-16000,-1e-16000,1e255,'
			'9.9999999999999999e255,1e256,-1e256,1e-255,1e-256,9.99e-257,1e-257'
		|| ',1e131071,-1e131071,9e131071}')
	WHEN 'uuid' THEN '{00000000-0000-0000-0000-000000000000,00000000-0000-0000-0000-000000000001,'
		'00000000-0000-0000-ffff-ffffffffffff,00000000-0000-0001-0000-000000000000,'
		'7fffffff-ffff-ffff-ffff-ffffffffffff,80000000-0000-0000-0000-000000000000,'
				'ffffffff-ffff-ffff-ffff-ffffffffffff}'
	WHEN 'macaddr' THEN '{00:00:00:00:00:00,00:00:00:00:00:01,00:00:01:00:00:00,00:00:00:ff:ff:ff,'
		'7f:ff:ff:ff:ff:ff,80:00:00:00:00:00,ff:ff:ff:ff:ff:ff}'
	WHEN 'macaddr8' THEN '{00:00:00:00:00:00:00:00,00:00:00:00:00:00:00:01,00:00:00:00:ff:ff:ff:ff,'
		'00:00:00:01:00:00:00:00,80:00:00:00:00:00:00:00,ff:ff:ff:ff:ff:ff:ff:ff}'
	WHEN 'inet' THEN ('{0.0.0.0/0,0.0.0.0,0.0.0.1/0,128.0.0.0/0,255.255.255.255/0,0.0.0.0/1,'
		'128.0.0.0/1,10.0.0.0/8,10.0.0.1/8,10.255.255.255/8,10.0.0.0/9,10.0.0.0/31,10.0.0.1/31,'
		'10.0.0.0,10.0.0.1'
		|| ',10.0.0.255/24,10.0.1.0/24,10.0.1.0/23,10.0.0.0/7,11.255.255.255/7,1.2.3.4/6,'
			'3.255.255.255/6,127.255.255.255,128.0.0.0,255.255.255.255,255.255.255.255/8'
		|| ',::/0,::,::1,::/64,::1/64,::ffff:10.0.0.1,::ffff:10.0.0.1/96,2001:db8::/32,'
			'2001:db8::1/32,2001:db8::/63,2001:db8::/64,2001:db8:0:1::/64,2001:db8::1,'
			'2001:db8::2/127'
		|| ',8000::/1,8000::/2,ffff::/16,ffff:ffff:ffff:ffff::/64,'
			'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff,ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/0}')
	WHEN 'text' THEN (ARRAY['', ' ', 'a', 'a ', 'a' || chr(1), 'aa', 'b', '%', '_', '\', chr(1),
		chr(127), chr(128), chr(55295), chr(57344), chr(65535), chr(65536), chr(1114111),
		'https://www.example.com', 'https://www.example.com/', 'https://www.example.com/~',
		'https://www.example.com0', 'http', 'https://www.example.com/' || chr(1114111)]::text[]
		|| ARRAY[repeat('a', 8), repeat('a', 9), repeat('a', 255), repeat('a', 256),
			repeat('a', 257), repeat('a', 307), repeat('a', 308), repeat('a', 309), repeat('a', 308)
			|| 'b', repeat('z', 1000)])::text
	WHEN 'varchar' THEN value_edges('text')::text
	WHEN 'bpchar' THEN (value_edges('text')
		|| ARRAY['  ', 'a  ', 'a' || repeat(' ', 306) || 'b', 'a' || repeat(' ', 307) || 'b', 'a'
		|| repeat(' ', 308) || 'b', 'a' || repeat(' ', 308), repeat(' ', 400) || 'x'])::text
	WHEN 'name' THEN (SELECT array_agg(DISTINCT e::name::text)::text
		FROM unnest(value_edges('text')) e)
	WHEN 'bytea' THEN ('{"","\\x00","\\x0000","\\x01","\\x61","\\x6100","\\x610000","\\x6101",'
		'"\\x7f","\\x80","\\xff","\\xff00","\\xffff","\\x5c","\\x25"}'::text[]
		|| ARRAY['\x' || repeat('00', 308), '\x' || repeat('00', 309), '\x' || repeat('ff', 308),
			'\x' || repeat('ff', 309), '\x' || repeat('00', 308) || '01'])::text
	END::text[]
$fn$;
