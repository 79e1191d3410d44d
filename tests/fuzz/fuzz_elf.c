/* ELF images: symbols, stubs, rows and lines of a file that a hostile target maps. */
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbolizer/native/dso.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask(struct dso *d, uint64_t vaddr)
{
	const struct cfi_row *row;
	struct dso_symbol sym;
	struct dso_line lines[4];

	dso_find_symbol(d, vaddr, &sym);
	dso_cfi_row(d, vaddr, &row);
	dso_find_lines(d, vaddr, lines, 4);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);
	uint64_t vaddr, sym_size;
	struct dso *d;

	if (fd < 0)
		return 0;
	if (write(fd, data, size) != (ssize_t)size || dso_open_fd(fd, "fuzz.so", NULL, &d, NULL) < 0)
		return 0;
	for (uint64_t v = 0x1000; v < 0x1400; v += 0x40)
		ask(d, v);
	dso_find_by_name(d, "main", &vaddr, &sym_size);
	dso_close(d);
	return 0;
}
