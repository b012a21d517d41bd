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

bool
rencoder_key_is_coded(Relation index, int col)
{
	return OidIsValid(index_getprocid(index, col + 1, RENCODER_PROC_CODED_KEY));
}

bool
rencoder_key_any_coded(Relation index)
{
	bool		any = false;

	for (int col = 0; col < IndexRelationGetNumberOfKeyAttributes(index); col++)
		any |= rencoder_key_is_coded(index, col);
	return any;
}

bool
rencoder_key_is_boxed(Relation index, int col)
{
	Oid			type = index->rd_opcintype[col];

	return rencoder_key_is_coded(index, col) &&
		!OidIsValid(get_opfamily_member(index->rd_opfamily[col], type, type,
										BTEqualStrategyNumber));
}

RencoderKeyFunction
rencoder_key_function(Relation index, int col)
{
	RencoderKeyFunction function;

	function.coded = rencoder_key_is_coded(index, col);
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
