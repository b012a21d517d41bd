/*
 * encode_geometry.c
 *		Keys of PostGIS geometries that are points, in Z-order (renc_zorder.h).
 *
 * Nothing of PostGIS is needed to build this, nor does the extension rencoder
 * depend on it: the extension rencoder_postgis declares these functions.  They
 * find the coordinates through the cast from geometry to box, which returns
 * the bounds of the coordinates as they are, and NULL of an empty geometry.
 *
 * The operators && and @ compare boxes of single precision, for which bounds
 * were rounded outward, and what is beyond the greatest float became that.
 * So a query asks for what lies within a few such steps around it.  (Source:
 * gserialized_gist_2d.c and next_float_up() of PostGIS 3.3.)
 *
 * An empty geometry has no box: it is under no &&, but may be under @.  It is
 * kept with the points that have a NaN, whose key no place has.  A geometry
 * that is not a point has no single key, unless its box lies in one cell; nor
 * has one with a NaN, which PostGIS' comparisons may find anywhere.
 */
#include "key/encode.h"

#include <float.h>
#include <math.h>

#include "catalog/pg_type.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/geo_decls.h"
#include "utils/lsyscache.h"

#include "key/coder_trainer.h"

/* Steps of single precision: one for each box, and one more. */
#define FLOAT_STEPS		3

PG_FUNCTION_INFO_V1(rencoder_geometry_key);
PG_FUNCTION_INFO_V1(rencoder_geometry_sample);
PG_FUNCTION_INFO_V1(rencoder_geometry_intervals);

/* The cast to box of the type of our first argument; looked up once. */
static FmgrInfo *
cast_geometry_to_box(FmgrInfo *flinfo)
{
	FmgrInfo   *cast = (FmgrInfo *) flinfo->fn_extra;
	Oid		   *argtypes;
	Oid			function;
	int			nargs;

	if (cast != NULL)
		return cast;
	(void) get_func_signature(flinfo->fn_oid, &argtypes, &nargs);
	if (find_coercion_pathway(BOXOID, argtypes[0], COERCION_EXPLICIT,
							  &function) != COERCION_PATH_FUNC)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("could not find a cast from type %s to box",
						format_type_be(argtypes[0])),
				 errhint("It is part of PostGIS.")));
	cast = MemoryContextAlloc(flinfo->fn_mcxt, sizeof(FmgrInfo));
	fmgr_info_cxt(function, cast, flinfo->fn_mcxt);
	flinfo->fn_extra = cast;
	return cast;
}

/* The bounds of a geometry; false if it is empty. */
static bool
geometry_box(FmgrInfo *flinfo, Datum geometry, BOX *box)
{
	LOCAL_FCINFO(fcinfo, 1);
	Datum		result;

	InitFunctionCallInfoData(*fcinfo, cast_geometry_to_box(flinfo), 1, InvalidOid, NULL, NULL);
	fcinfo->args[0].value = geometry;
	fcinfo->args[0].isnull = false;
	result = FunctionCallInvoke(fcinfo);
	if (fcinfo->isnull)
		return false;
	*box = *DatumGetBoxP(result);
	return true;
}

static bool
geometry_box_has_nan(const BOX *box)
{
	return isnan(box->low.x) || isnan(box->low.y) || isnan(box->high.x) || isnan(box->high.y);
}

/* The cell of a coordinate as PostGIS compares it: no float is greater. */
static uint32
geometry_float_cell(const RencoderCoder *coder, int axis, double coordinate)
{
	const double *bounds = coder == NULL ? NULL : (const double *) coder->data + 2 * axis;

	return renc_axis_cell(bounds, Max(-FLT_MAX, Min(FLT_MAX, coordinate)));
}

/* Support function 4. */
Datum
rencoder_geometry_key(PG_FUNCTION_ARGS)
{
	RencoderEncoding *encoding = (RencoderEncoding *) PG_GETARG_POINTER(1);
	const RencoderCoder *coder = encoding->coder;
	uint64		first;
	uint64		last;
	BOX			box;

	if (!geometry_box(fcinfo->flinfo, PG_GETARG_DATUM(0), &box))
		PG_RETURN_KEY(RENC_POINT_NAN);
	if (geometry_box_has_nan(&box))
	{
		encoding->keyless = true;
		PG_RETURN_KEY(0);
	}
	first = renc_zorder(geometry_float_cell(coder, 0, box.low.x),
						geometry_float_cell(coder, 1, box.low.y));
	last = renc_zorder(geometry_float_cell(coder, 0, box.high.x),
					   geometry_float_cell(coder, 1, box.high.y));
	encoding->keyless = first != last;
	PG_RETURN_KEY(first);
}

/* Support function 5. */
Datum
rencoder_geometry_sample(PG_FUNCTION_ARGS)
{
	BOX			box;

	if (geometry_box(fcinfo->flinfo, PG_GETARG_DATUM(0), &box))
		rencoder_trainer_add_point((RencoderTrainer *) PG_GETARG_POINTER(1),
								   box.low.x, box.low.y);
	PG_RETURN_VOID();
}

/* Some steps of single precision downward or upward. */
static double
step_geometry_floats(double coordinate, float towards)
{
	float		f = (float) Max(-FLT_MAX, Min(FLT_MAX, coordinate));

	for (int i = 0; i < FLOAT_STEPS; i++)
		f = nextafterf(f, towards);
	return f;
}

/*
 * rencoder_geometry_intervals(geometry, int2, internal) returns void
 *
 * Support function 3: geometry && geometry, geometry @ geometry.
 */
Datum
rencoder_geometry_intervals(PG_FUNCTION_ARGS)
{
	int			strategy = PG_GETARG_INT16(1);
	RencoderOperand *operand = (RencoderOperand *) PG_GETARG_POINTER(2);
	const RencoderCoder *coder = operand->coder;
	BOX			box;

	/* A line may meet two boxes that do not meet each other. */
	operand->keyless = true;
	if (strategy != RENCODER_STRATEGY_OVERLAP && strategy != RENCODER_STRATEGY_CONTAINED)
		elog(ERROR, "unrecognized strategy number: %d", strategy);
	if (!geometry_box(fcinfo->flinfo, PG_GETARG_DATUM(0), &box) || geometry_box_has_nan(&box))
	{
		/* Rare enough to leave it to PostGIS what that matches. */
		rencoder_boxes_add(operand->boxes, 0, RENC_AXIS_NAN, 0, RENC_AXIS_NAN);
		PG_RETURN_VOID();
	}
	rencoder_boxes_add(operand->boxes,
					   geometry_float_cell(coder, 0, step_geometry_floats(box.low.x, -FLT_MAX)),
					   geometry_float_cell(coder, 0, step_geometry_floats(box.high.x, FLT_MAX)),
					   geometry_float_cell(coder, 1, step_geometry_floats(box.low.y, -FLT_MAX)),
					   geometry_float_cell(coder, 1, step_geometry_floats(box.high.y, FLT_MAX)));
	if (strategy == RENCODER_STRATEGY_CONTAINED)
		rencoder_boxes_add(operand->boxes, RENC_AXIS_NAN, RENC_AXIS_NAN,
						   RENC_AXIS_NAN, RENC_AXIS_NAN);
	PG_RETURN_VOID();
}
