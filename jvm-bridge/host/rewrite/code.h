#ifndef JS_BRIDGE_CODE_REWRITE_H
#define JS_BRIDGE_CODE_REWRITE_H

#include "jvm-bridge/host/rewrite/code_map.h"

/* The constants that inserted code refers to. */
struct call_constants {
	unsigned entered, left, caught; /* methods */
	unsigned allocated, allocated_all; /* likewise: of an object, of an array with the arrays in it */
	unsigned throwable; /* the class java.lang.Throwable */
	unsigned frames; /* the name StackMapTable */
	unsigned number; /* the method's own: the argument of `entered` and so on */
};

struct method_kind {
	struct insertions in;
	bool constructor;
	unsigned arguments; /* besides `this`; of constructors only */
};

/*
 * Writes a Code attribute's contents. in.calls: with calls of `entered` at the beginning, of `left` before each return and
 * where an exception leaves the method, of `caught` at each exception handler. in.allocs: with calls of `allocated` and
 * `allocated_all`. -ENOENT: nothing is to be inserted; -EINVAL: nothing that we understand; -E2BIG: it would be too large,
 * or a branch too long; -ENOMEM. Then `ret` may have been written to.
 */
int code_rewrite(const struct class_file *c, struct reader code, const struct method_kind *kind,
		 const struct call_constants *calls, struct writer *ret);

#endif
