/*
 * row_sort.c
 *		Rows of an index's columns, sorted by a number and then by the columns.
 */
#include "scan/row_sort.h"

#include "access/stratnum.h"
#include "catalog/pg_operator_d.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"

#include "base/compat.h"

void
rencoder_row_sort_init(RencoderRowSort *sort, Relation index, const Oid *family)
{
	int			n = IndexRelationGetNumberOfKeyAttributes(index);
	TupleDesc	desc = CreateTemplateTupleDesc(n + 2);

	memset(sort, 0, sizeof(*sort));
	sort->n = n;
	for (int col = 0; col < n; col++)
	{
		Oid			type = index->rd_opcintype[col];

		TupleDescCopyEntry(desc, (AttrNumber) (col + 1), RelationGetDescr(index), (AttrNumber) (col + 1));
		sort->less[col] = get_opfamily_member(family[col], type, type, BTLessStrategyNumber);
		sort->greater[col] = get_opfamily_member(family[col], type, type, BTGreaterStrategyNumber);
	}
	TupleDescInitEntry(desc, (AttrNumber) (n + 1), "ctid", TIDOID, -1, 0);
	TupleDescInitEntry(desc, (AttrNumber) (n + 2), "number", INT8OID, -1, 0);
	rencoder_finish_tupdesc(desc);
	sort->values = MakeSingleTupleTableSlot(desc, &TTSOpsVirtual);
	sort->sorted = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
}

void
rencoder_row_sort_begin(RencoderRowSort *sort, Relation index, bool backward)
{
	AttrNumber	attno[INDEX_MAX_KEYS + 1] = {(AttrNumber) (sort->n + 2)};
	Oid			operator[INDEX_MAX_KEYS + 1] = {Int8LessOperator};
	Oid			collation[INDEX_MAX_KEYS + 1] = {InvalidOid};
	bool		nulls_first[INDEX_MAX_KEYS + 1] = {false};

	sort->backward = backward;
	for (int col = 0; col < sort->n; col++)
	{
		attno[col + 1] = (AttrNumber) (col + 1);
		operator[col + 1] = backward ? sort->greater[col] : sort->less[col];
		collation[col + 1] = index->rd_indcollation[col];
		nulls_first[col + 1] = backward;
	}
	sort->sort = tuplesort_begin_heap(sort->values->tts_tupleDescriptor, sort->n + 1, attno, operator,
									  collation, nulls_first, work_mem, NULL, TUPLESORT_NONE);
}

void
rencoder_row_sort_put(RencoderRowSort *sort, uint64 number, ItemPointer tid)
{
	TupleTableSlot *slot = sort->values;

	slot->tts_values[sort->n] = PointerGetDatum(tid);
	slot->tts_isnull[sort->n] = false;
	slot->tts_values[sort->n + 1] = Int64GetDatum((int64) ((sort->backward ? ~number : number) ^ UINT64CONST(1) << 63));
	slot->tts_isnull[sort->n + 1] = false;
	ExecStoreVirtualTuple(slot);
	tuplesort_puttupleslot(sort->sort, slot);
}

bool
rencoder_row_sort_next(RencoderRowSort *sort, ItemPointer tid)
{
	bool		isnull;

	if (sort->sort == NULL || !tuplesort_gettupleslot(sort->sort, true, false, sort->sorted, NULL))
		return false;
	*tid = *(ItemPointer) DatumGetPointer(slot_getattr(sort->sorted, sort->n + 1, &isnull));
	return true;
}

void
rencoder_row_sort_end(RencoderRowSort *sort)
{
	if (sort->sort != NULL)
		tuplesort_end(sort->sort);
	sort->sort = NULL;
	ExecClearTuple(sort->sorted);
}

void
rencoder_row_sort_free(RencoderRowSort *sort)
{
	rencoder_row_sort_end(sort);
	ExecDropSingleTupleTableSlot(sort->values);
	ExecDropSingleTupleTableSlot(sort->sorted);
}
