#include "symbolizer/base/unused_id.h"

#include <stdint.h>
#include <sys/random.h>
#include <unistd.h>

enum { FIRST = 0x70000000, COUNT = 1 << 28 };

uid_t unused_id(void)
{
	uint32_t r;

	if (getrandom(&r, sizeof(r), 0) != sizeof(r))
		r = (uint32_t)getpid();
	return FIRST + r % COUNT;
}
