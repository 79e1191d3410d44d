#ifndef JS_HOTSPOT_METHOD_READ_H
#define JS_HOTSPOT_METHOD_READ_H

#include "symbolizer/hotspot/methods/method_table.h"

/*
 * Reads the data for naming many methods at once: Method* -> ConstMethod -> ConstantPool -> class and symbols. Each
 * step is one batch for all methods, so that even a large nmethod costs few system calls.
 */
enum {
	SYMBOL_GUESS = 136, /* bytes of a symbol to read before its length is known */
	HEADER_GUESS = 512, /* of a ConstMethod: few have more bytecodes and data after them */
	METHOD_SPAN_MAX = 256,
	POOL_SPAN_MAX = 512,
	READ_GROUP = 64, /* methods in a batch */
	READ_SPANS = 6, /* most spans of one method in one step */
};

enum { NAME, SIGNATURE, CLASS, SOURCE, N_SYMBOLS };

enum { AGAIN_CONST_METHOD, AGAIN_HOLDER, AGAIN_CLASS, AGAIN_NAME, N_AGAIN };

struct method_read {
	uint64_t addr; /* in */
	uint32_t
		candidate; /* out: the cached method with this identity, whose names remain to be compared; the tail is not read */
	bool fresh; /* in: do not look for a candidate */
	bool whole; /* in: read the names of a candidate in any case */
	bool alone; /* in: do not rely on the JVM's counts */
	bool known; /* out: the candidate's class has not been unloaded since it was read, as far as the JVM's count was
		     * read before: nothing more was read */
	bool bad; /* out: it is not a method */
	bool counted; /* out: it is valid only if the JVM's counts are still what they were before */
	const struct method_entry *like; /* one of the same class; NULL: none is known */
	const char *text[N_SYMBOLS]; /* known, so that the symbol was not read; else NULL */
	uint64_t const_method, pool, holder;
	uint32_t pool_length; /* in slots */
	uint64_t symbol[N_SYMBOLS], slot[N_SYMBOLS];
	bool name_is_long[N_SYMBOLS]; /* SYMBOL_GUESS was too short */
	uint32_t source_index;
	uint8_t *tail; /* bytecodes and the data after them; free it with method_read_done() */
	uint32_t header_len; /* of `header`: that of the fields, or more */
	bool header_bad; /* HEADER_GUESS was too long */
	uint32_t code_size, tail_len;
	bool tail_bad;
	uint64_t again[N_AGAIN]; /* second reading of some fields, made at the end, unless `counted` */
	uint8_t method[METHOD_SPAN_MAX], header[HEADER_GUESS], cp[POOL_SPAN_MAX];
	uint8_t guess[N_SYMBOLS][SYMBOL_GUESS];
};

struct bytes method_read_header(const struct jvm *jvm, const struct method_read *m);

/* Reads n <= READ_GROUP methods. The caller frees them with method_read_done(). */
void methods_read(const struct method_table *table, struct method_read *m, size_t n);
void method_read_done(struct method_read *m);

#endif
