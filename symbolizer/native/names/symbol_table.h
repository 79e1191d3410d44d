#ifndef JS_NATIVE_SYMBOL_TABLE_H
#define JS_NATIVE_SYMBOL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/base/budget.h"
#include "symbolizer/base/slots.h"
#include "symbolizer/base/vec.h"

/* Of the symbols at one address, the one with the highest rank is kept. */
enum {
	SYMBOL_EXPORTED = 1, /* global or weak: glibc's public names are weak, its internal ones local */
	SYMBOL_FUNCTION = 4, /* above symbols without a type */
	SYMBOL_SIZED = 8, /* its end is known; others end with their section or at the next symbol */
};

struct symbol {
	uint64_t start, end; /* `start` is first, for address_sort() */
	uint64_t reach; /* highest end up to this symbol; set by symbol_table_finish() */
	const char *name;
	uint8_t rank;
	bool weak;
};

/* The memory for a symbol while the table is built, and afterwards. */
enum { SYMBOL_PEAK_BYTES = 128, SYMBOL_BYTES = 2 * sizeof(struct symbol) };

/* Function symbols of one file by address. Zero-initialise. */
struct symbol_table {
	VEC(struct symbol) syms; /* by start, all different */
	uint64_t held; /* bytes taken from the budget */
	bool full; /* has more symbols than those of .dynsym */
	bool loaded;
};

/* Adds a symbol unchanged; symbol_table_finish() sorts, and resolves overlaps. false: out of memory. */
bool symbol_table_add(struct symbol_table *t, const struct symbol *sym);
void symbol_table_finish(struct symbol_table *t);
const struct symbol *symbol_table_find(const struct symbol_table *t, uint64_t vaddr); /* the innermost; NULL: none */

struct name_entry {
	const char *name;
	uint64_t vaddr, size;
};

/* Symbols by name. Zero-initialise, and set the budget. */
struct name_index {
	VEC(struct name_entry) entries;
	struct slots by_name;
	struct budget *budget; /* borrowed; NULL: none */
	uint64_t held; /* bytes taken from it */
	bool loaded;
};

bool name_index_reserve(struct name_index *x,
			size_t n); /* takes bytes for n names from the budget; false: not enough left */
/* The name is borrowed. If the name is already there, the first entry stays. false: out of memory or budget. */
bool name_index_add(struct name_index *x, const char *name, uint64_t vaddr, uint64_t size);
const struct name_entry *name_index_find(const struct name_index *x, const char *name);
void name_index_done(struct name_index *x);

#endif
