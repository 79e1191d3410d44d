#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbolizer/base/budget.h"
#include "symbolizer/native/dso.h"
#include "symbolizer/native/modules/modmap.h"
#include "symbolizer/native/modules/shared_dsos.h"
#include "symbolizer/target/maps.h"
#include "symbolizer/target/mem.h"
#include "symbolizer/target/proc.h"

enum { POOL = 64 << 20, SECOND = 1000000000 };

/* Files of this very process, which stands for several. */
struct world {
	struct proc *proc;
	struct shared_dsos *shared;
	char path[40];
};

static void copy_sample(const char *to)
{
	char command[400];

	snprintf(command, sizeof(command), "cp %s/full_none.so %s && chmod 644 %s", SAMPLES, to, to);
	assert_int_equal(system(command), 0);
}

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	int fd;

	assert_non_null(w);
	assert_int_equal(proc_open(getpid(), &w->proc, NULL), 0);
	w->shared = shared_dsos_new(POOL, SECOND);
	assert_non_null(w->shared);
	strcpy(w->path, "/tmp/js_shared_XXXXXX");
	fd = mkstemp(w->path);
	assert_true(fd >= 0);
	close(fd);
	copy_sample(w->path);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	shared_dsos_free(w->shared);
	proc_close(w->proc);
	unlink(w->path);
	free(w);
	return 0;
}

static struct shared_dso *take_as(struct world *w, const char *path)
{
	int fd = open(w->path, O_RDONLY | O_CLOEXEC);
	struct shared_dso *d;

	assert_true(fd >= 0);
	d = shared_dsos_take(w->shared, w->proc, fd, path);
	if (!d)
		assert_int_equal(close(fd), 0);
	return d;
}

static struct shared_dso *take(struct world *w)
{
	return take_as(w, w->path);
}

static void one_file_is_read_once(void **state)
{
	struct world *w = *state;
	struct shared_dso *a = take(w), *b = take(w);

	assert_non_null(a);
	assert_ptr_equal(a, b);
	shared_dsos_give(w->shared, a);
	a = take(w);
	assert_ptr_equal(a, b); /* it was still in use */
	shared_dsos_give(w->shared, a);
	shared_dsos_give(w->shared, b);
}

static void another_file_is_another_one(void **state)
{
	struct world *w = *state;
	struct shared_dso *a = take(w), *path = take_as(w, "/elsewhere/libx.so"), *b, *c;
	const struct timespec times[2] = {{1, 0}, {1, 0}};
	char aside[60];

	assert_ptr_not_equal(a, path);
	assert_int_equal(utimensat(AT_FDCWD, w->path, times, 0), 0);
	b = take(w);
	assert_ptr_not_equal(a, b);
	snprintf(aside, sizeof(aside), "%s.old", w->path);
	assert_int_equal(rename(w->path, aside), 0); /* or its inode would be used again */
	copy_sample(w->path);
	c = take(w);
	assert_ptr_not_equal(b, c);
	assert_int_equal(unlink(aside), 0);
	shared_dsos_give(w->shared, a);
	shared_dsos_give(w->shared, b);
	shared_dsos_give(w->shared, c);
	shared_dsos_give(w->shared, path);
}

static void what_others_may_write_is_not_shared(void **state)
{
	struct world *w = *state;

	assert_int_equal(chmod(w->path, 0664), 0);
	assert_null(take(w));
	assert_int_equal(chmod(w->path, 0646), 0);
	assert_null(take(w));
	assert_int_equal(chmod(w->path, 0644), 0);
	if (getuid() == 0) {
		assert_int_equal(chown(w->path, 4321, 0), 0);
		assert_null(take(w));
	}
}

/* Whoever comes when the memory is used up has its own, and those who were there keep theirs. */
static void a_flood_takes_nothing_from_others(void **state)
{
	struct world *w = *state;
	struct shared_dso *first, *again;
	struct stat st;
	struct dso_symbol s;
	uint64_t at, size;

	assert_int_equal(stat(w->path, &st), 0);
	shared_dsos_free(w->shared);
	w->shared = shared_dsos_new(2 * ((uint64_t)st.st_size + SHARED_DSO_INDEX) - 1, SECOND);
	first = take(w);
	assert_non_null(first);
	assert_null(take_as(w, "/elsewhere/libx.so"));
	again = take(w);
	assert_ptr_equal(first, again);
	assert_int_equal(dso_find_by_name(shared_dso_get(first), "hidden_work", &at, &size), 0);
	assert_int_equal(dso_find_symbol(shared_dso_get(first), at, &s), 0);
	assert_string_equal(s.name, "hidden_work");
	shared_dsos_give(w->shared, first);
	shared_dsos_give(w->shared, again);
	first = take_as(w, "/elsewhere/libx.so"); /* all of it was given back */
	assert_non_null(first);
	shared_dsos_give(w->shared, first);
}

static void one_without_time_spoils_nothing(void **state)
{
	struct world *w = *state;
	struct dso *own, *d;
	struct shared_dso *shared = take(w);
	const struct cfi_row *row;
	struct budget poor, rich;
	struct dso_symbol s;
	uint64_t at, size;

	assert_int_equal(dso_open_fd(open(w->path, O_RDONLY | O_CLOEXEC), w->path, NULL, &own, NULL), 0);
	assert_int_equal(dso_find_by_name(own, "hidden_work", &at, &size), 0);
	dso_close(own);
	budget_init(&poor, POOL, 0);
	budget_init(&rich, POOL, SECOND);
	d = shared_dso_get(shared);
	budget_spend(&poor, 1);
	dso_lend(d, &poor);
	assert_int_not_equal(dso_find_by_name(d, "hidden_work", &at, &size), 0);
	assert_int_not_equal(dso_find_symbol(d, at, &s), 0);
	assert_int_not_equal(dso_cfi_row(d, at, &row), 0);
	dso_lend(d, &rich);
	assert_int_equal(dso_find_by_name(d, "hidden_work", &at, &size), 0);
	assert_int_equal(dso_find_symbol(d, at, &s), 0);
	assert_int_equal(dso_cfi_row(d, at, &row), 0);
	assert_true(budget_ns_left(&rich) < SECOND);
	dso_lend(d, &poor); /* what is known costs nothing */
	assert_int_equal(dso_find_symbol(d, at, &s), 0);
	assert_int_equal(dso_cfi_row(d, at, &row), 0);
	shared_dsos_give(w->shared, shared);
}

struct process {
	struct maps *maps;
	struct mem *mem;
	struct modmap *m;
	struct budget b;
};

static void begin(struct world *w, struct process *p)
{
	assert_int_equal(maps_open(w->proc, NULL, &p->maps, NULL), 0);
	p->mem = mem_pages_new();
	assert_non_null(p->mem);
	budget_init(&p->b, POOL, 8 * (uint64_t)SECOND);
	assert_int_equal(modmap_open(w->proc, p->maps, p->mem, &p->b, &p->m, NULL), 0);
	modmap_share(p->m, w->shared);
}

static void end(struct process *p)
{
	modmap_close(p->m);
	mem_free(p->mem);
	maps_close(p->maps);
}

/* Of two processes, the one that opened a file ends first. */
static void modmaps_share(void **state)
{
	struct world *w = *state;
	struct process a, b;
	uint64_t addr = (uint64_t)(uintptr_t)getpid;
	struct modmap_hit of_a, of_b;
	struct dso_symbol s, t;

	shared_dsos_free(w->shared);
	w->shared = shared_dsos_new((uint64_t)1 << 30, SECOND);
	begin(w, &a);
	begin(w, &b);
	of_a = modmap_find(a.m, addr);
	of_b = modmap_find(b.m, addr);
	assert_non_null(of_a.dso);
	assert_ptr_equal(of_a.dso, of_b.dso);
	assert_int_equal(of_a.vaddr, of_b.vaddr);
	assert_ptr_equal(modmap_dso(a.m, of_a.dso_id), of_a.dso);
	assert_int_equal(dso_find_symbol(of_a.dso, of_a.vaddr, &s), 0);
	end(&a);
	of_b = modmap_find(b.m, addr);
	assert_int_equal(dso_find_symbol(of_b.dso, of_b.vaddr, &t), 0);
	assert_ptr_equal(s.name, t.name);
	end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(one_file_is_read_once, setup, teardown),
		cmocka_unit_test_setup_teardown(another_file_is_another_one, setup, teardown),
		cmocka_unit_test_setup_teardown(what_others_may_write_is_not_shared, setup, teardown),
		cmocka_unit_test_setup_teardown(a_flood_takes_nothing_from_others, setup, teardown),
		cmocka_unit_test_setup_teardown(one_without_time_spoils_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(modmaps_share, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
