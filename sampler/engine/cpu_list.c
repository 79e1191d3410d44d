#include "sampler/engine/cpu_list.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "symbolizer/base/vec.h"
#include "symbolizer/files/fileio.h"

static int parse_number(const char **s, long *ret)
{
	char *end;

	if (**s < '0' || **s > '9')
		return -EINVAL;
	*ret = strtol(*s, &end, 10);
	*s = end;
	return *ret >= CPU_LIST_MAX ? -EINVAL : 0;
}

int cpu_list_parse(const char *s, int **ret, size_t *ret_n)
{
	VEC(int) cpus = {0};
	long from, to;

	do {
		if (parse_number(&s, &from) < 0)
			goto bad;
		to = from;
		if (*s == '-' && (s++, parse_number(&s, &to) < 0 || to < from))
			goto bad;
		if (cpus.n + (size_t)(to - from) >= CPU_LIST_MAX)
			goto bad;
		for (long c = from; c <= to; c++)
			if (!vec_push(&cpus, (int)c)) {
				vec_done(&cpus);
				return -ENOMEM;
			}
	} while (*s == ',' && s++);
	if (*s && *s != '\n')
		goto bad;
	*ret = cpus.v;
	*ret_n = cpus.n;
	return 0;
bad:
	vec_done(&cpus);
	return -EINVAL;
}

int cpu_list_online(int **ret, size_t *ret_n)
{
	char *text;
	size_t len;
	int r = file_read_at(AT_FDCWD, "/sys/devices/system/cpu/online", 65536, &text, &len);

	if (r < 0)
		return r;
	r = cpu_list_parse(text, ret, ret_n);
	free(text);
	return r;
}
