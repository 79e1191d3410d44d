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

/* Rows are few (libjvm: some thousand for millions of addresses), so addresses share them. A row has a number from 1 on. */
struct row_cache {
	struct u64map by_addr; /* vaddr + 1 -> number of its row + 1; 1: known to have none */
	VEC(const struct cfi_row *) rows; /* number - 1; in the arena */
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
	struct name_index dynamic_names, variables, all_names;

	struct dso_plt *plt; /* dso_plt.c; read when first needed */
	bool plt_tried;

	Dwarf_CFI *cfi;
	bool cfi_tried;
	struct debug_frame *frames[DEBUG_FRAMES];
	bool frames_tried[DEBUG_FRAMES];
	struct row_cache rows;

	struct lines *lines; /* dso_lines.h; NULL: not opened, or there are none */
	bool lines_tried; /* with a child: the file has none, or they were given up */
	uint64_t opened_ns; /* CLOCK_MONOTONIC */
	struct lines_child *lines_child; /* NULL: in this process */
	struct strtab *line_texts; /* in the child's answers */
	VEC(struct dso_record_line) recorded_lines;

	bool recorded; /* there is no file */
	const struct dso_tap *tap;
	struct budget *budget; /* NULL: none */
	uint64_t held; /* of it: names without versions, texts of lines */
};

struct dso *dso_new(const char *path, struct budget *b); /* empty; dso_close() releases. NULL: out of memory */
/* Takes bytes of the budget, which dso_close() returns. */
bool dso_take(struct dso *d, uint64_t bytes);
/* Notes in the budget that something of this file is given up: "symbols", "source lines". */
void dso_refuse(struct dso *d, uint64_t bytes, const char *what);

/* Opens the separate debug file, or the one inside .gnu_debugdata, once. */
struct image *dso_debug_image(struct dso *d);
struct image *dso_mini_image(struct dso *d);
/* Opens the file with common DWARF that dwz(1) made (.gnu_debugaltlink). */
int dso_open_alt(struct dso *d, const char *name, const uint8_t *id, size_t id_len, struct image *ret);

/* Copies and seals a row; equal rows are one. Its number; 0: out of memory, or the row is invalid. */
uint32_t row_cache_intern(struct dso *d, const struct cfi_row *row);
bool row_cache_put(struct row_cache *c, uint64_t vaddr,
		   uint32_t row); /* 0: the address has no row. false: out of memory */
void row_cache_done(struct row_cache *c);

/* Computes a row with libdw. `exprs` is room for the row's expressions. -ENOENT: none. */
int cfi_read_row(Dwarf_CFI *cfi, uint64_t vaddr, struct cfi_row *row, struct cfi_exprs *exprs);

#endif
