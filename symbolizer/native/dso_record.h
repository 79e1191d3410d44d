#ifndef JS_NATIVE_DSO_RECORD_H
#define JS_NATIVE_DSO_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/native/dso.h"

/*
 * Facts about a DSO with which a recording can be replayed without the file: the results of all look-ups by address and
 * name. Other look-ups give -ENOENT. Untrusted: dso_open_record() checks and copies everything.
 */
struct dso_record_row {
	uint64_t vaddr; /* the address looked up */
	const struct cfi_row *row; /* with its expressions; need not be sealed */
};

struct dso_record_line {
	uint64_t vaddr; /* the address looked up; entries of the same address are adjacent, innermost first */
	struct dso_line line;
};

struct dso_record {
	const uint8_t *build_id;
	size_t build_id_len;
	const struct dso_segment *segments;
	size_t n_segments;
	const struct dso_record_row *rows;
	size_t n_rows;
	const struct dso_symbol *symbols; /* results of dso_find_symbol() */
	size_t n_symbols;
	const struct dso_symbol *names;
	size_t n_names;
	const struct dso_record_line *lines;
	size_t n_lines;
	bool has_symtab;
};

/*
 * Called for every successful look-up, including repeated ones, to collect a dso_record. Members may be NULL. Arguments
 * are valid as long as the dso, except `lines` (the array, not its strings) and `sym`, which are valid only during the
 * call.
 */
struct dso_tap {
	void (*row)(void *ctx, struct dso *d, uint64_t vaddr, const struct cfi_row *row);
	void (*symbol)(void *ctx, struct dso *d, uint64_t vaddr, const struct dso_symbol *sym);
	void (*name)(void *ctx, struct dso *d, const char *name, uint64_t vaddr, uint64_t size);
	void (*lines)(void *ctx, struct dso *d, uint64_t vaddr, const struct dso_line *lines, size_t n);
	void *ctx;
};

/* `tap` is borrowed; NULL removes it. */
void dso_set_tap(struct dso *d, const struct dso_tap *tap);

#endif
