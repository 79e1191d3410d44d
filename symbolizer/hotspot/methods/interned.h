#ifndef JS_HOTSPOT_INTERNED_H
#define JS_HOTSPOT_INTERNED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/base/u64map.h"
#include "symbolizer/base/vec.h"

struct budget;
struct jvm;
struct strtab;

/* Memory for copies of code and methods, counted and limited. */
struct copies {
	struct jvm *jvm; /* borrowed, both */
	struct strtab *names; /* of blobs, and of code and methods reported by others; never freed */
	size_t bytes; /* of the copies */
	struct budget *budget; /* borrowed; NULL: none */
	uint64_t taken; /* bytes taken from it */
	size_t forget_at; /* value of `bytes` at which to forget; forget.c */
	uint64_t kept; /* hotspot_kept_bytes() */
	uint64_t unused_ns; /* hotspot_forget_unused(); 0: never */
	bool said_full;
};

/* Is the limit reached, so that nothing more can be interned? Logs a message the first time. */
bool copies_full(struct copies *c);
size_t copies_bytes(const struct copies *c); /* including names and the reader's texts */

/*
 * A variable part of an entry: the offset of the pointer to it, and its size. If that is 0, the pointer becomes NULL.
 */
struct copy_part {
	size_t pointer, size;
};

/* Why a copy is not forgotten; forget.h. */
enum { KEEP_NOT, KEEP_LIVE, KEEP_NAMED };

/* The head of an entry. */
struct entry {
	uint64_t key; /* in ids; 0: not there */
	uint64_t checked_ns; /* when it was last found unchanged; 0: never */
	size_t bytes; /* of the entry and all its parts, which are one block */
	uint32_t stamp; /* the walk that last noted it, or STAMP_PERMANENT */
	uint8_t keep;
};

enum { INTERNED_PAGE = 256 };

/* Code blobs or methods by id, from 1 on. An id is never used twice. Zero-initialise, then set copies. */
struct interned {
	struct copies *copies; /* borrowed */
	uint32_t n; /* ids given */
	VEC(struct entry **) pages; /* of INTERNED_PAGE entries each, from id 1 on. NULL: forgotten, one or all */
	VEC(uint32_t) used; /* ids noted in this walk */
	struct u64map ids; /* key -> id */
	uint64_t added, replaced, forgotten; /* counts */
};
void interned_done(struct interned *t);

static inline struct entry *interned_get(const struct interned *t,
					 uint32_t id) /* NULL for 0 and for the id of a forgotten entry */
{
	struct entry *const *page = id && id <= t->n ? t->pages.v[(id - 1) / INTERNED_PAGE] : NULL;

	return page ? page[(id - 1) % INTERNED_PAGE] : NULL;
}

/*
 * Copies an entry of `size` bytes and its parts into one block, and gives it the next id. Does not add its key to ids.
 * 0: out of memory.
 */
uint32_t interned_add(struct interned *t, const struct entry *e, size_t size, const struct copy_part *parts, size_t n);
/* Makes a copy of `e` the entry of this id, instead of the one there, in which `e` may have parts. false: out of memory. */
bool interned_replace(struct interned *t, uint32_t id, const struct entry *e, size_t size,
		      const struct copy_part *parts, size_t n);
/* The next id after that one that has an entry; 0: none. */
uint32_t interned_next(const struct interned *t, uint32_t id);
void interned_use(struct interned *t, uint32_t id); /* notes it for the check at the walk's end */
bool interned_keep(struct interned *t, uint32_t id, uint8_t why); /* false: kept already, or unknown */
/* Frees the entries that are not kept. Returns the bytes of those that are kept only for their names. */
uint64_t interned_forget(struct interned *t);
size_t interned_bytes(const struct interned *t); /* of the tables, without the entries */

#endif
