#ifndef TESTS_KALLSYMS_TEXT_H
#define TESTS_KALLSYMS_TEXT_H

/* Include behind cmocka.h. */
#include <sys/mman.h>
#include <unistd.h>

#include "symbolizer/native/names/kallsyms.h"

/* Parses a text as if it were /proc/kallsyms. */
static inline int kallsyms_of_text(const char *text, size_t len, struct kallsyms **ret)
{
	int fd = memfd_create("kallsyms", MFD_CLOEXEC), r;

	assert_int_equal(write(fd, text, len), len);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	r = kallsyms_read(fd, ret, NULL);
	close(fd);
	return r;
}

#endif
