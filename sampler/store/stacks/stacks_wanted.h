#ifndef JS_STACKS_WANTED_H
#define JS_STACKS_WANTED_H

#include <stdbool.h>
#include <stdint.h>

struct dictionary;
struct err;

/* Which stacks of a dictionary have a function that somebody wants. Each function on them is asked about once. */
struct stacks_wanted {
	const struct dictionary *dict; /* may grow; only nodes that it has at stacks_wanted_begin() are asked about */
	int (*wants)(void *ctx, const char *function, struct err *err); /* 1, 0 or -errno */
	void *ctx;
	bool self; /* the function must be the leaf */
	uint8_t *functions, *nodes; /* what is known of each */
};

int stacks_wanted_begin(struct stacks_wanted *w); /* the members above are set. 0 or -ENOMEM */
void stacks_wanted_know(struct stacks_wanted *w, uint32_t function, bool wanted); /* it is not asked about any more */
int stacks_wanted_node(struct stacks_wanted *w, uint32_t node, struct err *err); /* 1, 0 or what wants() failed with */
void stacks_wanted_done(struct stacks_wanted *w); /* also of one that is all zero */

#endif
