#ifndef TESTS_KALLSYMS_TEXT_H
#define TESTS_KALLSYMS_TEXT_H

/* Include behind cmocka.h. */
#include <sys/mman.h>
#include <unistd.h>

#include "symbolizer/native/names/kallsyms.h"

/* A text as if it were /proc/kallsyms. */
static inline int kallsyms_file(const char *text, size_t len)
{
	int fd = memfd_create("kallsyms", MFD_CLOEXEC);

	assert_int_equal(write(fd, text, len), len);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static inline struct kallsyms *kallsyms_of_text(const char *text, size_t len)
{
	struct kallsyms *k = kallsyms_open(kallsyms_file(text, len));

	assert_non_null(k);
	return k;
}

#endif
