#ifndef JS_NATIVE_CFI_CHECK_H
#define JS_NATIVE_CFI_CHECK_H

#include <elfutils/libdw.h>
#include <libelf.h>
#include <stdint.h>

struct dso;

struct cfi_place {
	Elf_Scn *scn; /* NULL: there is none */
	uint64_t addr, size;
};

/*
 * libdw's view of the file's .eh_frame, if it is safe for libdw to read. NULL: there is none, or it is not safe, in
 * which case the dso's budget gets a note. dwarf_cfi_end() releases it.
 */
Dwarf_CFI *cfi_open_checked(struct dso *d);

#endif
