#ifndef JS_STACKS_DICTIONARY_H
#define JS_STACKS_DICTIONARY_H

#include <stddef.h>
#include <stdint.h>

#include "symbolizer/base/slots.h"
#include "symbolizer/base/strtab.h"

struct buf;

/*
 * Tables of what a day file's buckets refer to by number. Numbers are assigned once and only grow; 0 is "none" in
 * each table. The file has the tables in pieces (segments); the last piece is rewritten until it is large enough.
 *
 * A node is one frame of a stack, and stands for the stack from the root to it.
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
	DICT_DEPTH_MAX = 4096, /* frames of a stack: PROFILE_DEPTH, and more than enough for kernel frames and roots */
};

struct dictionary_rows {
	uint32_t *v; /* rows of `width` numbers */
	uint32_t width, n, cap;
	struct slots index;
};

struct dictionary {
	struct strtab *strings;
	struct dictionary_rows rows[DICT_TABLES]; /* unused for strings */
	uint16_t *depths; /* of nodes: frames from the root to each; room for rows[DICT_NODES].cap */
	/* Rows in segments that are final, and rows in all segments. */
	uint32_t settled[DICT_TABLES], saved[DICT_TABLES];
};

struct dictionary *dictionary_new(void); /* NULL: out of memory */
void dictionary_free(struct dictionary *d);
/* Frees what only adding needs; nothing may be added afterwards. */
void dictionary_seal(struct dictionary *d);
size_t dictionary_bytes(const struct dictionary *d); /* memory held */

/*
 * The number of a row, added if new; `row` has one number per column of the table. The parent of a new node must be less
 * than DICT_DEPTH_MAX deep. UINT32_MAX: out of memory.
 */
uint32_t dictionary_id(struct dictionary *d, enum dictionary_table t, const uint32_t *row);
uint32_t dictionary_string(struct dictionary *d, const char *text);

uint32_t dictionary_count(const struct dictionary *d, enum dictionary_table t);
/* Borrowed until the next dictionary_id(). `id` must be less than the count. */
const uint32_t *dictionary_row(const struct dictionary *d, enum dictionary_table t, uint32_t id);

uint32_t dictionary_depth(const struct dictionary *d, uint32_t node); /* 0: no node */

/* The number in `to` of a row of `from`. ids: known translations, by table and number in `from`; 0: none yet. */
uint32_t dictionary_translate(const struct dictionary *from, enum dictionary_table t, uint32_t id,
			      struct dictionary *to, uint32_t *const ids[DICT_TABLES]);

/*
 * Encodes the rows that are not settled, as a segment that starts with number *ret_first and replaces an earlier one
 * with that first number. The rows then count as saved. false: nothing new.
 */
bool dictionary_save(struct dictionary *d, enum dictionary_table t, uint32_t *ret_first, struct buf *ret);
/*
 * Adds a segment, in the order of tables and numbers. -EBADMSG: it does not follow the previous ones, has an invalid
 * reference, or a stack deeper than DICT_DEPTH_MAX.
 */
int dictionary_load(struct dictionary *d, enum dictionary_table t, uint32_t first, const void *bytes, size_t len);

#endif
