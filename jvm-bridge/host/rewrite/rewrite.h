#ifndef JS_BRIDGE_REWRITE_H
#define JS_BRIDGE_REWRITE_H

#include "jvm-bridge/host/rewrite/bytes.h"

/*
 * Inserts calls into the methods of a class file. They are static methods of a class of the bootstrap loader, which
 * has to be defined first (calls_class_write()). INSERT_CALLS, each with the method's number as the argument:
 *     entered  at the beginning
 *     left     before each return, and when an exception leaves the method: not while a constructor has not yet called
 *              super() or this(), because the verifier does not allow it
 *     caught   at the beginning of each exception handler: what this method has called is left
 * INSERT_ALLOCS, each with an object that is new, or in the last case may be:
 *     allocated      at the beginning of java.lang.Object's constructor; after an array was made; after a call of a method
 *                    that compiled code replaces by an allocation of its own
 *     allocated_all  after an array with arrays in it was made
 * Existing constants keep their indices, so that a class that is loaded already can be changed in the same way.
 */
#define CALLS_CLASS "java/lang/JSamplerCalls"
#define CALLS_NAME "java.lang.JSamplerCalls"
#define CALLS_ENTERED "entered"
#define CALLS_LEFT "left"
#define CALLS_CAUGHT "caught"
#define CALLS_TYPE "(I)V"
#define CALLS_ALLOCATED "allocated"
#define CALLS_ALLOCATED_ALL "allocatedAll"
#define CALLS_ALLOC_TYPE "(Ljava/lang/Object;)V"

enum insert { INSERT_CALLS = 1, INSERT_ALLOCS = 2 };

struct rewriting {
	unsigned what; /* enum insert */
	unsigned methods; /* with calls */
	unsigned numbers; /* that they need */
	unsigned left_out; /* methods that would be too large, or are nothing that we understand */
	bool is_object; /* the class is java.lang.Object */
	struct writer constants, body;
	struct reader head; /* what comes before the new constants */
	unsigned n_constants;
};

/*
 * data is kept until rewriting_done(), which is called in any case. 0 with no methods: nothing to be changed. -EINVAL:
 * not a class file that we know; -E2BIG: no room for the constants; -ENOMEM.
 */
int rewriting_begin(struct rewriting *r, unsigned what, const uint8_t *data, size_t size);
size_t rewriting_size(const struct rewriting *r);
/* to: rewriting_size() bytes. The numbers are `first` and those that follow. */
void rewriting_write(const struct rewriting *r, uint32_t first, uint8_t *to);
void rewriting_done(struct rewriting *r);

/* The class file of CALLS_CLASS; free(w->p). -ENOMEM. */
int calls_class_write(struct writer *w);

#endif
