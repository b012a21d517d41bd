/*
 * design_share.c
 *		What the processes of a parallel build tell each other of shapes.
 *
 * The mutex is held for copies of some hundred bytes only.
 */
#include "plan/design_share.h"

#include "utils/wait_event.h"

void
rencoder_design_share_init(RencoderDesignShare *share)
{
	memset(share, 0, sizeof(*share));
	ConditionVariableInit(&share->changed);
	SpinLockInit(&share->mutex);
}

bool
rencoder_design_share_begin(RencoderDesignShare *share, int col, renc_search *search,
							uint32 *version)
{
	RencoderSharedSearch *shared = &share->column[col];
	bool		claimed;

	for (;;)
	{
		renc_search found;
		bool		newer;
		bool		wait;

		SpinLockAcquire(&share->mutex);
		newer = shared->version != *version;
		if (newer)
		{
			found = shared->search;
			*version = shared->version;
		}
		wait = !newer && !search->warm && shared->claimed;
		claimed = !newer && !search->warm && !shared->claimed;
		shared->claimed |= claimed;
		SpinLockRelease(&share->mutex);
		if (newer)
			renc_search_adopt(search, &found);
		if (!wait)
			break;
		ConditionVariableSleep(&share->changed, WAIT_EVENT_PARALLEL_CREATE_INDEX_SCAN);
	}
	ConditionVariableCancelSleep();
	return claimed;
}

void
rencoder_design_share_end(RencoderDesignShare *share, int col, const renc_search *search,
						  bool claimed, bool searched, uint32 *version)
{
	RencoderSharedSearch *shared = &share->column[col];

	SpinLockAcquire(&share->mutex);
	if (searched)
	{
		shared->search = *search;
		*version = ++shared->version;
	}
	if (claimed)
		shared->claimed = false;
	SpinLockRelease(&share->mutex);
	if (claimed)
		ConditionVariableBroadcast(&share->changed);
}
