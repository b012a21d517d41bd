/*
 * renc_program.h
 *		Probe programs: a query compiled for one shape, executed on masks.
 *
 * Compiled once per scan and shape, a program is the list of the nodes that
 * decompose the query, with their hashes; it does not depend on the number of
 * windows, so all groups of one shape share it.  Executing it on a group is
 * AND and OR of rows (masks of 128 or 8 ranges):
 *
 *		node      = parent AND its rows in each window
 *		result    = OR of the leaves
 *
 * The nodes below one root form a tree; a tree's rows stand in kw windows,
 * which are visited one after the other (window-major), each with all nodes of
 * the tree, stopping when no node is left.
 *
 * A range whose bit is not set in the result holds no key that satisfies the
 * query.  There are no false negatives: along the path to any stored key
 * within the query, every tested node has its bits set.
 */
#ifndef RENC_PROGRAM_H
#define RENC_PROGRAM_H

#include "renc_hash.h"
#include "renc_mask.h"
#include "renc_query.h"
#include "renc_shape.h"

#define RENC_NODE_RESULT	0x01	/* leaf: its mask goes to the result */
#define RENC_NODE_LINK		0x02	/* trees of the second stage go on below
									 * it */
#define RENC_NODE_INSIDE	0x04	/* all keys of the node satisfy the query */

typedef struct renc_node
{
	uint64_t	prefix;
	renc_hash	hash;
	int32_t		parent;			/* node of the same tree, or -1: the root */
	uint8_t		level;
	uint8_t		flags;
} renc_node;

typedef struct renc_tree
{
	renc_hash	hash;
	int32_t		first_node;
	int32_t		nnodes;
	int32_t		link;			/* node of the first stage, or -1 */
	int32_t		stage;
} renc_tree;

typedef struct renc_program
{
	renc_shape	shape;
	uint32_t	rows;			/* rows per window */
	bool		always;			/* too long to test: every range may match */
	bool		complete;		/* no level was given up */
	int			ntrees;
	int			nnodes;
	renc_tree	tree[RENC_MAX_TREES];
	renc_node	node[RENC_MAX_NODES];
	renc_mask	mask[RENC_MAX_NODES];	/* scratch of an execution */
} renc_program;

/*
 * Where an execution finds its windows.  "window" returns the rows of a window, valid
 * until the next call, or NULL if it cannot be read, which counts as all bits
 * set.  "width" is 16 (matrix) or 1 (slice).
 */
typedef struct renc_windows
{
	uint32_t	nwindows;
	int			width;
	const uint8_t *(*window) (void *arg, uint32_t window);
	void	   *arg;
} renc_windows;

/*
 * Compiles a query.  Nodes that lie wholly inside the query need not be
 * descended; they are as far as the node budget allows, from the deepest
 * level up, and in the end so are those on its border: what such a node holds
 * beside the query counts as met.  A query with more roots or boundary nodes than
 * the budget gives a program with "always" set.
 */
extern void renc_program_compile(renc_program *prog, const renc_shape *shape,
								 uint32_t rows, const renc_interval_set *set);

/* The same with a budget of fewer nodes, and without hashes of nodes: to be looked at only. */
extern void renc_program_compile_within(renc_program *prog, const renc_shape *shape,
										const renc_interval_set *set, int max_nodes);

/* Ranges of "candidates" that may hold a key satisfying the query. */
extern renc_mask renc_program_execute(renc_program *prog, const renc_windows *windows,
									  renc_mask candidates);

#endif							/* RENC_PROGRAM_H */
