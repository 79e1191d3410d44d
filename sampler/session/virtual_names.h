#ifndef JS_SESSION_VIRTUAL_NAMES_H
#define JS_SESSION_VIRTUAL_NAMES_H

#include <stdint.h>

struct hotspot;
struct unwinder;
struct walk;

/*
 * Names of the virtual threads that were sampled, as roots of their stacks (--threads). There may be
 * millions of them: the first VIRTUAL_NAMES_MAX different names are kept apart, all others are one.
 */
enum { VIRTUAL_NAMES_MAX = 1000 };

struct virtual_names;

struct virtual_names *virtual_names_new(void); /* NULL: out of memory */
void virtual_names_free(struct virtual_names *v);

/* Adds the root to the walk just made by `u`, if a virtual thread was mounted and is to be found. */
void virtual_names_add(struct virtual_names *v, struct hotspot *hs, struct unwinder *u, struct walk *w);

const char *virtual_names_get(void *v, uint32_t id); /* for struct resolver_sources; "": one of the others */

#endif
