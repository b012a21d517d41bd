/* Install script of rencoder_postgis 0.1.0 */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION rencoder_postgis" to load this file. \quit

CREATE FUNCTION rencoder_geometry_key(geometry, internal)
RETURNS int8
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_geometry_key(geometry, internal) IS
	'rencoder support: key of a value';

CREATE FUNCTION rencoder_geometry_sample(geometry, internal)
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_geometry_sample(geometry, internal) IS
	'rencoder support: adds a value to a sample';

CREATE FUNCTION rencoder_geometry_intervals(geometry, int2, internal)
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_geometry_intervals(geometry, int2, internal) IS
	'rencoder support: keys of the points in a box';

CREATE OPERATOR FAMILY geometry_ops USING rencoder;
COMMENT ON OPERATOR FAMILY geometry_ops USING rencoder IS
	'geometries that are points';

CREATE OPERATOR CLASS geometry_ops
DEFAULT FOR TYPE geometry USING rencoder FAMILY geometry_ops AS
	OPERATOR	10	&&,
	OPERATOR	17	@,
	FUNCTION	3	rencoder_geometry_intervals(geometry, int2, internal),
	FUNCTION	4	rencoder_geometry_key(geometry, internal),
	FUNCTION	5	rencoder_geometry_sample(geometry, internal);
COMMENT ON OPERATOR CLASS geometry_ops USING rencoder IS
	'rencoder index operators of geometries that are points';

-- Names are looked for in the schema of this extension first, where others may have made some.
DO $$
DECLARE
	strange text;
BEGIN
	-- This block finds no such names.
	PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
	SELECT pg_describe_object(class, object, 0) INTO strange
	FROM pg_opclass c JOIN pg_am a ON a.oid = c.opcmethod,
		LATERAL (SELECT 'pg_type'::regclass, c.opcintype
			UNION ALL SELECT 'pg_operator'::regclass, o.amopopr FROM pg_amop o
			WHERE o.amopfamily = c.opcfamily) AS used (class, object)
	WHERE a.amname = 'rencoder' AND c.opcname = 'geometry_ops' AND NOT EXISTS (
		SELECT FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid
		WHERE d.classid = class AND d.objid = object AND d.deptype = 'e'
			AND d.refclassid = 'pg_extension'::regclass AND e.extname = 'postgis');
	IF FOUND THEN
		RAISE EXCEPTION '% is not part of PostGIS', strange
			USING ERRCODE = 'object_not_in_prerequisite_state',
				HINT = 'Create the extension in a schema that has no such object.';
	END IF;
END $$;
