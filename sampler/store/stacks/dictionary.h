#ifndef JS_STACKS_DICTIONARY_H
#define JS_STACKS_DICTIONARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/store/stacks/recurring.h"
#include "symbolizer/base/buf.h"
#include "symbolizer/base/slots.h"
#include "symbolizer/base/strtab.h"

struct cursor;

/*
 * Tables of what a day file's buckets refer to by number. Numbers are assigned once and only grow; 0 is "none" in
 * each table. The file has the tables in pieces (segments); the last piece is rewritten until it is large enough.
 *
 * A node is one frame of a stack, and stands for the stack from the root to it. A writer forgets nodes
 * (dictionary_forget()), so a stack may have several; which node whole stacks have, it remembers for longer
 * (dictionary_stack()).
 */
enum dictionary_table {
	DICT_STRINGS,
	DICT_FUNCTIONS, /* name, system name, source file: strings */
	DICT_MAPPINGS, /* file, build id: strings */
	DICT_FRAMES, /* function, mapping, bits (frame_bits.h) */
	DICT_NODES, /* parent node, frame, line */
	DICT_LABELS, /* thread pool, state: strings */
	DICT_EVENTS, /* name, unit: strings */
	DICT_TABLES
};

enum {
	DICT_COLUMNS = 3,
	/*
	 * Size in bytes, before packing, at which a segment is settled: smaller ones are packed again with each flush, and
	 * a reader takes whole segments, of which it may need only a few rows.
	 */
	DICT_SEGMENT = 32 << 10,
	DICT_NODES_MAX = 40000, /* after so many, dictionary_forget() has something to do */
	/* Whose nodes are remembered, of those that recur, and of others; twice as many at most (recent.h); 18 to 27 bytes for each. */
	DICT_STACKS_MAX = 125000,
	DICT_DEPTH_MAX = 4096, /* frames of a stack: PROFILE_DEPTH, and more than enough for kernel frames and roots */
};

uint32_t dictionary_width(enum dictionary_table t); /* columns of a row; 1 for strings */
/* The table that a column refers to, which is an earlier one, or DICT_NODES itself; DICT_TABLES: none, or no such column. */
uint32_t dictionary_refers(enum dictionary_table t, uint32_t column);

struct dictionary_rows {
	uint32_t *v; /* rows of `width` numbers */
	uint32_t width, n, cap;
	struct slots index;
};

struct dictionary {
	struct strtab *strings;
	struct dictionary_rows rows[DICT_TABLES]; /* unused for strings */
	uint16_t *depths; /* of nodes (dictionary_private.h); room for rows[DICT_NODES].cap */
	bool shares; /* texts that dictionary_translate() adds, with others that share; not what a file is loaded with */
	size_t node_segment; /* in place of DICT_SEGMENT, for nodes */
	/*
	 * A node's number is its row's position plus forgotten_nodes. Where nodes were forgotten between them, the first n_kept
	 * rows, and "none" at least, have numbers of their own.
	 */
	uint32_t forgotten_nodes, n_kept, *kept;
	uint32_t forgot_at; /* how many nodes there were when some were forgotten */
	struct recurring
		stacks; /* the nodes of whole stacks, by a hash of the stack; no limit: it does not remember any */
	/* Rows in segments that are final, and rows in all segments. */
	uint32_t settled[DICT_TABLES], saved[DICT_TABLES];
	struct buf unsettled[DICT_TABLES]; /* what is between these two, as a segment has it */
	uint64_t names, names_max; /* bytes, without nodes: what there is, and beyond which nothing is added */
	uint64_t left_out; /* how many frames and thread pools were named DICT_LEFT_OUT instead */
	uint64_t refused; /* how often there was no room for something */
	uint32_t left_string; /* DICT_LEFT_OUT; 0: not there */
};

/*
 * Names come from targets, which can make up new ones without end. What is new when there is no more room for it gets
 * this name: a function, a thread pool, or an event. Several such frames in succession are one.
 */
#define DICT_LEFT_OUT "[name left out]"

struct dictionary *dictionary_new(void); /* NULL: out of memory */
void dictionary_free(struct dictionary *d);
/* For a writer, from now on: stacks keep their nodes for longer than nodes are kept, for 12 MB at most. */
void dictionary_remember(struct dictionary *d);
/* Time has come to these periods (recurring_period()): stacks that were not seen for long enough get new nodes from now on. */
void dictionary_period(struct dictionary *d, int64_t once, int64_t lasting);
/*
 * Frees what only adding needs, a third of the memory, until something is looked for again: that takes some ms then, and 80
 * at the limit of names.
 */
void dictionary_rest(struct dictionary *d);
size_t dictionary_bytes(const struct dictionary *d); /* memory held */

/*
 * The number of a row, added if new and if there is room (names_max); `row` has one number per column of the table. The parent of a new node must be less
 * than DICT_DEPTH_MAX deep. UINT32_MAX: out of memory.
 */
uint32_t dictionary_id(struct dictionary *d, enum dictionary_table t, const uint32_t *row);
uint32_t dictionary_string(struct dictionary *d, const char *text);
/*
 * Is this the node after its caller's? The frames of a stack were mostly added one after the other, so this spares most
 * searches.
 */
static inline bool dictionary_follows(const struct dictionary *d, const uint32_t *row)
{
	const struct dictionary_rows *r = &d->rows[DICT_NODES];
	uint32_t next = row[0] - d->forgotten_nodes + 1;
	const uint32_t *v;

	if (row[0] <= d->forgotten_nodes || next <= d->n_kept || next >= r->n)
		return false;
	v = r->v + (size_t)next * DICT_COLUMNS;
	return v[0] == row[0] && v[1] == row[1] && v[2] == row[2];
}

/*
 * The node of a whole stack, n frames from the root on, n at most DICT_DEPTH_MAX; 0: n is 0. UINT32_MAX: out of memory.
 * Of a dictionary that remembers, it may be one that was forgotten.
 */
struct dictionary_frame {
	uint32_t frame, line;
};
uint32_t dictionary_stack(struct dictionary *d, const struct dictionary_frame *frames, size_t n);

/* How the node's frame ran: enum named_kind. */
uint8_t dictionary_kind(const struct dictionary *d, uint32_t node);
/* Does this function stand for those that were left out? */
bool dictionary_is_left_out(const struct dictionary *d, uint32_t function);

uint32_t dictionary_count(const struct dictionary *d, enum dictionary_table t);
/* Borrowed until the next dictionary_id(). `id` must be less than the count; a node: dictionary_has_node(). */
const uint32_t *dictionary_row(const struct dictionary *d, enum dictionary_table t, uint32_t id);

/*
 * If there are many nodes, and all are saved, most are forgotten, so that the memory of a writer stays bounded: only a
 * file has them. It keeps the newest, and those that stacks had in common lately, which others are likely to have, too.
 */
void dictionary_forget(struct dictionary *d);
/* For a writer of a file that has nodes below `count`: they count as forgotten. Before any node is added. */
void dictionary_skip_nodes(struct dictionary *d, uint32_t count);
bool dictionary_has_node(const struct dictionary *d, uint32_t node); /* less than the count, and not forgotten */

uint32_t dictionary_depth(const struct dictionary *d, uint32_t node); /* of one that was not forgotten; 0: no node */

/*
 * The number in `to` of a row of `from`, except a node. ids: known translations, by table and number in `from`; 0: none yet. What
 * there is no room for is not noted there, as another program may have room for it.
 */
uint32_t dictionary_translate(const struct dictionary *from, enum dictionary_table t, uint32_t id,
			      struct dictionary *to, uint32_t *const ids[DICT_TABLES]);

/*
 * Encodes rows that are not settled, up to the size of a segment, as one that starts with number *ret_first and replaces an earlier one
 * with that first number. The rows then count as saved. Call it until there is nothing new (false).
 */
bool dictionary_save(struct dictionary *d, enum dictionary_table t, uint32_t *ret_first, struct buf *ret);
/*
 * Adds a segment, in the order of tables and numbers, before any row is added otherwise. -EBADMSG: it does not follow the previous ones, has
 * an invalid reference, or a stack deeper than DICT_DEPTH_MAX.
 */
int dictionary_load(struct dictionary *d, enum dictionary_table t, uint32_t first, const void *bytes, size_t len);

/* Takes a row as a segment has it, unchecked: the parent of node N is N minus the first number. Sets c->bad at its end. */
void dictionary_take_row(struct cursor *c, enum dictionary_table t, uint32_t *row);

#endif
