/*
 * Files on file systems that another machine or process answers for. One that is silent holds whoever opens or reads
 * there, sometimes so that not even SIGKILL ends it (linux/fs/fuse/dev.c, request_wait_answer()). Only the thread of the
 * broker that was asked waits; the worker gets a copy, which is always there.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "sampler/broker/private.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/target/target_file.h"

enum { BLOCK = 256 << 10 };

/* Answered by this kernel, with its disks and memory. Those that are not here are copied. */
static const uint32_t near[] = {
	EXT4_SUPER_MAGIC,
	XFS_SUPER_MAGIC,
	BTRFS_SUPER_MAGIC,
	TMPFS_MAGIC,
	RAMFS_MAGIC,
	OVERLAYFS_SUPER_MAGIC,
	SQUASHFS_MAGIC,
	F2FS_SUPER_MAGIC,
	EROFS_SUPER_MAGIC_V1,
	PROC_SUPER_MAGIC,
	HUGETLBFS_MAGIC,
	ISOFS_SUPER_MAGIC,
	MSDOS_SUPER_MAGIC,
	REISERFS_SUPER_MAGIC,
	NILFS_SUPER_MAGIC,
	MINIX_SUPER_MAGIC,
	0x3153464a /* jfs */,
	0x2fc12fc1 /* zfs */,
	0xca451a4e /* bcachefs */,
	0x61756673 /* aufs */,
	0x15013346 /* udf */,
	0x7366746e /* ntfs3 */,
	0x2011bab0 /* exfat */,
	0x28cd3d45 /* cramfs */,
};

static bool is_near(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return false;
	for (size_t i = 0; i < sizeof(near) / sizeof(near[0]); i++)
		if ((uint32_t)fs.f_type == near[i])
			return true;
	return false;
}

static int write_all(int to, const uint8_t *block, size_t len)
{
	while (len) {
		ssize_t n = write(to, block, len);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			block += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

/* The file may have grown; what is beyond `size` is not read. */
static int copy_bytes(int from, int to, uint64_t size)
{
	CLEANUP(free_at_exit) uint8_t *block = malloc(BLOCK);
	int r = block ? 0 : -ENOMEM;

	for (uint64_t at = 0; r == 0 && at < size;) {
		ssize_t n = pread(from, block, size - at < BLOCK ? size - at : BLOCK, (off_t)at);

		if (n == 0)
			break;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			r = write_all(to, block, (size_t)n);
			at += (uint64_t)n;
		}
	}
	return r;
}

static int copy(int fd)
{
	CLEANUP(close_at_exit) int to = -1;
	struct stat st;
	int r;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENXIO;
	if (st.st_size > BROKER_COPY_MAX)
		return -ENOBUFS;
	to = broker_memory_file(MFD_ALLOW_SEALING);
	if (to < 0)
		return to;
	r = copy_bytes(fd, to, (uint64_t)st.st_size);
	if (r == 0 && fcntl(to, F_ADD_SEALS, TARGET_FILE_SEALS) < 0)
		r = -errno;
	return r < 0 ? r : take_fd(&to);
}

int broker_bring_near(int fd)
{
	CLEANUP(close_at_exit) int from = fd;

	if (fd < 0)
		return take_fd(&from);
	return is_near(fd) ? take_fd(&from) : copy(fd);
}
