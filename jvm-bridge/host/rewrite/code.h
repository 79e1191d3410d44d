#ifndef JS_BRIDGE_CODE_REWRITE_H
#define JS_BRIDGE_CODE_REWRITE_H

#include "jvm-bridge/host/rewrite/class_file.h"

/* The constants that inserted code refers to. */
struct call_constants {
	unsigned entered, left, caught; /* methods */
	unsigned throwable; /* the class java.lang.Throwable */
	unsigned frames; /* the name StackMapTable */
	unsigned number; /* the method's own: the argument of all three */
};

struct method_kind {
	bool constructor;
	unsigned arguments; /* besides `this`; of constructors only */
};

/*
 * Writes a Code attribute's contents with calls of `entered` at the beginning, of `left` before each return and where
 * an exception leaves the method, of `caught` at each exception handler. -EINVAL: nothing that we understand; -E2BIG:
 * it would be too large, or a branch too long; -ENOMEM. Then `ret` may have been written to.
 */
int code_rewrite(const struct class_file *c, struct reader code, const struct method_kind *kind,
		 const struct call_constants *calls, struct writer *ret);

#endif
