#ifndef JS_NATIVE_DWARF_IMAGE_H
#define JS_NATIVE_DWARF_IMAGE_H

#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

struct budget;
struct image;

/* What is read: source positions, or call frame information that is not loaded (.debug_frame). */
enum dwarf_use { DWARF_LINES, DWARF_FRAMES };

/*
 * The DWARF sections of a file that are needed for one use, as an ELF image in memory. With the file itself, libdw
 * would read all sections, decompress any amount, and trust string tables to end with a NUL. Here sizes are checked,
 * and taken from the budget, before anything is read.
 */
struct dwarf_image {
	Elf *elf; /* NULL: none */
	uint8_t *base;
	uint64_t len; /* of the mapping */
	uint64_t held; /* bytes taken from the budget */
	struct budget *budget;
};

/*
 * With `map`, uncompressed sections are mapped instead of copied, so that only the pages used take memory. If the file
 * is truncated meanwhile, this raises SIGBUS, so it is for expendable processes only. -ENOENT: no DWARF there, -E2BIG:
 * beyond the budget (*ret_bytes: the size needed), -ETIME: out of time, -EINVAL: malformed.
 */
int dwarf_image_open(struct image *im, struct budget *b, enum dwarf_use use, bool map, struct dwarf_image *ret,
		     uint64_t *ret_bytes);
void dwarf_image_close(struct dwarf_image *di);

#endif
