#ifndef JS_SESSION_PICK_H
#define JS_SESSION_PICK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hotspot;
struct walk;

/*
 * Chooses samples by what their walks met, to make small recordings of rare shapes: "vtable" is a
 * sample whose innermost user frame is a vtable or itable stub, "any:vtable" one with such a frame
 * anywhere; "deep", "frozen", "heap", "broken" and "plain" describe the walk as a whole.
 */
struct pick {
	uint8_t kind;
	bool any;
};

int pick_parse(const char *text, struct pick *ret); /* -EINVAL: no such kind */
const char *pick_names(void); /* for a usage message */

/* hs may be NULL. *ret_what: equal for samples that show the same thing. */
bool pick_matches(const struct pick *p, const struct walk *w, struct hotspot *hs, uint64_t *ret_what);

#endif
