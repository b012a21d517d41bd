-- Polygons take the place of PostGIS's geometries, whose support functions want a type that has a
-- box: a point has a key, an area has none.
CREATE FUNCTION polygon_key(polygon, internal) RETURNS int8
AS '$libdir/rencoder', 'rencoder_geometry_key' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION polygon_sample(polygon, internal) RETURNS void
AS '$libdir/rencoder', 'rencoder_geometry_sample' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION polygon_intervals(polygon, int2, internal) RETURNS void
AS '$libdir/rencoder', 'rencoder_geometry_intervals' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR CLASS polygon_ops DEFAULT FOR TYPE polygon USING rencoder AS
	OPERATOR 10 &&, OPERATOR 17 <@,
	FUNCTION 3 polygon_intervals(polygon, int2, internal),
	FUNCTION 4 polygon_key(polygon, internal), FUNCTION 5 polygon_sample(polygon, internal);
