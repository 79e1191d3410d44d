#ifndef JS_HOTSPOT_METHOD_READ_H
#define JS_HOTSPOT_METHOD_READ_H

#include "symbolizer/hotspot/methods/method_table.h"

/*
 * Reads the data for naming many methods at once: Method* -> ConstMethod -> ConstantPool -> class and symbols. Each
 * step is one batch for all methods, so that even a large nmethod costs few system calls.
 */
enum {
	SYMBOL_GUESS = 136, /* bytes of a symbol to read before its length is known */
	SYMBOL_MAX = 65535, /* the longest text of one */
	/*
	 * Of a ConstMethod: few have more bytecodes and data after them. Mostly it precedes its Method, which is allocated right
	 * after it (Method::allocate(), JDK src/hotspot/share/oops/method.cpp).
	 */
	HEADER_GUESS = 512,
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
	uint32_t sibling; /* out: a method of the same class, which lasts: only the name and the signature are read */
	bool known; /* out: the candidate's class has not been unloaded since it was read, as far as the JVM's count was
		     * read before: nothing more was read */
	bool bad; /* out: it is not a method */
	bool done; /* out: it was read. methods_read() leaves it alone if it is set */
	uint64_t const_method, pool, holder;
	uint64_t loader; /* the ClassLoaderData of the holder, unless loader_bad; 0: not read */
	bool loader_bad;
	uint32_t pool_length; /* in slots */
	uint64_t symbol[N_SYMBOLS], slot[N_SYMBOLS];
	bool guess_bad[N_SYMBOLS]; /* SYMBOL_GUESS was too long */
	uint8_t *text
		[N_SYMBOLS]; /* of symbols that `guess` lacks, or lacks in part; free them with method_read_done() */
	size_t text_len[N_SYMBOLS];
	uint32_t source_index;
	uint8_t *tail; /* bytecodes and the data after them; free it with method_read_done() */
	uint32_t header_len; /* of `header`: that of the fields, or more */
	bool header_bad; /* HEADER_GUESS was too long */
	bool before_bad; /* and so it was before the Method */
	uint32_t code_size, tail_len;
	bool tail_bad;
	uint64_t again[N_AGAIN]; /* second reading of some fields, made at the end */
	uint8_t method[HEADER_GUESS + METHOD_SPAN_MAX]; /* and what precedes it */
	uint8_t header[HEADER_GUESS], cp[POOL_SPAN_MAX];
	uint8_t guess[N_SYMBOLS][SYMBOL_GUESS];
};

struct bytes method_read_fields(const struct jvm *jvm, const struct method_read *m); /* of the Method */
struct bytes method_read_header(const struct jvm *jvm, const struct method_read *m);

/* Reads n <= READ_GROUP methods. The caller frees them with method_read_done(). */
void methods_read(const struct method_table *table, struct method_read *m, size_t n);
void method_read_done(struct method_read *m);

/* The text of a symbol, as it is in memory. false: there is none, or it was unreadable. */
bool method_read_text(const struct jvm *jvm, const struct method_read *m, int symbol, struct bytes *ret);

#endif
