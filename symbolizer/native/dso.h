#ifndef JS_NATIVE_DSO_H
#define JS_NATIVE_DSO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/native/cfi/cfi_row.h"

/*
 * A DSO is one ELF image: an executable, a shared library, the vDSO. Addresses here are ELF virtual addresses
 * (p_vaddr), never run-time addresses; modmap.h knows the load bias.
 *
 * Symbols, rows and lines are read on first use. Files are untrusted: their sizes are limited, and they are read with
 * pread(2) instead of being mapped, because the target could truncate them. Not thread-safe.
 */
struct budget;
struct dso;
struct err;
struct lines_child;
struct mem;

/*
 * Always takes over the descriptor. `path` is for messages. -ENOEXEC: not a 64-bit ELF file of this machine; -E2BIG:
 * the budget does not allow it.
 * `b` limits everything read from the file and its debug files (budget.h; borrowed, NULL: only constant limits); it
 * gets a note about data left unread for that reason.
 */
int dso_open_fd(int fd, const char *path, struct budget *b, struct dso **ret, struct err *err);

/* For an image that exists only in memory (vDSO): copies it through `mem`. */
int dso_open_mem(struct mem *mem, uint64_t start, uint64_t end, const char *name, struct dso **ret, struct err *err);

/* From a recording instead of a file: has rows and symbols only for the addresses that were looked up. */
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

/*
 * Converts a file offset to a vaddr by the PT_LOAD segment that covers it; executable segments first if segments share
 * a page of the file. Like mappings, segments are taken as whole pages. false: no segment covers it.
 */
bool dso_offset_to_vaddr(const struct dso *d, uint64_t offset, uint64_t *ret);

/*
 * Separate debug files are searched for by build-id under /usr/lib/debug/.build-id and by .gnu_debuglink. This callback
 * opens them: it gets paths in the target's root and returns a descriptor or a negative errno. A file is used only if
 * its build-id or CRC matches; otherwise this host's own file with that build-id is tried. Without a callback, there is
 * no search.
 */
typedef int dso_debug_open_fn(void *ctx, const char *path);
void dso_set_debug_open(struct dso *d, dso_debug_open_fn *fn, void *ctx);

struct dso_symbol {
	const char *name; /* mangled, borrowed from the dso */
	uint64_t vaddr, size; /* if the file says size 0, up to the next symbol */
};
/*
 * The function that covers vaddr, from the symbol tables of the file, its debug file and .gnu_debugdata, or the PLT
 * stub there. -ENOENT: none.
 */
int dso_find_symbol(struct dso *d, uint64_t vaddr, struct dso_symbol *ret);
/* The value of a symbol of any type by exact name. -ENOENT: there is none. */
int dso_find_by_name(struct dso *d, const char *name, uint64_t *ret_vaddr, uint64_t *ret_size);
/*
 * The same, but reads only the variables of .symtab, which is cheaper: five in six symbols of a large library are
 * functions.
 */
int dso_find_variable(struct dso *d, const char *name, uint64_t *ret_vaddr, uint64_t *ret_size);
/* The same, but reads .dynsym alone. */
int dso_find_exported(struct dso *d, const char *name, uint64_t *ret_vaddr, uint64_t *ret_size);
/*
 * Is there such a variable in the file itself? Does not open a debug file, since that does not show what the program
 * is.
 */
bool dso_has_variable(struct dso *d, const char *name);
bool dso_has_section(struct dso *d, const char *name); /* likewise */
bool dso_has_symtab(struct dso *d); /* more symbols than those of .dynsym? */

/* The row in force at vaddr (cached, borrowed). -ENOENT: no unwind information there. */
int dso_cfi_row(struct dso *d, uint64_t vaddr, const struct cfi_row **ret);

/*
 * For a DSO that several users share in turn (modules/shared_dsos.h): says who looks things up from now on. `b` (NULL:
 * nobody) is charged for the time of single look-ups, so that a user who makes many spends nobody else's time. What is
 * read of the file as a whole also counts towards the DSO's own budget. What exceeds one user's budget is not given up
 * for the others.
 */
void dso_lend(struct dso *d, struct budget *b);

/* Makes that child process read DWARF (lines_child.h) instead of this one. Borrowed. */
void dso_set_lines_child(struct dso *d, struct lines_child *child);

/* A source position from DWARF; the innermost inlined function comes first. */
struct dso_line {
	const char *function; /* NULL: use the symbol's name */
	const char *file;
	int line;
};
/* Returns the number of entries filled (0: no DWARF there). Strings are borrowed from the dso. */
size_t dso_find_lines(struct dso *d, uint64_t vaddr, struct dso_line *ret, size_t max);

#endif
