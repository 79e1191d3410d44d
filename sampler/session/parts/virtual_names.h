#ifndef JS_SESSION_PARTS_VIRTUAL_NAMES_H
#define JS_SESSION_PARTS_VIRTUAL_NAMES_H

#include "sampler/session/parts/part.h"

/*
 * Names of sampled virtual threads, as roots of their stacks (--threads). There may be millions of
 * them: the first VIRTUAL_NAMES_MAX names are kept, all others share one root.
 */
enum { VIRTUAL_NAMES_MAX = 1000 };

struct virtual_names;

struct virtual_names *virtual_names_new(void); /* NULL: out of memory */
extern const struct part_ops virtual_names_part;

#endif
