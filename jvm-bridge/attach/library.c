#include "jvm-bridge/attach/attach_child.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jvm-bridge/attach/attach.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"
#include "symbolizer/files/fileio.h"

enum { MAX_MAPS = 64 << 20, MAX_LIBRARY = 64 << 20 };

/* The C library's loader stays mapped as long as the process lives. */
static bool runs_on_musl(struct proc *proc)
{
	CLEANUP(free_at_exit) char *maps = NULL;
	size_t len;

	return proc_read(proc, "maps", MAX_MAPS, &maps, &len) == 0 && strstr(maps, "/ld-musl-");
}

/* The file becomes code in the target, which may be root's: others must not be able to write it. */
static bool trustworthy(const struct stat *st)
{
	return (st->st_uid == 0 || st->st_uid == geteuid()) && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

/* Given any other file, JVMs warn of damaged stack guards. */
static bool is_shared_object(const struct library *lib)
{
	Elf64_Ehdr h;

	if (lib->len < sizeof(h))
		return false;
	memcpy(&h, lib->bytes, sizeof(h));
	return memcmp(h.e_ident, ELFMAG, SELFMAG) == 0 && h.e_ident[EI_CLASS] == ELFCLASS64 && h.e_type == ET_DYN;
}

int library_read(struct proc *proc, const struct attach_task *t, struct library *ret, struct err *err)
{
	CLEANUP(close_at_exit) int fd = -1;
	int r;

	/* A library built for glibc works on musl as well: tests/unit/bridge_symbols.py. */
	ret->path = t->musl_library && runs_on_musl(proc) ? t->musl_library : t->library;
	fd = open(ret->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &ret->st) < 0)
		return err_set(err, -errno, "cannot open %s: %m", ret->path);
	if (!S_ISREG(ret->st.st_mode))
		return err_set(err, -ENOEXEC, "%s is not a regular file", ret->path);
	if (!trustworthy(&ret->st))
		return err_set(err, -EPERM, "%s is not loaded: other users can write to it, or own it", ret->path);
	r = file_read_fd(fd, MAX_LIBRARY, &ret->bytes, &ret->len);
	if (r < 0)
		return err_set(err, r, "cannot read %s: %s", ret->path, strerror(-r));
	return is_shared_object(ret) ? 0 : err_set(err, -ENOEXEC, "%s is not a shared library", ret->path);
}

void library_done(struct library *lib)
{
	free(lib->bytes);
}
