#include "symbolizer/base/data_limit.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

void data_limit(uint64_t more)
{
	uint64_t data = 0;
	struct rlimit r;
	FILE *f = fopen("/proc/self/statm", "re");

	more = more < UINT64_MAX / DATA_LIMIT_FACTOR ? more * DATA_LIMIT_FACTOR : UINT64_MAX;
	/* proc(5): size, resident, shared, text, 0, data; in pages */
	if (f && fscanf(f, "%*u %*u %*u %*u %*u %" SCNu64, &data) == 1) {
		data *= (uint64_t)sysconf(_SC_PAGESIZE);
		r.rlim_cur = r.rlim_max = data < UINT64_MAX - more ? data + more : RLIM_INFINITY;
		setrlimit(RLIMIT_DATA, &r);
	}
	if (f)
		fclose(f);
}
