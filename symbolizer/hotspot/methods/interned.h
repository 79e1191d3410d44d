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

/* Memory for copies of code and methods, which is counted and bounded. */
struct copies {
	struct jvm *jvm; /* borrowed, both */
	struct strtab *names; /* of blobs, and of what others reported; never freed */
	size_t bytes; /* of the copies */
	struct budget *budget; /* borrowed; NULL: none */
	uint64_t taken; /* bytes out of it */
	size_t forget_at; /* of them; forget.c */
	uint64_t kept; /* hotspot_kept_bytes() */
	bool said_full;
};

/* Is the limit reached, so that nothing more may be interned? Logs a message the first time. */
bool copies_full(struct copies *c);
size_t copies_bytes(const struct copies *c); /* including names and the reader's texts */

/* The offset of a pointer in an entry, and the size of what it points to. 0: it becomes NULL. */
struct copy_part {
	size_t pointer, size;
};

/* Why a copy is not forgotten; forget.h. */
enum { KEEP_NOT, KEEP_LIVE, KEEP_NAMED };

/* The head of an entry. */
struct entry {
	uint64_t key; /* in ids; 0: it is not in ids */
	uint64_t checked_ns; /* when it was last found unchanged; 0: never */
	size_t bytes; /* of the entry and all that it points to, which are one block */
	uint8_t keep;
};

/* Code blobs or methods by id, from 1 on. An id is never used twice. Zero-initialise; set copies. */
struct interned {
	struct copies *copies; /* borrowed */
	VEC(struct entry *) entries; /* id - 1; NULL: forgotten */
	VEC(uint32_t) stamps; /* the walk that noted it, or STAMP_PERMANENT */
	VEC(uint32_t) used; /* ids noted in this walk */
	struct u64map ids; /* key -> id */
	uint64_t added, replaced, forgotten; /* counts */
};
void interned_done(struct interned *t);

static inline struct entry *interned_get(const struct interned *t,
					 uint32_t id) /* NULL for 0 and for what was forgotten */
{
	return id && id <= t->entries.n ? t->entries.v[id - 1] : NULL;
}

/* Copies an entry of `size` bytes with its parts, and gives it the next id. Does not add its key to ids. 0: out of memory. */
uint32_t interned_add(struct interned *t, const struct entry *e, size_t size, const struct copy_part *parts, size_t n,
		      uint32_t stamp);
void interned_use(struct interned *t, uint32_t id); /* notes it for the check at the walk's end */
bool interned_keep(struct interned *t, uint32_t id, uint8_t why); /* false: it is kept already, or unknown */
/* Frees what is not kept. Returns the bytes of the entries that are kept for their names only. */
uint64_t interned_forget(struct interned *t);
size_t interned_bytes(const struct interned *t); /* of the tables, without the copies */

#endif
