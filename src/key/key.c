/*
 * key.c
 *		The key of a value, by the support functions of a column's operator class.
 *
 * scan_keys.c has the keys that a query asks for.
 */
#include "key/key.h"

#include "access/stratnum.h"
#include "catalog/pg_type.h"
#include "utils/lsyscache.h"

/* Does the operator class of a column want a coder? */
static bool
class_is_coded(Relation index, int col)
{
	return OidIsValid(index_getprocid(index, col + 1, RENCODER_PROC_CODED_KEY));
}

bool
rencoder_key_is_coded(Relation index, int col)
{
	return rencoder_is_composite(index) || class_is_coded(index, col);
}

bool
rencoder_key_any_coded(Relation index)
{
	bool		any = false;

	for (int col = 0; col < rencoder_key_columns(index); col++)
		any |= rencoder_key_is_coded(index, col);
	return any;
}

bool
rencoder_key_is_boxed(Relation index, int col)
{
	Oid			type = index->rd_opcintype[col];

	return class_is_coded(index, col) &&
		!OidIsValid(get_opfamily_member(index->rd_opfamily[col], type, type,
										BTEqualStrategyNumber));
}

RencoderKeyFunction
rencoder_key_function(Relation index, int col)
{
	RencoderKeyFunction function;

	function.coded = class_is_coded(index, col);
	function.proc = index_getprocinfo(index, col + 1, function.coded ? RENCODER_PROC_CODED_KEY :
									  RENCODER_PROC_KEY);
	function.collation = index->rd_indcollation[col];
	return function;
}

bool
rencoder_key_call(const RencoderKeyFunction *function, Datum value, const RencoderCoder *coder,
				  uint64 *key)
{
	RencoderEncoding encoding = {coder, false};

	if (!function->coded)
		*key = (uint64) DatumGetInt64(FunctionCall1Coll(function->proc, function->collation, value));
	else
		*key = (uint64) DatumGetInt64(FunctionCall2Coll(function->proc, function->collation, value,
														PointerGetDatum(&encoding)));
	return !encoding.keyless;
}

RencoderRowFunctions
rencoder_key_row_functions(Relation index, int col)
{
	RencoderRowFunctions functions = {.n = 1,.first = col,.composite = rencoder_is_composite(index)};

	if (functions.composite)
		functions.n = IndexRelationGetNumberOfKeyAttributes(index);
	for (int i = 0; i < functions.n; i++)
		functions.function[i] = rencoder_key_function(index, col + i);
	return functions;
}

RencoderRowKind
rencoder_key_of_row(const RencoderRowFunctions *functions, const Datum *values, const bool *isnull,
					const RencoderCoder *coder, RencoderValueKey make, void *arg, uint64 *key)
{
	uint64		part[RENC_COMPOSITE_MAX] = {0};
	bool		keyless = false;

	for (int i = 0; i < functions->n; i++)
	{
		const RencoderKeyFunction *function = &functions->function[i];
		int			col = functions->first + i;
		const RencoderCoder *own = functions->composite ?
			rencoder_composite_column_coder(coder, i) : coder;

		if (!isnull[col])
			keyless |= make == NULL ? !rencoder_key_call(function, values[col], own, &part[i]) :
				!make(arg, function, col, values[col], own, &part[i]);
	}
	if (keyless)
		return RENCODER_ROW_KEYLESS;
	if (!functions->composite && isnull[functions->first])
		return RENCODER_ROW_NULL;
	*key = functions->composite ?
		rencoder_composite_key(rencoder_composite_codes(coder, functions->n), part, isnull) : part[0];
	return RENCODER_ROW_KEY;
}

bool
rencoder_key_encode(Relation index, int col, Datum value,
					const RencoderCoder *coder, uint64 *key)
{
	RencoderKeyFunction function = rencoder_key_function(index, col);

	return rencoder_key_call(&function, value, coder, key);
}

Oid
rencoder_key_value_type(Relation index, int col)
{
	Oid			opcintype = index->rd_opcintype[col];

	if (!IsPolymorphicType(opcintype))
		return opcintype;
	return getBaseType(TupleDescAttr(RelationGetDescr(index), col)->atttypid);
}
