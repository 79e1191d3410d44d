#include "symbolizer/target/kernel_setting.h"

#include <stdio.h>
#include <stdlib.h>

#include "symbolizer/base/cleanup.h"
#include "symbolizer/files/fileio.h"
#include "symbolizer/target/target_file.h"

int64_t kernel_setting(const char *name, int64_t fallback)
{
	CLEANUP(close_at_exit) int fd = -1;
	CLEANUP(free_at_exit) char *text = NULL;
	char path[96], *end;
	int64_t v;

	snprintf(path, sizeof(path), "/proc/sys/kernel/%s", name);
	fd = target_file_open_on_host(path);
	if (fd < 0 || file_read_fd(fd, 64, &text, NULL) < 0)
		return fallback;
	v = strtoll(text, &end, 10);
	return end == text ? fallback : v;
}
