#ifndef JS_NATIVE_DSO_PRIV_H
#define JS_NATIVE_DSO_PRIV_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/base/arena.h"
#include "symbolizer/base/slots.h"
#include "symbolizer/base/u64map.h"
#include "symbolizer/base/vec.h"
#include "symbolizer/native/dso.h"
#include "symbolizer/native/dso_debug_frame.h"
#include "symbolizer/native/dso_record.h"
#include "symbolizer/native/image.h"
#include "symbolizer/native/names/symbol_table.h"

/*
 * There are few distinct rows (libjvm: some thousand for millions of addresses), so addresses share them. Rows are
 * numbered from 1.
 */
struct row_cache {
	struct u64map by_addr; /* vaddr + 1 -> row number + 1; 1: known to have no row */
	VEC(const struct cfi_row *) rows; /* by number - 1; in the arena */
	struct slots distinct; /* positions in rows */
	VEC(const struct cfi_exprs *) exprs;
};

struct dso {
	char *path;
	const char *name;
	uint8_t build_id[64];
	size_t build_id_len;
	VEC(struct dso_segment) segments;
	struct arena arena; /* names, rows */

	struct image main, debug, mini;
	bool debug_tried, mini_tried;
	dso_debug_open_fn *debug_open;
	void *debug_ctx;

	struct symbol_table symbols;
	unsigned scans; /* addresses that were looked for without the table */
	struct name_index dynamic_names, variables, all_names;

	struct dso_plt *plt; /* dso_plt.c; read when first needed */
	bool plt_tried;

	Dwarf_CFI *cfi;
	bool cfi_tried;
	struct debug_frame *frames[DEBUG_FRAMES];
	bool frames_tried[DEBUG_FRAMES];
	struct row_cache rows;

	struct lines *lines; /* dso_lines.h; NULL: not opened, or there are none */
	bool lines_tried; /* with a child: the file has no lines, or reading them was given up */
	uint64_t opened_ns; /* CLOCK_MONOTONIC */
	struct lines_child *lines_child; /* NULL: lines are read in this process */
	struct strtab *line_texts; /* strings of the child's answers */
	VEC(struct dso_record_line) recorded_lines;

	bool recorded; /* there is no file */
	const struct dso_tap *tap;
	struct budget *budget; /* NULL: none */
	struct budget *user; /* of the user who currently looks things up, if it is not `budget`; NULL: it is */
	uint64_t held; /* bytes of the budget, for names without versions and texts of lines */
};

struct dso *dso_new(const char *path, struct budget *b); /* empty; dso_close() releases. NULL: out of memory */
/* Takes bytes of the budget until dso_close(). */
bool dso_take(struct dso *d, uint64_t bytes);
/*
 * To be called around code that reads the file once for all users. false: this user has no time left; nothing must be
 * read, so that others can still do it.
 */
bool dso_begin(struct dso *d);
void dso_end(struct dso *d);
/* Notes in the budget that data of this file was given up: "symbols", "source lines". */
void dso_refuse(struct dso *d, uint64_t bytes, const char *what);

/* Open, once, the separate debug file, and the image inside .gnu_debugdata. NULL: none. */
struct image *dso_debug_image(struct dso *d);
struct image *dso_mini_image(struct dso *d);
/* Opens the file with common DWARF that dwz(1) made (.gnu_debugaltlink). */
int dso_open_alt(struct dso *d, const char *name, const uint8_t *id, size_t id_len, struct image *ret);

/*
 * Copies and seals a row, unless an equal one exists, and returns its number; 0: out of memory, or the row is invalid.
 */
uint32_t row_cache_intern(struct dso *d, const struct cfi_row *row);
bool row_cache_put(struct row_cache *c, uint64_t vaddr,
		   uint32_t row); /* 0: there is no row at vaddr. false: out of memory */
void row_cache_done(struct row_cache *c);

/* Computes a row with libdw. `exprs`: space for the row's expressions. -ENOENT: none. */
int cfi_read_row(Dwarf_CFI *cfi, uint64_t vaddr, struct cfi_row *row, struct cfi_exprs *exprs);

#endif
