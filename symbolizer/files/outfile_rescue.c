#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "symbolizer/files/fileio.h"

static const char *const dirs[OUTFILE_RESCUES] = {"/tmp", "/var/tmp", "/dev/shm"};

int outfile_open_rescue(const char *path, unsigned i, struct outfile **ret, char *ret_path, size_t size)
{
	const char *slash = strrchr(path, '/');
	mode_t mask;
	uint64_t random;
	int r;

	if (i >= OUTFILE_RESCUES || getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
		return -EINVAL;
	if (snprintf(ret_path, size, "%s/jsampler-%016" PRIx64 "-%s", dirs[i], random, slash ? slash + 1 : path) >=
	    (int)size)
		return -ENAMETOOLONG;
	mask = umask(077);
	r = outfile_open(ret_path, ret, NULL);
	umask(mask);
	return r;
}
