#ifndef JS_STACKS_WANTED_H
#define JS_STACKS_WANTED_H

#include <stdbool.h>
#include <stdint.h>

struct dictionary;
struct err;

/* Finds the stacks of a dictionary that contain a wanted function. wants() is called once for each function on them. */
struct stacks_wanted {
	const struct dictionary *dict; /* may grow; only nodes that exist at stacks_wanted_begin() can be looked up */
	int (*wants)(void *ctx, const char *function, struct err *err); /* 1, 0 or -errno */
	void *ctx;
	bool self; /* the function must be the leaf */
	uint8_t *functions, *nodes; /* what is known of each */
};

int stacks_wanted_begin(struct stacks_wanted *w); /* the members above are set. 0 or -ENOMEM */
void stacks_wanted_know(struct stacks_wanted *w, uint32_t function, bool wanted); /* no wants() for it */
int stacks_wanted_node(struct stacks_wanted *w, uint32_t node, struct err *err); /* 1, 0 or what wants() failed with */
void stacks_wanted_done(struct stacks_wanted *w); /* also allowed if *w is all zero */

#endif
