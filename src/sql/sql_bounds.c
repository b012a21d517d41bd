/*
 * sql_bounds.c
 *		"From lo to hi", as users type it, as scan keys.
 */
#include "sql/sql_bounds.h"

#include "access/stratnum.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/geo_decls.h"
#include "utils/lsyscache.h"

static void
report_null_bound(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
			 errmsg("bounds must not be null"),
			 errdetail("No value compares with NULL."),
			 errhint("For an open end, give the least or greatest value of the type.")));
}

/* A cast that the parser could make; false if it gives NULL. */
static bool
try_cast_bound(Oid from, Oid to, CoercionContext context, Datum *value)
{
	int16		length;
	bool		by_value;
	Node	   *node;
	Const	   *result;

	if (from == to)
		return true;
	get_typlenbyval(from, &length, &by_value);
	node = (Node *) makeConst(from, -1, get_typcollation(from), length, *value, false, by_value);
	node = coerce_to_target_type(NULL, node, from, to, -1, context,
								 COERCE_IMPLICIT_CAST, -1);
	if (node == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("could not find a cast from type %s to %s",
						format_type_be(from), format_type_be(to))));
	result = (Const *) evaluate_expr((Expr *) node, to, -1, get_typcollation(to));
	*value = result->constvalue;
	return !result->constisnull;
}

/* The same where NULL is an error: a cast may be a function of anybody's. */
static Datum
cast_bound_value(Oid from, Oid to, CoercionContext context, Datum value)
{
	if (!try_cast_bound(from, to, context, &value))
		report_null_bound();
	return value;
}

static bool
bound_is_string(Oid type)
{
	return type == UNKNOWNOID || TypeCategory(type) == TYPCATEGORY_STRING;
}

/* Can the index serve the order of this type's values? */
static bool
serves_order_of_bounds(Relation index, int col, Oid type)
{
	return rencoder_key_can_use_operator(index->rd_opfamily[col], index->rd_opcintype[col],
										 BTGreaterEqualStrategyNumber, type,
										 index->rd_indcollation[col]);
}

/* Can the index serve the order of strings' bytes? */
static bool
serves_bytes_of_bounds(Relation index, int col)
{
	Oid			own = index->rd_opcintype[col];

	return OidIsValid(get_opfamily_member(index->rd_opfamily[col], own, own,
										  RENCODER_STRATEGY_PATTERN_GE));
}

/*
 * The type that bounds of type "type" are to be cast to, or InvalidOid if there
 * is none.
 */
static Oid
operand_type_of_bound(Relation index, int col, Oid type)
{
	Oid			own = index->rd_opcintype[col];
	Oid			wide = own == FLOAT4OID ? FLOAT8OID : own;	/* as the parser has it */

	if (IsBinaryCoercible(type, rencoder_key_value_type(index, col)))
		return own;
	if (rencoder_key_is_boxed(index, col) ||
		!OidIsValid(get_opfamily_member(index->rd_opfamily[col], own, type, BTEqualStrategyNumber)))
		return !IsPolymorphicType(own) && can_coerce_type(1, &type, &wide, COERCION_IMPLICIT) ?
			wide : InvalidOid;

	/* Operators for the order of bytes want the column's own type. */
	if (!serves_order_of_bounds(index, col, type) &&
		serves_bytes_of_bounds(index, col) && can_coerce_type(1, &type, &own, COERCION_IMPLICIT))
		return own;
	return type;
}

/* Turns a bound into a value of a type that a scan key can have. */
static Datum
take_bound(Relation index, int col, Oid type, Oid operand, Datum value)
{
	Oid			function;
	Oid			param;
	bool		varlena;

	if (OidIsValid(operand))
	{
		if (IsBinaryCoercible(type, operand))
			return value;
		return cast_bound_value(type, operand, COERCION_IMPLICIT, value);
	}

	/* Without the column's type modifier, which would cut or round. */
	getTypeOutputInfo(type, &function, &varlena);
	value = CStringGetDatum(OidOutputFunctionCall(function, value));
	getTypeInputInfo(rencoder_key_value_type(index, col), &function, &param);
	return OidInputFunctionCall(function, DatumGetCString(value), param, -1);
}

static void
make_bound_key(ScanKey key, Relation index, int col, StrategyNumber strategy, Oid type, Datum value)
{
	Oid			operator = get_opfamily_member(index->rd_opfamily[col],
											   index->rd_opcintype[col], type, strategy);

	if (!OidIsValid(operator))
		elog(ERROR, "missing operator %d(%u,%u) in opfamily %u", strategy,
			 index->rd_opcintype[col], type, index->rd_opfamily[col]);
	ScanKeyEntryInitialize(key, 0, col + 1, strategy, type, index->rd_indcollation[col],
						   get_opcode(operator), value);
}

/* The bounds of a geometry. */
static Datum
geometry_bounds(Relation index, Oid type, Datum geometry)
{
	if (!try_cast_bound(type, BOXOID, COERCION_EXPLICIT, &geometry))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a bound is an empty geometry, which lies nowhere in index \"%s\"",
						RelationGetRelationName(index)),
				 errhint("Give two opposite corners of a box.")));
	return geometry;
}

/* Points in a box, or geometries that meet it. */
static int
keys_of_box_bounds(ScanKey key, Relation index, int col, Datum lo, Datum hi)
{
	Oid			own = index->rd_opcintype[col];
	Datum		box;

	if (own == POINTOID)
	{
		make_bound_key(key, index, col, RENCODER_STRATEGY_CONTAINED, BOXOID,
					   DirectFunctionCall2(points_box, lo, hi));
		return 1;
	}

	/* PostGIS has no cast from box to geometry, but one from polygon. */
	box = DirectFunctionCall2(boxes_bound_box, geometry_bounds(index, own, lo),
							  geometry_bounds(index, own, hi));
	box = DirectFunctionCall1(box_poly, box);
	make_bound_key(key, index, col, RENCODER_STRATEGY_OVERLAP, own,
				   cast_bound_value(POLYGONOID, own, COERCION_EXPLICIT, box));
	return 1;
}

/* Does "lo operator hi" hold?  Both are of "type". */
static bool
holds_bound(Relation index, int col, int strategy, Oid type, Datum lo, Datum hi)
{
	Oid			operator = get_opfamily_member(index->rd_opfamily[col], type, type, strategy);

	return OidIsValid(operator) &&
		DatumGetBool(OidFunctionCall2Coll(get_opcode(operator),
										  index->rd_indcollation[col], lo, hi));
}

static int
keys_of_interval_bounds(ScanKey keys, Relation index, int col, Oid type, Datum lo, Datum hi)
{
	Oid			collation = index->rd_indcollation[col];

	/* Equality prunes under collations, too, under which order does not. */
	if (holds_bound(index, col, BTEqualStrategyNumber, type, lo, hi))
	{
		make_bound_key(&keys[0], index, col, BTEqualStrategyNumber, type, lo);
		return 1;
	}
	if (serves_order_of_bounds(index, col, type))
	{
		make_bound_key(&keys[0], index, col, BTGreaterEqualStrategyNumber, type, lo);
		make_bound_key(&keys[1], index, col, BTLessEqualStrategyNumber, type, hi);
		return 2;
	}
	if (!serves_bytes_of_bounds(index, col))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("index \"%s\" cannot serve an interval of its column %d under collation \"%s\"",
						RelationGetRelationName(index), col + 1, get_collation_name(collation)),
				 errhint("Give two equal bounds, or create the index with COLLATE \"C\".")));

	/* Nothing is found from "b" to "C", which a collation may order so. */
	if (!holds_bound(index, col, RENCODER_STRATEGY_PATTERN_LE, type, lo, hi))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("lower bound must not be greater than upper bound in the order of bytes"),
				 errdetail("Index \"%s\" serves no other order of its column %d, whose collation is \"%s\".",
						   RelationGetRelationName(index), col + 1, get_collation_name(collation)),
				 errhint("Exchange the bounds.")));
	make_bound_key(&keys[0], index, col, RENCODER_STRATEGY_PATTERN_GE, type, lo);
	make_bound_key(&keys[1], index, col, RENCODER_STRATEGY_PATTERN_LE, type, hi);
	return 2;
}

/* As the caller.  Returns the number of keys. */
static int
make_bound_keys(Relation index, int col, Oid argtype, const NullableDatum *bound, ScanKey keys)
{
	Oid			type;
	Oid			operand;
	Datum		lo;
	Datum		hi;

	if (!OidIsValid(argtype))
		elog(ERROR, "could not determine the type of the bounds");
	if (bound[0].isnull || bound[1].isnull)
		report_null_bound();

	type = getBaseType(argtype);
	operand = operand_type_of_bound(index, col, type);
	if (!OidIsValid(operand) && !bound_is_string(type))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("index \"%s\" cannot compare its column %d with type %s",
						RelationGetRelationName(index), col + 1, format_type_be(argtype)),
				 errhint("Cast the bounds to %s.",
						 format_type_be(rencoder_key_value_type(index, col)))));
	lo = take_bound(index, col, type, operand, bound[0].value);
	hi = take_bound(index, col, type, operand, bound[1].value);
	if (!OidIsValid(operand))
		operand = index->rd_opcintype[col];
	if (rencoder_key_is_boxed(index, col))
		return keys_of_box_bounds(keys, index, col, lo, hi);
	return keys_of_interval_bounds(keys, index, col, operand, lo, hi);
}

RencoderQuery *
rencoder_bounds_query(FunctionCallInfo fcinfo, RencoderOpenIndex *target, int col)
{
	ScanKey		keys = palloc(2 * sizeof(ScanKeyData));
	int			nkeys;

	SetUserIdAndSecContext(target->save_userid, target->save_sec_context);
	nkeys = make_bound_keys(target->index, col, get_fn_expr_argtype(fcinfo->flinfo, 1), &fcinfo->args[1],
							keys);
	rencoder_open_index_switch_to_owner(target);
	return rencoder_key_make_query(target->index, keys, nkeys);
}
