/*
 * memcheck.h
 *		What PostgreSQL built with USE_VALGRIND tells valgrind of its memory, told to the address sanitizer.
 *
 * A server that is built with this file in its path (test/sanitize.sh --source) has the sanitizer know of
 * memory of its own allocators: which bytes of a block are handed out, and which buffers are pinned.  The
 * sanitizer has nothing of defined and undefined bytes: both may be read.
 */
#ifndef RENCODER_ASAN_MEMCHECK_H
#define RENCODER_ASAN_MEMCHECK_H

#include <sanitizer/asan_interface.h>

#define VALGRIND_MAKE_MEM_NOACCESS(addr, size)	__asan_poison_memory_region((addr), (size))
#define VALGRIND_MAKE_MEM_UNDEFINED(addr, size) __asan_unpoison_memory_region((addr), (size))
#define VALGRIND_MAKE_MEM_DEFINED(addr, size)	__asan_unpoison_memory_region((addr), (size))
#define VALGRIND_CHECK_MEM_IS_DEFINED(addr, size)	((void) 0)

/* Pools have no lists here: what an allocator frees it marks itself, too, as assertions are on. */
#define VALGRIND_CREATE_MEMPOOL(pool, redzone, zeroed)	((void) 0)
#define VALGRIND_DESTROY_MEMPOOL(pool)	((void) 0)
#define VALGRIND_MEMPOOL_ALLOC(pool, addr, size)	__asan_unpoison_memory_region((addr), (size))
#define VALGRIND_MEMPOOL_CHANGE(pool, from, to, size)	__asan_unpoison_memory_region((to), (size))
#define VALGRIND_MEMPOOL_FREE(pool, addr)	((void) 0)
#define VALGRIND_MEMPOOL_TRIM(pool, addr, size) ((void) 0)

/* Each error ends the process. */
#define VALGRIND_COUNT_ERRORS	0
#define VALGRIND_PRINTF(...)	((void) 0)

#endif							/* RENCODER_ASAN_MEMCHECK_H */
