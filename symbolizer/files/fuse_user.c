#include "symbolizer/files/fuse_user.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

#include "symbolizer/base/cleanup.h"
#include "symbolizer/files/fileio.h"

/* Not in every linux/magic.h. */
#define FUSE_MAGIC 0x65735546

enum { MAX_FDINFO = 65536, MAX_MOUNTINFO = 16 << 20 };

#define UNKNOWN ((uid_t)-2)

/*
 * The last field: the file system's own options. Type and source before it are chosen by the user, and may contain
 * commas, but no spaces: those are escaped.
 */
static const char *own_options(const char *type)
{
	const char *source = strpbrk(type, " \n"),
		   *options = source && *source == ' ' ? strpbrk(source + 1, " \n") : NULL;

	return options && *options == ' ' ? options : NULL;
}

/*
 * A line looks like "1130 26 0:52 / /home/a/mnt rw,nosuid shared:3 - fuse.sshfs a@host: rw,user_id=1000,group_id=1000".
 */
static bool user_of_line(const char *line, uid_t *ret)
{
	size_t len = strcspn(line, "\n");
	const char *type = memmem(line, len, " - ", 3), *options, *user;

	*ret = UNKNOWN;
	if (!type)
		return true;
	/* virtiofs and others are FUSE, too, but only root can mount them. */
	if (strncmp(type + 3, "fuse", 4) != 0)
		return false;
	options = own_options(type + 3);
	user = options ? memmem(options, len - (size_t)(options - line), ",user_id=", 9) : NULL;
	if (user)
		*ret = (uid_t)strtoul(user + 9, NULL, 10);
	return *ret != 0;
}

bool fuse_user_of(const char *mountinfo, uint64_t mount_id, uid_t *ret)
{
	for (const char *line = mountinfo; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		char *end;

		if (strtoull(line, &end, 10) == mount_id && *end == ' ')
			return user_of_line(line, ret);
	}
	*ret = UNKNOWN;
	return true;
}

static bool mount_id_of(int fd, uint64_t *ret)
{
	CLEANUP(free_at_exit) char *text = NULL;
	const char *found;
	char path[40];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	if (file_read_at(AT_FDCWD, path, MAX_FDINFO, &text, NULL) < 0)
		return false;
	found = strstr(text, "mnt_id:");
	return found && sscanf(found, "mnt_id: %" SCNu64, ret) == 1;
}

bool fuse_user(int fd, uid_t *ret)
{
	CLEANUP(free_at_exit) char *mountinfo = NULL;
	struct statfs fs;
	uint64_t id;

	if (fstatfs(fd, &fs) < 0 || fs.f_type != FUSE_MAGIC)
		return false;
	if (mount_id_of(fd, &id) &&
	    file_read_at(AT_FDCWD, "/proc/self/mountinfo", MAX_MOUNTINFO, &mountinfo, NULL) == 0)
		return fuse_user_of(mountinfo, id, ret);
	*ret = UNKNOWN;
	return true;
}
