#ifndef JS_NATIVE_IMAGE_H
#define JS_NATIVE_IMAGE_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/base/budget.h"

/* Limits on the memory for one file, in addition to the budget for all files. */
#define IMAGE_MAX_SECTIONS 65536u
#define IMAGE_MAX_SEGMENTS 4096u
#define IMAGE_MAX_NAMES ((uint64_t)4 << 20) /* section names */
#define IMAGE_MAX_TABLE ((uint64_t)512 << 20) /* one string table, one .eh_frame */
#define IMAGE_MAX_SYMBOLS ((uint64_t)4 << 20)
#define IMAGE_MAX_SYMBOL_NAME ((size_t)64 << 10)
#define IMAGE_MAX_MINI ((size_t)64 << 20) /* .gnu_debugdata, decompressed */

/* A SHT_SYMTAB or SHT_DYNSYM section and its names, which belong to the image. */
struct image_symbols {
	const char *table;
	size_t n;
	const char *names;
	size_t names_len; /* up to the last NUL */
	uint64_t names_size;
};

/* One ELF image: a file descriptor, or bytes in memory. If elf is NULL, it is closed. */
struct image {
	int fd; /* -1: bytes in memory */
	uint8_t *bytes;
	uint64_t size;
	Elf *elf;
	struct image_symbols full, dynamic; /* n 0: not read */
	struct budget *budget; /* borrowed; NULL: no limits but those above */
	uint64_t held; /* taken from it; image_close() returns it */
};

/* Always takes over fd. -ENOEXEC: not a 64-bit ELF file of this machine, -E2BIG: the budget does not allow it. */
int image_open_fd(struct image *im, int fd, struct budget *b);
/* Takes over `bytes` (from malloc()), which already count in the budget. */
int image_open_bytes(struct image *im, uint8_t *bytes, size_t len, struct budget *b);
void image_close(struct image *im);
bool image_read(const struct image *im, uint64_t off, void *dst, size_t len);
const char *image_section_name(struct image *im, const Elf64_Shdr *sh); /* NULL: it has none */
/* Finds a section by name; NULL: none. */
Elf_Scn *image_section(struct image *im, const char *name, Elf64_Shdr *ret);
/* The bytes of a section, borrowed. NULL: none, unreadable, compressed, or larger than `max` or the budget allows. */
Elf_Data *image_section_data(struct image *im, Elf_Scn *scn, uint64_t max);
/* The same for what is needed only for a while: image_copy_done() frees it. NULL: unreadable, or larger than `max`. */
uint8_t *image_section_copy(struct image *im, Elf_Scn *scn, uint64_t max, size_t *ret_len);
void image_copy_done(struct image *im, uint8_t *bytes, size_t len);
/* Copies the build-id to `dst` and returns its length; 0: none. */
size_t image_build_id(struct image *im, uint8_t *dst, size_t max);

/* Reads the section, once. -ENOENT: there is none, -E2BIG: the budget does not allow it. */
int image_symbols(struct image *im, uint32_t sh_type, struct image_symbols *ret);
size_t image_symbol_count(struct image *im, uint32_t sh_type); /* approximately */
/*
 * Calls `fn` for each symbol that is `wanted` and has a name, until it returns false. Names are read only for these
 * symbols, because that takes longer than the rest. -E2BIG: the budget does not allow more, or names make no sense; the
 * calls made until then are valid.
 */
typedef bool image_wanted_fn(void *ctx, const Elf64_Sym *sym);
typedef bool image_symbol_fn(void *ctx, const Elf64_Sym *sym, const char *name);
int image_each_symbol(struct image *im, const struct image_symbols *s, image_wanted_fn *wanted, image_symbol_fn *fn,
		      void *ctx);
/* The same, but only for symbols that start in [from, to], and end after `to`, or have any size if `any` is set. */
struct image_range {
	uint64_t from, to;
	bool any;
};
int image_each_symbol_in(struct image *im, const struct image_symbols *s, const struct image_range *range,
			 image_wanted_fn *wanted, image_symbol_fn *fn, void *ctx);

#endif
