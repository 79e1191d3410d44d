#ifndef JS_BRIDGE_CALLS_H
#define JS_BRIDGE_CALLS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The calls that a thread is in, by the numbers of inserted calls, so that each METHOD_ENTRY gets its METHOD_EXIT.
 * Exits may be missing: of a constructor whose super() fails, and if the stack is too small for the inserted call.
 * Then they are made up for when a caller catches the exception or leaves.
 */
enum { CALLS_MAX = 1 << 20 };

struct calls {
	uint32_t *at; /* the outermost first */
	uint32_t depth, capacity;
	uint32_t beyond; /* calls that are not in the list, being too many */
};

/* false: not in the list, and its calls_left() returns false. */
bool calls_entered(struct calls *c, uint32_t number);
/* true: calls_drop() gives all from the innermost one to it, and then false. */
bool calls_left(struct calls *c, uint32_t number, uint32_t *to);
/* Likewise the calls inside it. */
bool calls_caught(const struct calls *c, uint32_t number, uint32_t *to);
bool calls_drop(struct calls *c, uint32_t to, uint32_t *number);
void calls_forget(struct calls *c); /* all of them; NULL is allowed */
void calls_done(struct calls *c); /* frees; NULL is allowed */

#endif
