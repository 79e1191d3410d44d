#include "symbolizer/files/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "symbolizer/base/cleanup.h"

/* Files of /proc do not report a size, so this reads until the end. */
int file_read_fd(int fd, size_t max, char **ret, size_t *ret_len)
{
	CLEANUP(free_at_exit) char *data = NULL;
	size_t cap = 0, len = 0;

	if (max >= SIZE_MAX / 4)
		return -EFBIG;
	for (;;) {
		ssize_t n;

		if (cap - len < 2) {
			char *p = realloc(data, cap = cap ? cap * 2 : 4096);

			if (!p)
				return -ENOMEM;
			data = p;
		}
		n = read(fd, data + len, cap - len - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		len += (size_t)n;
		if (len > max)
			return -EFBIG;
		if (n == 0)
			break;
	}
	data[len] = '\0';
	*ret = take_ptr(data);
	if (ret_len)
		*ret_len = len;
	return 0;
}

int file_read_at(int dirfd, const char *path, size_t max, char **ret, size_t *ret_len)
{
	CLEANUP(close_at_exit) int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return -errno;
	return file_read_fd(fd, max, ret, ret_len);
}

int file_write_all(int fd, const void *data, size_t len)
{
	const char *at = data;

	while (len) {
		ssize_t n = write(fd, at, len);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			at += n;
			len -= (size_t)n;
		}
	}
	return 0;
}
