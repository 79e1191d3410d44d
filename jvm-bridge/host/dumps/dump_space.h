#ifndef JS_BRIDGE_DUMP_SPACE_H
#define JS_BRIDGE_DUMP_SPACE_H

#include <stdbool.h>
#include <stddef.h>

/* Memory that records are written to: address space of the limit's size; only what is written takes memory. */
struct dump_space {
	char *begin, *end; /* the part written so far */
	char *base, *limit;
};

bool dump_space_open(struct dump_space *s, size_t bytes);
void dump_space_done(struct dump_space *s);
char *dump_behind(struct dump_space *s, size_t n); /* room after the rest, zeroed; NULL: limit reached */
char *dump_before(struct dump_space *s, size_t n); /* room before the rest; otherwise the same */

#endif
