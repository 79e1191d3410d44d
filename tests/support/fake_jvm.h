#ifndef JS_TESTS_FAKE_JVM_H
#define JS_TESTS_FAKE_JVM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A miniature HotSpot in arrays: tables, one code heap with an interpreter, two nmethods and a stub,
 * Methods, threads. All offsets differ from those of any real JVM. What an nmethod has stands inside the
 * blob, by offsets as in JDK 8 or by pointers as up to 22, or beside it, as from 25 on; what else
 * differs goes by `major`, too.
 */
enum { FAKE_SYMBOLS = 64, FAKE_ENTRIES = 256, FAKE_REGION = 1 << 18 };

struct fake_jvm {
	struct mem *mem;
	int major;
	bool beside;
	const char *drop; /* "Type::field" that is left out of the tables */
	const char *drop2;
	bool starting; /* strides read 0 */
	bool threadless; /* no thread is listed yet */
	const char *const *arguments; /* of the JVM; ends with NULL. NULL: its tables do not have them */
	const char *command; /* sun.java.command */
	unsigned asked; /* symbols, where a test counts them */

	struct {
		const char *name;
		uint64_t addr;
	} symbols[FAKE_SYMBOLS];
	size_t n_symbols;
	struct fake_entry {
		const char *type, *field, *string;
		bool is_static;
		uint64_t at;
	} fields[FAKE_ENTRIES], types[FAKE_ENTRIES], ints[FAKE_ENTRIES];
	size_t n_fields, n_types, n_ints;

	uint8_t *data, *code; /* two regions of FAKE_REGION bytes */
	uint64_t data_used;

	/* where things came to stand */
	uint64_t heap_low, segmap;
	uint64_t interp, codelet[2];
	uint64_t outer, inner; /* Method* */
	uint64_t klass, boot_loader; /* of `inner`: its class, and the loader data of that class's superclass, Object */
	uint64_t blob[4]; /* interpreter, first nmethod, second, stub */
	uint64_t block[4], begin[4], end[4];
	uint64_t thread[2], list_var, thread_list;
	uint64_t vm_thread[2]; /* of the JVM itself: tids 2000, 2001; NamedThreads as far as their names go */
	uint64_t unloads; /* the jvmstat counter of unloaded classes */
	uint64_t redefinitions; /* JvmtiExport::_redefinition_count */
	uint64_t arguments_array, arguments_count; /* Arguments::_jvm_args_array, _num_jvm_args */
};

/* Call with zeroed `j`, of which major, drop, starting and threadless may be set. */
void fake_jvm_build(struct fake_jvm *j);
void fake_jvm_free(struct fake_jvm *j);

bool fake_jvm_symbol(void *ctx, const char *name, uint64_t *ret); /* a hs_symbol_fn */
void fake_jvm_poke(struct fake_jvm *j, uint64_t addr, const void *bytes, size_t len);

/* Offsets that tests name. */
enum {
	FAKE_BLOCK = 24, /* sizeof(HeapBlock) */
	FAKE_USED = 12,
	FAKE_NM_METHOD = 104,
	FAKE_NM_BCI = 112,
	FAKE_NM_COMPILE_ID = 140,
	FAKE_NM_STATE = 151,
	FAKE_METHOD_CONST = 24,
	FAKE_CONST_POOL = 16,
	FAKE_CONST_NAME = 46,
	FAKE_SYMBOL_LENGTH = 6,
	FAKE_SYMBOL_TEXT = 10,
	FAKE_KLASS_SUPER = 24,
	FAKE_KLASS_LOADER = 32,
	FAKE_KLASS_NAME = 40,
	FAKE_SEGMENT = 6, /* log2 */
	FAKE_POOL = 56, /* sizeof(ConstantPool) */
	FAKE_POOL_HOLDER = 16,
	FAKE_POOL_LENGTH = 44,
};

#endif
