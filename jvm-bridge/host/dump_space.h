#ifndef JS_BRIDGE_DUMP_SPACE_H
#define JS_BRIDGE_DUMP_SPACE_H

#include <stdbool.h>
#include <stddef.h>

/* Where records are written: address space of the limit's size, of which only what is written takes memory. */
struct dump_space {
	char *begin, *end; /* of what is written */
	char *base, *limit;
};

bool dump_space_open(struct dump_space *s, size_t bytes);
void dump_space_done(struct dump_space *s);
char *dump_behind(struct dump_space *s, size_t n); /* zeroed; NULL: the limit */
char *dump_before(struct dump_space *s, size_t n); /* in front of everything */

#endif
