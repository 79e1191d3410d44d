#ifndef JS_BRIDGE_CONSTRUCTOR_H
#define JS_BRIDGE_CONSTRUCTOR_H

#include "jvm-bridge/host/rewrite/class_file.h"
#include "jvm-bridge/host/rewrite/code_map.h"

/*
 * Where a constructor's `this` is certainly initialized. Before super() or this() has returned, the verifier lets no
 * exception handler cover an instruction: it has no way to say what `this` is if they fail.
 */
struct constructor {
	unsigned arguments; /* besides `this` */
	size_t max_locals;
	struct reader frames; /* its StackMapTable, .p NULL: none */
	const uint8_t *handlers; /* the exception table */
	size_t n_handlers;
	const struct class_file *class_file;
};

/* Marks those instructions AT_COVERED. -EINVAL, -ENOMEM. */
int constructor_cover(struct code_map *m, const struct constructor *c);

#endif
