/*
 * Files on file systems that are served by another machine or process. If that does not answer, open(2) and read(2)
 * hang, sometimes so that not even SIGKILL ends them (linux/fs/fuse/dev.c, request_wait_answer()). Only the broker's
 * thread that got the request waits; the worker gets a copy, which can always be read.
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
#include "symbolizer/files/fileio.h"
#include "symbolizer/target/target_file.h"

enum { BLOCK = 256 << 10 };

/* File systems that this kernel serves from its own disks and memory. Files on all others are copied. */
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

/* The file may have grown: nothing beyond `size` is read. */
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
			r = file_write_all(to, block, (size_t)n);
			at += (uint64_t)n;
		}
	}
	return r;
}

int broker_opening_begin(struct broker *b, uid_t uid)
{
	int n = 0, ret = -ETIMEDOUT;

	pthread_mutex_lock(&b->lock);
	for (int i = 0; i < BROKER_OPENS_MAX; i++) {
		if (!b->openings[i].used)
			ret = i;
		else if (b->openings[i].uid == uid)
			n++;
	}
	if (n >= BROKER_OPENS_OF_USER)
		ret = -ETIMEDOUT;
	if (ret >= 0)
		b->openings[ret] = (struct broker_opening){.used = true, .uid = uid};
	pthread_mutex_unlock(&b->lock);
	return ret;
}

void broker_opening_end(struct broker *b, int opening)
{
	pthread_mutex_lock(&b->lock);
	b->openings[opening].used = false;
	pthread_mutex_unlock(&b->lock);
}

/* false: too many bytes are being copied. */
static bool charge(struct broker *b, int opening, uint64_t bytes)
{
	struct broker_opening *own = &b->openings[opening];
	uint64_t of_user = bytes, all = bytes;

	pthread_mutex_lock(&b->lock);
	for (int i = 0; i < BROKER_OPENS_MAX; i++) {
		const struct broker_opening *o = &b->openings[i];

		all += o->used ? o->bytes : 0;
		of_user += o->used && o->uid == own->uid ? o->bytes : 0;
	}
	if (of_user <= BROKER_COPY_MAX && all <= BROKER_COPIES_MAX)
		own->bytes = bytes;
	pthread_mutex_unlock(&b->lock);
	return own->bytes == bytes;
}

static int copy(struct broker *b, int opening, int fd)
{
	CLEANUP(close_at_exit) int to = -1;
	struct stat st;
	int r;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENXIO;
	if (st.st_size < 0 || !charge(b, opening, (uint64_t)st.st_size))
		return -ENOBUFS;
	to = broker_memory_file(MFD_ALLOW_SEALING);
	if (to < 0)
		return to;
	r = copy_bytes(fd, to, (uint64_t)st.st_size);
	if (r == 0 && fcntl(to, F_ADD_SEALS, TARGET_FILE_SEALS) < 0)
		r = -errno;
	return r < 0 ? r : take_fd(&to);
}

int broker_bring_near(struct broker *b, int opening, int fd)
{
	CLEANUP(close_at_exit) int from = fd;

	if (fd < 0)
		return take_fd(&from);
	return is_near(fd) ? take_fd(&from) : copy(b, opening, fd);
}
