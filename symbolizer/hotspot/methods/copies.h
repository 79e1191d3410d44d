#ifndef JS_HOTSPOT_COPIES_H
#define JS_HOTSPOT_COPIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jvm;
struct strtab;

/* Memory for copies of code and methods: counted, and bounded whatever a target shows. */
struct copies {
	struct jvm *jvm; /* borrowed, both */
	struct strtab *names; /* of blobs, and of what only others know; never freed */
	size_t bytes; /* of the copies */
	size_t forget_at; /* of them; forget.c */
	uint64_t kept; /* hotspot_kept_bytes() */
	bool said_full;
};

/* The bound was reached: nothing more is to be interned. A message says so the first time. */
bool copies_full(struct copies *c);
size_t copies_bytes(const struct copies *c); /* with names and the reader's texts */

/* A pointer in an entry, by its offset, and the size of what it points to. 0: it becomes NULL. */
struct copy_part {
	size_t pointer, size;
};

/* An entry with all that it points to in one block, which copies_drop() frees. NULL: out of memory. */
void *copies_add(struct copies *c, const void *entry, size_t size, const struct copy_part *parts, size_t n,
		 size_t *ret_bytes);
void copies_drop(struct copies *c, void *entry, size_t bytes);

#endif
