#include <elf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "symbolizer/base/budget.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"
#include "symbolizer/native/dso.h"
#include "symbolizer/native/dso_record.h"
#include "symbolizer/native/modules/modmap_priv.h"
#include "symbolizer/native/modules/shared_dsos.h"
#include "symbolizer/target/maps.h"
#include "symbolizer/target/target_file.h"

static bool starts_with(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

/* proc(5), "maps"; anon_inode and SysV memory: linux/fs/proc/task_mmu.c. */
bool path_is_anonymous(const char *path)
{
	static const char *const prefix[] = {
		"//anon", "/dev/zero", "/SYSV", "anon_inode:", "/anon_hugepage", "[anon", "[heap", "[stack"};

	for (size_t i = 0; i < sizeof(prefix) / sizeof(prefix[0]); i++)
		if (starts_with(path, prefix[i]))
			return true;
	return !*path;
}

/* Files for sharing memory count as libraries only if they can be opened and are ELF files. */
static bool path_is_shared_memory(const char *path)
{
	return starts_with(path, "/memfd:") || starts_with(path, "/dev/shm/");
}

static struct dso *take_record(struct modmap *m, const char *path)
{
	for (size_t i = 0; i < m->records.n; i++) {
		struct dso *d = m->records.v[i];

		if (d && !strcmp(dso_path(d), path)) {
			m->records.v[i] = NULL;
			return d;
		}
	}
	return NULL;
}

static int open_debug_file(void *ctx, const char *path)
{
	struct modmap *m = ctx;
	int fd, r = target_file_open(m->proc, path, &fd, NULL);

	if (target_file_why_far(r))
		budget_refuse(m->budget, 0, "names in the debug file %s, %s,", path, target_file_why_far(r));
	return r < 0 ? r : fd;
}

/* What only this target says about the file, others are not to believe. */
static int open_shared_debug_file(void *ctx, const char *path)
{
	struct modmap *m = ctx;
	int fd = open_debug_file(m, path);

	if (fd < 0 || shared_dsos_may_have(m->proc, fd))
		return fd;
	close(fd);
	return -EACCES;
}

struct dso *module_dso(const struct modmap *m, const struct module *mod)
{
	if (mod->shared) {
		dso_lend(mod->dso, m->budget);
		dso_set_debug_open(mod->dso, open_shared_debug_file, (void *)m);
		dso_set_lines_child(mod->dso, m->lines_child);
	}
	return mod->dso;
}

void module_close(struct modmap *m, struct module *mod)
{
	if (mod->shared)
		shared_dsos_give(m->shared, mod->shared);
	else
		dso_close(mod->dso);
}

static bool has_elf_magic(int fd)
{
	char magic[SELFMAG];

	return pread(fd, magic, sizeof(magic), 0) == SELFMAG && !memcmp(magic, ELFMAG, SELFMAG);
}

static int open_file(struct modmap *m, struct module *mod, const struct span *span, struct err *err)
{
	const struct mapping *map = maps_find(m->maps, span->start);
	int fd, r;

	if (!map)
		return err_set(err, -ESTALE, "%s: no longer mapped", mod->path);
	if (budget_expired(m->budget)) {
		budget_refuse(m->budget, 0, "some files, for lack of time");
		return err_set(err, -ETIME, "%s: not read, for lack of time", mod->path);
	}
	r = target_file_open_mapping(m->proc, map, &fd, err);
	if (r < 0) {
		mod->anon = path_is_shared_memory(mod->path);
		return r;
	}
	if (!has_elf_magic(fd)) {
		mod->anon = true;
		close(fd);
		return err_set(err, -ENOEXEC, "%s: not an ELF file", mod->path);
	}
	mod->shared = m->shared ? shared_dsos_take(m->shared, m->proc, fd, mod->path) : NULL;
	if (!mod->shared)
		return dso_open_fd(fd, mod->path, m->budget, &mod->dso, err);
	mod->dso = shared_dso_get(mod->shared);
	return 0;
}

static int open_vdso(struct modmap *m, struct module *mod, const struct span *span, struct err *err)
{
	if (!m->mem)
		return err_set(err, -ENOENT, "%s: no memory to read it from", mod->path);
	return dso_open_mem(m->mem, span->start, span->end, mod->path, &mod->dso, err);
}

void module_open(struct modmap *m, struct module *mod, const struct span *span)
{
	struct err err = {0};
	int r = 0;

	mod->tried = true;
	budget_begin(m->budget);
	mod->dso = take_record(m, mod->path);
	if (mod->dso)
		;
	else if (!strcmp(mod->path, "[vdso]"))
		r = open_vdso(m, mod, span, &err);
	else if (mod->path[0] != '[' && m->proc) /* otherwise it is [vsyscall], or missing in the recording */
		r = open_file(m, mod, span, &err);
	budget_end(m->budget);
	if (r < 0)
		log_info("%s", err.msg[0] ? err.msg : mod->path);
	if (r == -E2BIG)
		budget_refuse(m->budget, 0, "names of %s", mod->path);
	if (target_file_why_far(r)) {
		mod->far = r;
		budget_refuse(m->budget, 0, "names of %s, %s,", mod->path, target_file_why_far(r));
	}
	if (!mod->dso || mod->shared)
		return;
	if (m->proc)
		dso_set_debug_open(mod->dso, open_debug_file, m);
	dso_set_lines_child(mod->dso, m->lines_child);
	dso_set_tap(mod->dso, m->tap);
}
