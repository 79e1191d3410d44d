#include "sampler/closed/landlock.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* asm/unistd_64.h of Linux 5.13; older headers lack them. */
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_restrict_self 446
#endif

/* struct landlock_ruleset_attr of linux/landlock.h, which grew over the versions. */
struct rights {
	uint64_t files, network, scoped;
};

enum { GET_VERSION = 1 }; /* LANDLOCK_CREATE_RULESET_VERSION */

/* What each version can refuse: this many bits, from bit 0 on. */
static const struct {
	int version, files, network, scoped;
	size_t size; /* of struct rights, as that kernel knows it */
} known[] = {
	{6, 16, 2, 2, sizeof(struct rights)}, /* scoped: abstract sockets, signals */
	{5, 16, 2, 0, offsetof(struct rights, scoped)}, /* ioctl(2) of devices */
	{4, 15, 2, 0, offsetof(struct rights, scoped)}, /* bind(2), connect(2) of TCP */
	{3, 15, 0, 0, offsetof(struct rights, network)}, /* truncate(2) */
	{2, 14, 0, 0, offsetof(struct rights, network)}, /* names in another directory */
	{1, 13, 0, 0, offsetof(struct rights, network)},
};

static uint64_t bits(int n)
{
	return (UINT64_C(1) << n) - 1;
}

static int create(int version)
{
	struct rights r;
	size_t i = 0;

	while (known[i].version > version)
		i++;
	r = (struct rights){bits(known[i].files), bits(known[i].network), bits(known[i].scoped)};
	return (int)syscall(SYS_landlock_create_ruleset, &r, known[i].size, 0);
}

int landlock_version(void)
{
	long v = syscall(SYS_landlock_create_ruleset, NULL, 0, GET_VERSION);

	return v < 0 ? -errno : v == 0 ? -ENOSYS : (int)v;
}

int landlock_close(void)
{
	int version = landlock_version(), fd = version < 0 ? -1 : create(version), r;

	if (version < 0)
		return version;
	if (fd < 0)
		return -errno;
	r = syscall(SYS_landlock_restrict_self, fd, 0) < 0 ? -errno : version;
	close(fd);
	return r;
}
