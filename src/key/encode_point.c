/*
 * encode_point.c
 *		Keys of points, in Z-order (renc_zorder.h).
 *
 * What PostgreSQL's operators make of NaN, infinity and rounding decides which
 * cells a query must ask for.  Source: geo_ops.c and geo_decls.h of PostgreSQL
 * 15 and 17, where these operators are the same.
 *
 *	<@ box		compares exactly, with C's operators: a NaN anywhere satisfies
 *				nothing; infinities are the greatest and least numbers.
 *	~= point	if a coordinate of either is NaN, both points must be equal, NaN
 *				being equal to itself; else coordinates may differ by EPSILON.
 *	<@ circle	hypot(dx, dy) <= radius.  The computed hypot() is never less
 *				than |dx| or |dy|, but these were rounded.  It is infinite if
 *				dx or dy is, and a radius may be infinite as well.
 *	<@ polygon	counts how often the polygon crosses a ray from the point to the
 *				right, and coordinates within EPSILON of the ray or the point as
 *				lying on it.  For a point that has no NaN and lies further than
 *				EPSILON beside the bounding box the crossings cancel out; for a
 *				point with a NaN they need not: (0,NaN) lies "in" many polygons.
 */
#include "key/encode.h"

#include <float.h>
#include <math.h>

#include "utils/geo_decls.h"

#include "key/coder_trainer.h"

/* The difference that EPSILON allows, with what rounding adds to it. */
#define TOLERANCE		(EPSILON * 1.001)

/* What rounding may add to a number, relatively: some units in the last place. */
#define ROUNDING		(16 * DBL_EPSILON)

PG_FUNCTION_INFO_V1(rencoder_point_key);
PG_FUNCTION_INFO_V1(rencoder_point_intervals);
PG_FUNCTION_INFO_V1(rencoder_point_box_intervals);
PG_FUNCTION_INFO_V1(rencoder_point_polygon_intervals);
PG_FUNCTION_INFO_V1(rencoder_point_circle_intervals);

/* The bounds of axis 0 (x) or 1 (y) that a coder has, or NULL. */
static const double *
point_axis_bounds(const RencoderCoder *coder, int axis)
{
	return coder == NULL ? NULL : (const double *) coder->data + 2 * axis;
}

static bool
point_has_nan(const Point *p)
{
	return isnan(p->x) || isnan(p->y);
}

/* Support function 4. */
Datum
rencoder_point_key(PG_FUNCTION_ARGS)
{
	Point	   *p = PG_GETARG_POINT_P(0);
	const RencoderCoder *coder = ((RencoderEncoding *) PG_GETARG_POINTER(1))->coder;

	if (point_has_nan(p))
		PG_RETURN_KEY(RENC_POINT_NAN);
	PG_RETURN_KEY(renc_zorder(renc_axis_cell(point_axis_bounds(coder, 0), p->x),
							  renc_axis_cell(point_axis_bounds(coder, 1), p->y)));
}

/* Support function 5. */
RENCODER_VOID_FUNCTION(rencoder_point_sample,
					   rencoder_trainer_add_point((RencoderTrainer *) PG_GETARG_POINTER(1),
												  PG_GETARG_POINT_P(0)->x, PG_GETARG_POINT_P(0)->y));

/* Adds a box whose corners have no NaN. */
static void
add_point_box(RencoderOperand *operand, double xlo, double xhi, double ylo, double yhi)
{
	const double *x = point_axis_bounds(operand->coder, 0);
	const double *y = point_axis_bounds(operand->coder, 1);

	if (xlo <= xhi && ylo <= yhi)
		rencoder_boxes_add(operand->boxes, renc_axis_cell(x, xlo), renc_axis_cell(x, xhi),
						   renc_axis_cell(y, ylo), renc_axis_cell(y, yhi));
}

/* The same, and all around it within a distance, which is finite. */
static void
add_wider_point_box(RencoderOperand *operand, const BOX *box, double distance)
{
	/* The step outward makes good for how the difference was rounded. */
	add_point_box(operand,
				  nextafter(box->low.x - distance, -INFINITY),
				  nextafter(box->high.x + distance, INFINITY),
				  nextafter(box->low.y - distance, -INFINITY),
				  nextafter(box->high.y + distance, INFINITY));
}

/* Adds the points that have a NaN. */
static void
add_nan_points(RencoderOperand *operand)
{
	rencoder_boxes_add(operand->boxes, RENC_AXIS_NAN, RENC_AXIS_NAN,
					   RENC_AXIS_NAN, RENC_AXIS_NAN);
}

/* Adds all points there are. */
static void
add_all_points(RencoderOperand *operand)
{
	rencoder_boxes_add(operand->boxes, 0, RENC_AXIS_NAN, 0, RENC_AXIS_NAN);
}

static void
check_point_strategy(int strategy, int expected)
{
	if (strategy != expected)
		elog(ERROR, "unrecognized strategy number: %d", strategy);
}

/*
 * rencoder_point_intervals(point, int2, internal) returns void
 *
 * Support function 3: point ~= point.
 */
Datum
rencoder_point_intervals(PG_FUNCTION_ARGS)
{
	Point	   *p = PG_GETARG_POINT_P(0);
	RencoderOperand *operand = (RencoderOperand *) PG_GETARG_POINTER(2);

	check_point_strategy(PG_GETARG_INT16(1), RENCODER_STRATEGY_SAME);
	if (point_has_nan(p))
		add_nan_points(operand);
	else
	{
		BOX			box = {*p, *p};

		add_wider_point_box(operand, &box, TOLERANCE);
	}
	PG_RETURN_VOID();
}

/* rencoder_point_box_intervals(box, int2, internal) returns void: point <@ box */
Datum
rencoder_point_box_intervals(PG_FUNCTION_ARGS)
{
	BOX		   *box = PG_GETARG_BOX_P(0);

	check_point_strategy(PG_GETARG_INT16(1), RENCODER_STRATEGY_CONTAINED);
	if (!point_has_nan(&box->low) && !point_has_nan(&box->high))
		add_point_box((RencoderOperand *) PG_GETARG_POINTER(2),
					  box->low.x, box->high.x, box->low.y, box->high.y);
	PG_RETURN_VOID();
}

static bool
is_finite_point_box(const BOX *box)
{
	return isfinite(box->low.x) && isfinite(box->high.x) &&
		isfinite(box->low.y) && isfinite(box->high.y);
}

/* rencoder_point_polygon_intervals(polygon, int2, internal) returns void: point <@ polygon */
Datum
rencoder_point_polygon_intervals(PG_FUNCTION_ARGS)
{
	POLYGON    *polygon = PG_GETARG_POLYGON_P(0);
	RencoderOperand *operand = (RencoderOperand *) PG_GETARG_POINTER(2);

	check_point_strategy(PG_GETARG_INT16(1), RENCODER_STRATEGY_CONTAINED);

	/*
	 * A NaN or infinity among the vertices shows in the bounding box; what is
	 * then inside is hard to tell.
	 */
	if (is_finite_point_box(&polygon->boundbox))
	{
		add_wider_point_box(operand, &polygon->boundbox, TOLERANCE);
		add_nan_points(operand);
	}
	else
		add_all_points(operand);
	PG_RETURN_VOID();
}

/* rencoder_point_circle_intervals(circle, int2, internal) returns void: point <@ circle */
Datum
rencoder_point_circle_intervals(PG_FUNCTION_ARGS)
{
	CIRCLE	   *circle = PG_GETARG_CIRCLE_P(0);
	RencoderOperand *operand = (RencoderOperand *) PG_GETARG_POINTER(2);
	BOX			box = {circle->center, circle->center};

	check_point_strategy(PG_GETARG_INT16(1), RENCODER_STRATEGY_CONTAINED);

	/* A distance that is not finite is at most an infinite radius. */
	if (isinf(circle->radius))
		add_all_points(operand);
	else if (isfinite(circle->center.x) && isfinite(circle->center.y) &&
			 circle->radius >= 0)
		add_wider_point_box(operand, &box,
							nextafter(circle->radius * (1 + ROUNDING), INFINITY) + TOLERANCE);
	PG_RETURN_VOID();
}
