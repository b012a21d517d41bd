-- Types that reach an operator class by a cast only.  If they have an equality of their own, no
-- query would use the index, and CREATE INDEX warns; it does not where an index is used.
SET client_min_messages = error;
SET enable_seqscan = off;
SET max_parallel_maintenance_workers = 0;
SET jit = off;

-- Two types with operators of their own, which ignore case and sign, and one without any.
CREATE FUNCTION own_in(cstring) RETURNS own LANGUAGE internal IMMUTABLE STRICT AS 'textin';
CREATE FUNCTION own_out(own) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout';
CREATE TYPE own (INPUT = own_in, OUTPUT = own_out, LIKE = text, CATEGORY = 'S', COLLATABLE = true);
CREATE CAST (own AS text) WITHOUT FUNCTION AS IMPLICIT;
CREATE FUNCTION own_eq(own, own) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS
	'BEGIN RETURN lower($1::text) = lower($2::text); END';
CREATE FUNCTION own_hash(own) RETURNS int LANGUAGE sql IMMUTABLE RETURN hashtext(lower($1::text));
CREATE OPERATOR = (FUNCTION = own_eq, LEFTARG = own, RIGHTARG = own, COMMUTATOR = =,
	HASHES);
CREATE OPERATOR CLASS own_ops DEFAULT FOR TYPE own USING hash AS
	OPERATOR 1 =, FUNCTION 1 own_hash(own);
CREATE FUNCTION size_in(cstring) RETURNS size LANGUAGE internal IMMUTABLE STRICT AS 'int8in';
CREATE FUNCTION size_out(size) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'int8out';
CREATE TYPE size (INPUT = size_in, OUTPUT = size_out, LIKE = int8);
CREATE CAST (size AS int8) WITHOUT FUNCTION AS IMPLICIT;
CREATE FUNCTION size_eq(size, size) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS
	'BEGIN RETURN abs($1::int8) = abs($2::int8); END';
CREATE FUNCTION size_hash(size) RETURNS int LANGUAGE sql IMMUTABLE RETURN hashint8(abs($1::int8));
CREATE OPERATOR = (FUNCTION = size_eq, LEFTARG = size, RIGHTARG = size, COMMUTATOR = =,
	HASHES);
CREATE OPERATOR CLASS size_ops DEFAULT FOR TYPE size USING hash AS
	OPERATOR 1 =, FUNCTION 1 size_hash(size);
CREATE FUNCTION like_in(cstring) RETURNS like_text LANGUAGE internal IMMUTABLE STRICT AS 'textin';
CREATE FUNCTION like_out(like_text) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout';
CREATE TYPE like_text (INPUT = like_in, OUTPUT = like_out, LIKE = text, CATEGORY = 'S',
	COLLATABLE = true);
CREATE CAST (like_text AS text) WITHOUT FUNCTION AS IMPLICIT;
CREATE DOMAIN own_domain AS own;
CREATE DOMAIN own_domain_2 AS own_domain;
CREATE DOMAIN short_text AS varchar(20);
CREATE DOMAIN shorter_text AS short_text;
CREATE TYPE own_mood AS ENUM ('sad', 'glad');
CREATE DOMAIN positive AS int CHECK (VALUE > 0);

SET client_min_messages = warning;
SET enable_indexscan = off;
CREATE TABLE owned (o own, d own_domain_2, n size, l like_text);
INSERT INTO owned SELECT 'Row ' || i, 'Row ' || i, i::text::size, 'Row ' || i
FROM generate_series(1, 2000) i;
CREATE INDEX owned_o ON owned USING rencoder (o);
CREATE INDEX owned_d ON owned USING rencoder (d);
CREATE INDEX owned_n ON owned USING rencoder (n);
CREATE INDEX owned_chosen ON owned USING rencoder (o text_ops);
CREATE INDEX owned_two ON owned USING rencoder (l, o);
-- What makes the index anew says nothing.
REINDEX TABLE owned;
REINDEX INDEX CONCURRENTLY owned_o;
VACUUM FULL owned;
BEGIN;
TRUNCATE owned;
ROLLBACK;
-- One warning each, as the table is emptied later.
BEGIN;
CREATE TABLE owned_new (o own);
CREATE INDEX owned_new_o ON owned_new USING rencoder (o);
TRUNCATE owned_new;
ROLLBACK;
CREATE TEMP TABLE owned_temp (o own) ON COMMIT DELETE ROWS;
CREATE INDEX owned_temp_o ON owned_temp USING rencoder (o);
BEGIN;
INSERT INTO owned_temp VALUES ('a');
COMMIT;
-- Another index of the same definition is no rebuilt one, unless made CONCURRENTLY.
CREATE INDEX owned_again ON owned USING rencoder (o);
DROP INDEX owned_chosen, owned_two, owned_again;
-- What the hint says.
CREATE INDEX owned_text ON owned USING rencoder ((o::text));
CREATE INDEX owned_lower ON owned USING rencoder (lower(o::text));
CREATE INDEX owned_l ON owned USING rencoder (l);
VACUUM owned;
CREATE FUNCTION own_uses_index(condition text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) SELECT * FROM owned WHERE ' || condition INTO plan;
	RETURN plan::text LIKE '%Bitmap Index Scan%';
END $$;
SELECT own_uses_index('o = ''row 7'''), own_uses_index('lower(o::text) = ''row 7''');
DROP FUNCTION own_uses_index;
SELECT * FROM owned WHERE lower(o::text) = 'row 7';
SELECT * FROM owned WHERE n::int8 = 7;

-- For each type with an operator class, and those that are cast to one, the warning and whether
-- "=" uses the index: nothing is warned of here, as all of them do.
CREATE FUNCTION own_uses(type text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
	line text;
	used bool := false;
BEGIN
	EXECUTE format('CREATE TABLE own_one (v %s)', type);
	CREATE INDEX own_one_v ON own_one USING rencoder (v) WITH (pages_per_range = 1);
	FOR line IN EXECUTE format('EXPLAIN SELECT 1 FROM own_one, (SELECT NULL::%s AS w OFFSET 0) x
		WHERE v = w', type) LOOP
		used := used OR line ~ 'own_one_v';
	END LOOP;
	DROP TABLE own_one;
	RETURN used;
END $$;
CREATE TEMP TABLE own_types AS
SELECT format_type(t.oid, NULL) AS type
FROM pg_type t
WHERE t.typname IN ('varchar', 'cidr', 'regclass', 'regproc', 'regtype', 'regrole', 'short_text',
	'shorter_text', 'positive', 'like_text', 'own_mood')
	OR EXISTS (SELECT FROM pg_opclass c JOIN pg_am a ON a.oid = opcmethod
		JOIN pg_amop o ON o.amopfamily = c.opcfamily AND o.amoplefttype = c.opcintype
		WHERE amname = 'rencoder' AND opcintype = t.oid AND typtype <> 'p' AND amopstrategy = 3
			AND opcdefault);
SELECT count(*) >= 30 AS many, array_agg(type) FILTER (WHERE NOT own_uses(type)) AS unused
FROM own_types;
-- A type with its own equality that is warned of uses no index.
SET client_min_messages = error;
SELECT own_uses('own') OR own_uses('own_domain_2') OR own_uses('size') AS used;

DROP TABLE owned, own_types;
DROP FUNCTION own_uses;
DROP TYPE own, size, like_text, own_mood CASCADE;
DROP DOMAIN shorter_text, short_text, positive;
