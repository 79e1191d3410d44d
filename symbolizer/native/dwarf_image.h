#ifndef JS_NATIVE_DWARF_IMAGE_H
#define JS_NATIVE_DWARF_IMAGE_H

#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

struct budget;
struct image;

/*
 * The DWARF sections of a file that source positions need, as an ELF image of their own in memory. libdw
 * would read all of them whole, decompress whatever the file says, and trust tables of strings to end in a
 * NUL; here sizes are known, and taken from the budget, before anything is read.
 */
struct dwarf_image {
	Elf *elf; /* NULL: none */
	uint8_t *base;
	uint64_t len; /* of the mapping */
	uint64_t held; /* of the budget */
	struct budget *budget;
};

/*
 * With `map`, sections that are not compressed are mapped instead of copied: only what is looked at takes
 * memory, and a file that is cut meanwhile is a SIGBUS, so only a process that may end so can ask for that.
 * -ENOENT: no DWARF there, -E2BIG: beyond the budget (*ret_bytes: what it takes), -ETIME: it took too long,
 * -EINVAL: malformed.
 */
int dwarf_image_open(struct image *im, struct budget *b, bool map, struct dwarf_image *ret,
		     uint64_t *ret_bytes);
void dwarf_image_close(struct dwarf_image *di);

#endif
