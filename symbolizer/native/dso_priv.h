#ifndef JS_NATIVE_DSO_PRIV_H
#define JS_NATIVE_DSO_PRIV_H

#include <elfutils/libdw.h>
#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/base/arena.h"
#include "symbolizer/base/budget.h"
#include "symbolizer/base/vec.h"
#include "symbolizer/native/dso.h"
#include "symbolizer/native/dso_debug_frame.h"
#include "symbolizer/native/dso_record.h"

/* What a hostile file may make us hold, besides the budget for all files. */
#define IMAGE_MAX_SECTIONS 65536u
#define IMAGE_MAX_SEGMENTS 4096u
#define IMAGE_MAX_NAMES ((uint64_t)4 << 20) /* names of sections */
#define IMAGE_MAX_TABLE ((uint64_t)512 << 20) /* one string table, one .eh_frame */
#define IMAGE_MAX_SYMBOLS ((uint64_t)4 << 20)
#define IMAGE_MAX_SYMBOL_NAME ((size_t)64 << 10)
#define IMAGE_MAX_MINI ((size_t)64 << 20) /* .gnu_debugdata, decompressed */

/* One ELF image: a file behind a descriptor, or bytes in memory. Closed when elf is NULL. */
struct image {
	int fd; /* -1: bytes */
	uint8_t *bytes;
	uint64_t size;
	Elf *elf;
	struct budget *budget; /* borrowed; NULL: no limits but those above */
	uint64_t held; /* taken from it: given back by image_close() */
};

/* Takes fd over; -ENOEXEC: not an ELF of ours, -E2BIG: the budget does not allow it. */
int image_open_fd(struct image *im, int fd, struct budget *b);
/* Takes bytes over (malloc), of which the budget knows. */
int image_open_bytes(struct image *im, uint8_t *bytes, size_t len, struct budget *b);
void image_close(struct image *im);
bool image_read(const struct image *im, uint64_t off, void *dst, size_t len);
const char *image_section_name(struct image *im, const Elf64_Shdr *sh); /* NULL: it has none */
/* Section by name; NULL: none. */
Elf_Scn *image_section(struct image *im, const char *name, Elf64_Shdr *ret);
/* Bytes of a section; NULL: none, unreadable, compressed, beyond `max` or the budget. Borrowed. */
Elf_Data *image_section_data(struct image *im, Elf_Scn *scn, uint64_t max);
/* Length of the build-id copied to `dst`, 0: none. */
size_t image_build_id(struct image *im, uint8_t *dst, size_t max);

/* Among symbols of one address the highest rank stays. */
enum {
	SYMBOL_EXPORTED = 1, /* global or weak: glibc's public names are weak, its inner ones local */
	SYMBOL_FUNCTION = 4, /* above symbols without a type */
	SYMBOL_SIZED = 8, /* its end is known; others end at their section's end or the next symbol */
};

struct symbol {
	uint64_t start, end;
	const char *name;
	uint8_t rank;
	bool weak;
};

struct symbol_table {
	VEC(struct symbol) syms; /* by start, one each start */
	uint64_t *reach; /* reach[i]: highest end of syms[0..i] */
	uint64_t held; /* bytes of the budget */
	bool full; /* more than .dynsym */
	bool loaded;
};

struct name_entry {
	const char *name; /* NULL: free */
	uint64_t vaddr, size;
};

struct name_index {
	struct name_entry *slots; /* n_slots is a power of two */
	size_t n_slots, n;
	uint64_t seed;
	struct budget *budget;
	bool loaded;
};

struct row_slot {
	uint64_t vaddr; /* + 1, so that 0 is free */
	const struct cfi_row *row; /* NULL: known to have none */
};

struct row_cache {
	struct row_slot *slots;
	size_t n_slots, n;
	uint64_t seed; /* of its hashes: the target chooses the addresses */
	VEC(const struct cfi_row *) rows; /* distinct ones, with a hash index below */
	uint32_t *index;
	size_t n_index;
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
	struct strtab *line_texts; /* of what the child answered */
	VEC(struct dso_record_line) recorded_lines;

	bool recorded; /* there is no file */
	const struct dso_tap *tap;
	struct budget *budget; /* NULL: none */
	uint64_t held; /* of it: names of versions, texts of lines */
};

struct dso *dso_new(const char *path, struct budget *b); /* empty; dso_close() releases. NULL: out of memory */
/* Takes bytes of the budget that dso_close() gives back. */
bool dso_take(struct dso *d, uint64_t bytes);
/* Tells the budget that something of this file is given up: "symbols", "source lines". */
void dso_refuse(struct dso *d, uint64_t bytes, const char *what);

/* Opens the separate debug file / the one inside .gnu_debugdata, once. */
struct image *dso_debug_image(struct dso *d);
struct image *dso_mini_image(struct dso *d);
/* Opens the file that dwz(1) moved common DWARF to (.gnu_debugaltlink of `im`). */
int dso_open_alt(struct dso *d, const char *name, const uint8_t *id, size_t id_len,
		 struct image *ret);

/* What the table takes for a symbol while it is made, and in the end. */
enum { SYMBOL_PEAK_BYTES = 128, SYMBOL_BYTES = 72 };

/* Adds a symbol as read; symbol_table_finish() sorts and settles overlaps. false: out of memory. */
bool symbol_table_add(struct symbol_table *t, const struct symbol *sym);
bool symbol_table_finish(struct symbol_table *t);
const struct symbol *symbol_table_find(const struct symbol_table *t, uint64_t vaddr);
void symbol_table_done(struct symbol_table *t);

/* Names are borrowed. Of equal names the first one added stays. */
bool name_index_reserve(struct name_index *x, size_t n);
void name_index_done(struct name_index *x);
bool name_index_add(struct name_index *x, const char *name, uint64_t vaddr, uint64_t size);
const struct name_entry *name_index_find(const struct name_index *x, const char *name);

/* A row is copied, sealed and shared with equal ones. NULL: out of memory or invalid. */
const struct cfi_row *row_cache_intern(struct dso *d, const struct cfi_row *row);
bool row_cache_put(struct row_cache *c, uint64_t vaddr, const struct cfi_row *row);
void row_cache_done(struct row_cache *c);

/* Computes a row with libdw. `exprs` is room for the row's expressions. -ENOENT: none. */
int cfi_read_row(Dwarf_CFI *cfi, uint64_t vaddr, struct cfi_row *row, struct cfi_exprs *exprs);

/*
 * Calls `fn` for each symbol of a SHT_SYMTAB or SHT_DYNSYM section; stops when it gives false. -E2BIG: there is
 * more than the budget allows, or names make no sense; what came so far counts.
 */
typedef bool image_symbol_fn(void *ctx, const Elf64_Sym *sym, const char *name);
size_t image_symbol_count(struct image *im, uint32_t sh_type); /* about */
int image_each_symbol(struct image *im, uint32_t sh_type, image_symbol_fn *fn, void *ctx);

#endif
