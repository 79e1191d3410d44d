#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sqlite3.h>

#include "tests/support/store_fill.h"

/*
 * A file system that loses what was not synced: at each xSync() the file is copied to NAME.synced, and a power cut puts these
 * copies in the places of the files (sqlite.org/c3ref/vfs.html).
 */
struct cut_file {
	sqlite3_file base;
	const char *name;
	sqlite3_file *real;
};

static sqlite3_vfs *real_vfs, cut_vfs;
static sqlite3_io_methods cut_methods;
static char dir[64];
static int syncs;

static sqlite3_file *real(sqlite3_file *f)
{
	return ((struct cut_file *)f)->real;
}

static void run(const char *format, const char *a, const char *b)
{
	char command[600];

	snprintf(command, sizeof(command), format, a, b);
	assert_int_equal(system(command), 0);
}

static int cut_sync(sqlite3_file *f, int flags)
{
	struct cut_file *c = (struct cut_file *)f;

	(void)flags;
	syncs++;
	run("cp '%s' '%s.synced'", c->name, c->name);
	return SQLITE_OK;
}

static int cut_close(sqlite3_file *f)
{
	return real(f)->pMethods ? real(f)->pMethods->xClose(real(f)) : SQLITE_OK;
}

static int cut_read(sqlite3_file *f, void *p, int n, sqlite3_int64 at)
{
	return real(f)->pMethods->xRead(real(f), p, n, at);
}
static int cut_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
	return real(f)->pMethods->xWrite(real(f), p, n, at);
}
static int cut_truncate(sqlite3_file *f, sqlite3_int64 n)
{
	return real(f)->pMethods->xTruncate(real(f), n);
}
static int cut_size(sqlite3_file *f, sqlite3_int64 *n)
{
	return real(f)->pMethods->xFileSize(real(f), n);
}
static int cut_lock(sqlite3_file *f, int l)
{
	return real(f)->pMethods->xLock(real(f), l);
}
static int cut_unlock(sqlite3_file *f, int l)
{
	return real(f)->pMethods->xUnlock(real(f), l);
}
static int cut_reserved(sqlite3_file *f, int *r)
{
	return real(f)->pMethods->xCheckReservedLock(real(f), r);
}
static int cut_control(sqlite3_file *f, int op, void *arg)
{
	return real(f)->pMethods->xFileControl(real(f), op, arg);
}
static int cut_sector(sqlite3_file *f)
{
	return real(f)->pMethods->xSectorSize(real(f));
}
static int cut_device(sqlite3_file *f)
{
	(void)f;
	return 0;
}
static int cut_map(sqlite3_file *f, int i, int n, int more, void volatile **p)
{
	return real(f)->pMethods->xShmMap(real(f), i, n, more, p);
}
static int cut_shm_lock(sqlite3_file *f, int at, int n, int flags)
{
	return real(f)->pMethods->xShmLock(real(f), at, n, flags);
}
static void cut_barrier(sqlite3_file *f)
{
	real(f)->pMethods->xShmBarrier(real(f));
}
static int cut_unmap(sqlite3_file *f, int del)
{
	return real(f)->pMethods->xShmUnmap(real(f), del);
}

static int cut_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags, int *out)
{
	struct cut_file *c = (struct cut_file *)f;

	(void)vfs;
	c->name = name;
	c->real = (sqlite3_file *)(c + 1);
	c->base.pMethods = &cut_methods;
	return real_vfs->xOpen(real_vfs, name, c->real, flags, out);
}

static int cut_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
	(void)vfs;
	run("rm -f '%s.synced'%s", name, "");
	return real_vfs->xDelete(real_vfs, name, sync);
}

static void use_cut_vfs(void)
{
	real_vfs = sqlite3_vfs_find(NULL);
	cut_vfs = *real_vfs;
	cut_vfs.zName = "cut";
	cut_vfs.szOsFile = (int)sizeof(struct cut_file) + real_vfs->szOsFile;
	cut_vfs.xOpen = cut_open;
	cut_vfs.xDelete = cut_delete;
	cut_methods = (sqlite3_io_methods){2,           cut_close,  cut_read,   cut_write,  cut_truncate,
					   cut_sync,    cut_size,   cut_lock,   cut_unlock, cut_reserved,
					   cut_control, cut_sector, cut_device, cut_map,    cut_shm_lock,
					   cut_barrier, cut_unmap,  NULL,       NULL};
	assert_int_equal(sqlite3_vfs_register(&cut_vfs, 1), SQLITE_OK);
}

/* A copy of the directory as it is after the power is back. */
static void cut_power(char copy[64])
{
	store_test_dir(copy);
	run("cd '%s' && for f in *.synced; do [ ! -e \"$f\" ] || cp \"$f\" '%s'/\"${f%%.synced}\"; done", dir, copy);
}

/* What is left is what was committed up to some moment. */
static uint64_t check_what_is_left(const char *copy)
{
	struct store *s = NULL;
	struct named_profile *np = NULL;
	uint64_t n = store_test_count(copy, MIDNIGHT, MIDNIGHT + 86400, NULL);

	if (store_test_read(copy, MIDNIGHT, MIDNIGHT + 86400, NULL, &np) == 0)
		assert_int_equal(np->n_samples, n);
	for (uint32_t i = 0; np && i < np->n_functions; i++) {
		unsigned which;

		if (sscanf(named_string(np, np->functions[i].name), "c/C.m%u", &which) == 1)
			assert_true(which < n);
	}
	named_profile_free(np);
	assert_int_equal(store_open(copy, &(struct store_options){0}, &s, NULL), 0);
	assert_int_equal(store_test_add(s, 1, MIDNIGHT, 4000000, 1), 0);
	assert_int_equal(store_flush(s, NULL), 0);
	store_close(s);
	assert_int_equal(store_test_count(copy, MIDNIGHT, MIDNIGHT + 86400, NULL), n + 1);
	run("! ls '%s' | grep -q aside%s", copy, "");
	return n;
}

/* A commit takes a few pages of the log, and the log is synced and copied to the file every 256 pages. */
static void a_power_cut_costs_one_checkpoint(void **state)
{
	enum { FLUSHES = 400, EVERY = 16, MOST_LOST = 128 };
	struct store *s = NULL;
	char copy[64];

	(void)state;
	store_test_dir(dir);
	use_cut_vfs();
	assert_int_equal(store_open(dir, &(struct store_options){0}, &s, NULL), 0);
	for (uint32_t i = 0; i < FLUSHES; i++) {
		assert_int_equal(store_test_add(s, 1, MIDNIGHT + i * 10, i, 1), 0);
		assert_int_equal(store_flush(s, NULL), 0);
		if (i % EVERY)
			continue;
		cut_power(copy);
		assert_true(check_what_is_left(copy) + MOST_LOST > i);
		store_test_remove(copy);
	}
	assert_true(syncs > 3);
	store_close(s);
	store_test_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(a_power_cut_costs_one_checkpoint)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
