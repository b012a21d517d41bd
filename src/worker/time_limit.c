/*
 * time_limit.c
 *		How long the worker stays with one job while others wait for it.
 *
 * Expressions of an index are functions of the table's owner: they may sleep, or wait for a lock.
 * Time alone is no reason to end a job, since a run of a large table takes long.
 */
#include "worker/time_limit.h"

#include "miscadmin.h"
#include "storage/latch.h"
#include "utils/guc.h"
#include "utils/timeout.h"
#include "utils/timestamp.h"

#include "worker/worker_queue.h"

/* How often it looks for others when the time is over. */
#define LOOK_FOR_OTHERS_MS	1000

static TimeoutId limit;
static Oid	limited_index;
static TimestampTz limited_other_due;
static volatile sig_atomic_t over;

/* In a signal handler: takes no lock. */
static void
look_for_others(void)
{
	if (GetCurrentTimestamp() < limited_other_due &&
		!rencoder_worker_queue_others_wait(limited_index))
		return;
	over = true;
	QueryCancelPending = true;
	InterruptPending = true;
	SetLatch(MyLatch);
}

/*
 * Some timeouts of settings end the session, and it would be asked for again and again.  Not
 * every version has all of them.
 */
void
rencoder_time_limit_init(void)
{
	static const char *const timeouts[] = {
		"statement_timeout", "transaction_timeout", "lock_timeout",
		"idle_in_transaction_session_timeout", "idle_session_timeout"
	};

	for (int i = 0; i < (int) lengthof(timeouts); i++)
	{
		if (GetConfigOption(timeouts[i], true, false) != NULL)
			SetConfigOption(timeouts[i], "0", PGC_SUSET, PGC_S_OVERRIDE);
	}
	limit = RegisterTimeout(USER_TIMEOUT, look_for_others);
}

void
rencoder_time_limit_begin(Oid index, TimestampTz other_due, int ms)
{
	over = false;
	limited_index = index;
	limited_other_due = other_due;
	enable_timeout_every(limit, TimestampTzPlusMilliseconds(GetCurrentTimestamp(), ms),
						 LOOK_FOR_OTHERS_MS);
}

bool
rencoder_time_limit_end(void)
{
	disable_timeout(limit, false);
	if (over)
		QueryCancelPending = false;
	return over;
}
