#include "symbolizer/base/caps.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Two 32-bit halves. */
struct caps {
	struct __user_cap_header_struct header;
	struct __user_cap_data_struct data[2];
};

uint64_t caps_permitted(void)
{
	struct caps c = {.header = {.version = _LINUX_CAPABILITY_VERSION_3}};

	if (syscall(SYS_capget, &c.header, c.data) < 0)
		return 0;
	return c.data[0].permitted | (uint64_t)c.data[1].permitted << 32;
}

int caps_set(uint64_t keep)
{
	struct caps c = {.header = {.version = _LINUX_CAPABILITY_VERSION_3}};

	for (int i = 0; i < 2; i++)
		c.data[i].permitted = c.data[i].effective = (uint32_t)(keep >> (32 * i));
	return syscall(SYS_capset, &c.header, c.data) < 0 ? -errno : 0;
}

/* EINVAL: the kernel has no such capability. */
int caps_drop_bounding(void)
{
	for (int cap = 0; cap <= 63; cap++)
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0 && errno != EINVAL)
			return -errno;
	return 0;
}
