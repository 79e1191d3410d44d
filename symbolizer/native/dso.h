#ifndef JS_NATIVE_DSO_H
#define JS_NATIVE_DSO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/native/cfi/cfi_row.h"

/*
 * A DSO is one ELF image: an executable, a shared library, the vDSO. Addresses here are ELF
 * virtual addresses (p_vaddr), never run-time addresses; modmap.h owns the load bias.
 *
 * Symbols, rows and lines are read on first use. Files are untrusted: they are read with pread, never
 * memory-mapped (the target could truncate them), and sizes are bounded. Not thread-safe.
 */
struct budget;
struct dso;
struct err;
struct lines_child;
struct mem;

/*
 * Takes over the descriptor in any case. `path` is for messages. -ENOEXEC: not a 64-bit ELF file of this machine;
 * -E2BIG: the budget does not allow it.
 * `b` limits all that is read of the file and of its debug files (budget.h; borrowed, NULL: only constant
 * limits); what is left unread for that reason is noted there.
 */
int dso_open_fd(int fd, const char *path, struct budget *b, struct dso **ret, struct err *err);

/* An image that exists only in memory (vDSO): copied through `mem`. */
int dso_open_mem(struct mem *mem, uint64_t start, uint64_t end, const char *name, struct dso **ret, struct err *err);

/* From a recording instead of a file: rows and symbols at the addresses that were looked up. */
struct dso_record;
int dso_open_record(const struct dso_record *rec, const char *path, struct dso **ret);

void dso_close(struct dso *d);

const char *dso_path(const struct dso *d);
const char *dso_name(const struct dso *d); /* last component of the path */
const uint8_t *dso_build_id(const struct dso *d, size_t *len); /* len 0: none */

/* The PT_LOAD program headers, in file order. */
struct dso_segment {
	uint64_t offset, vaddr, filesz, memsz;
	uint32_t flags; /* PF_X, PF_W, PF_R */
};
const struct dso_segment *dso_segments(const struct dso *d, size_t *n);

/* The ELF virtual address of a file offset, by the PT_LOAD that covers it; executable segments first if segments share
 * a page of the file. Offsets are those of mappings: whole pages. false: no segment covers it. */
bool dso_offset_to_vaddr(const struct dso *d, uint64_t offset, uint64_t *ret);

/* Separate debug files are searched for by build-id under /usr/lib/debug/.build-id and by .gnu_debuglink. They are
 * opened through this callback, which gets paths in the target's root and returns a descriptor or a negative errno. A
 * file is used only if its build-id or CRC agrees; otherwise this host's own file with that build-id. Without a callback,
 * there is no search. */
typedef int dso_debug_open_fn(void *ctx, const char *path);
void dso_set_debug_open(struct dso *d, dso_debug_open_fn *fn, void *ctx);

struct dso_symbol {
	const char *name; /* mangled, borrowed from the dso */
	uint64_t vaddr, size; /* a size of 0 in the file: up to the next symbol */
};
/* The function that covers vaddr (.symtab, .dynsym, debug file, .gnu_debugdata). -ENOENT: none. */
int dso_find_symbol(struct dso *d, uint64_t vaddr, struct dso_symbol *ret);
/* The value of a symbol of any type by exact name. -ENOENT: there is none. */
int dso_find_by_name(struct dso *d, const char *name, uint64_t *ret_vaddr, uint64_t *ret_size);
/* The same for variables only, which is cheaper: five in six symbols of a large library are functions, which are
 * skipped. */
int dso_find_variable(struct dso *d, const char *name, uint64_t *ret_vaddr, uint64_t *ret_size);
bool dso_has_symtab(struct dso *d); /* more than .dynsym */

/* The row in force at vaddr (cached). -ENOENT: no unwind information there. Borrowed. */
int dso_cfi_row(struct dso *d, uint64_t vaddr, const struct cfi_row **ret);

/* Has DWARF read in that process (lines_child.h) instead of in this one. Borrowed. */
void dso_set_lines_child(struct dso *d, struct lines_child *child);

/* Source position by DWARF; innermost inlined function first. */
struct dso_line {
	const char *function; /* NULL: the symbol's */
	const char *file;
	int line;
};
/* Returns the number of entries filled (0: no DWARF there). Strings are borrowed from the dso. */
size_t dso_find_lines(struct dso *d, uint64_t vaddr, struct dso_line *ret, size_t max);

#endif
