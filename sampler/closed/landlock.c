#include "sampler/closed/landlock.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* asm/unistd_64.h of Linux 5.13; older headers lack them. */
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

/* struct landlock_ruleset_attr of linux/landlock.h, which grew over the versions. */
struct rights {
	uint64_t files, network, scoped;
};

enum { GET_VERSION = 1 }; /* LANDLOCK_CREATE_RULESET_VERSION */

/* struct landlock_path_beneath_attr, and what it allows: LANDLOCK_ACCESS_FS_*. */
struct beneath {
	uint64_t allowed;
	int32_t dir;
} __attribute__((packed));

enum {
	PATH_BENEATH = 1, /* LANDLOCK_RULE_PATH_BENEATH */
	WRITE_FILE = 1 << 1,
	READ_FILE = 1 << 2,
	READ_DIR = 1 << 3,
	REMOVE_FILE = 1 << 5,
	MAKE_REG = 1 << 8,
	TRUNCATE = 1 << 14, /* version 3 */
};

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

/* A ruleset that refuses everything it can; *ret_files: which access to files it can refuse. */
static int create(int version, uint64_t *ret_files)
{
	struct rights r;
	size_t i = 0;
	long fd;

	while (known[i].version > version)
		i++;
	r = (struct rights){bits(known[i].files), bits(known[i].network), bits(known[i].scoped)};
	*ret_files = r.files;
	fd = syscall(SYS_landlock_create_ruleset, &r, known[i].size, 0);
	return fd < 0 ? -errno : (int)fd;
}

/* Rights that the kernel does not know must not be allowed either. */
static int allow_beneath(int ruleset, int dir, uint64_t files)
{
	const struct beneath b = {
		files & (WRITE_FILE | READ_FILE | READ_DIR | REMOVE_FILE | MAKE_REG | TRUNCATE),
		dir,
	};

	return syscall(SYS_landlock_add_rule, ruleset, PATH_BENEATH, &b, 0) < 0 ? -errno : 0;
}

int landlock_version(void)
{
	long v = syscall(SYS_landlock_create_ruleset, NULL, 0, GET_VERSION);

	return v < 0 ? -errno : v == 0 ? -ENOSYS : (int)v;
}

int landlock_close(int dir)
{
	int version = landlock_version(), fd, r = 0;
	uint64_t files;

	if (version < 0)
		return version;
	fd = create(version, &files);
	if (fd < 0)
		return fd;
	if (dir >= 0)
		r = allow_beneath(fd, dir, files);
	if (r == 0)
		r = syscall(SYS_landlock_restrict_self, fd, 0) < 0 ? -errno : version;
	close(fd);
	return r;
}
