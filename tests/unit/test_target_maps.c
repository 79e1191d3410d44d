#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "symbolizer/base/budget.h"
#include "symbolizer/target/maps.h"
#include "symbolizer/target/proc.h"

static const char text[] =
	"00400000-00401000 r--p 00000000 103:01 1234567                          /usr/lib/jvm/a b.so\n"
	"00401000-00403000 r-xp 00001000 103:01 1234567                          /usr/lib/jvm/a b.so\n"
	"00403000-00404000 rw-s 00000000 00:01 2                                 /memfd:x (deleted)\n"
	"00500000-00600000 ---p 00000000 00:00 0 \n"
	"7f0000000000-7f0000001000 r--p 00000000 00:00 0                          /x\\012y\n"
	"7ffd00000000-7ffd00021000 rw-p 00000000 00:00 0                          [stack]\n"
	"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n";

static void test_good(void **state)
{
	struct maps *m = NULL;
	const struct mapping *a, *b;
	size_t len;

	(void)state;
	assert_int_equal(maps_parse(text, strlen(text), &m), 0);
	assert_int_equal(maps_count(m), 7);
	a = maps_at(m, 0);
	b = maps_at(m, 1);
	assert_int_equal(a->start, 0x400000);
	assert_int_equal(a->end, 0x401000);
	assert_int_equal(a->dev_major, 0x103);
	assert_int_equal(a->dev_minor, 1);
	assert_int_equal(a->inode, 1234567);
	assert_int_equal(a->flags, MAP_R);
	assert_int_equal(b->flags, MAP_R | MAP_X);
	assert_int_equal(b->offset, 0x1000);
	assert_string_equal(b->path, "/usr/lib/jvm/a b.so");
	assert_false(b->deleted);
	a = maps_at(m, 2);
	assert_string_equal(a->path, "/memfd:x");
	assert_true(a->deleted);
	assert_int_equal(a->flags, MAP_R | MAP_W | MAP_SHARED_);
	assert_string_equal(maps_at(m, 3)->path, "");
	assert_string_equal(maps_at(m, 4)->path, "/x\\012y");
	assert_string_equal(maps_at(m, 5)->path, "[stack]");
	assert_null(maps_at(m, 7));
	assert_string_equal(maps_text(m, &len), text);
	assert_int_equal(len, strlen(text));
	assert_int_equal(maps_refresh(m), 0);
	maps_close(m);
	maps_close(NULL);
}

static void test_find(void **state)
{
	static const struct {
		uint64_t addr;
		int index; /* -1: none */
	} rows[] = {
		{0, -1},        {0x3fffff, -1},      {0x400000, 0},        {0x400fff, 0},
		{0x401000, 1},  {0x403fff, 2},       {0x404000, -1},       {0x550000, 3},
		{0x600000, -1}, {0x7f0000000fff, 4}, {0x7f0000001000, -1}, {UINT64_MAX, -1},
	};
	struct maps *m = NULL;

	(void)state;
	assert_int_equal(maps_parse(text, strlen(text), &m), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_ptr_equal(maps_find(m, rows[i].addr),
				 rows[i].index < 0 ? NULL : maps_at(m, (size_t)rows[i].index));
	maps_close(m);

	assert_int_equal(maps_parse("", 0, &m), 0);
	assert_int_equal(maps_count(m), 0);
	assert_null(maps_find(m, 0x1000));
	maps_close(m);
}

static void test_bad(void **state)
{
	static const char *const rows[] = {
		"\n",
		"x\n",
		"1000-2000 r--p 0 0:0 0", /* cut off */
		"1000-2000\n",
		"1000-2000 r--p\n",
		"1000-2000 r--p 0 00:00\n",
		"1000-2000 r--q 0 0:0 0\n",
		"1000-2000 rr-p 0 0:0 0\n",
		"1000-2000 r--p 0 0:0 0/x\n",
		"1000-2000 r--p g 0:0 0\n",
		"1000-2000 r--p 0 0:0 a\n",
		"1000-2000 r--p 0 100000000:0 0\n",
		"-2000 r--p 0 0:0 0\n",
		"2000-2000 r--p 0 0:0 0\n",
		"2000-1000 r--p 0 0:0 0\n",
		"10000000000000000-2 r--p 0 0:0 0\n",
		"1000-10000000000000000 r--p 0 0:0 0\n",
		"1000-2000 r--p 0 0:0 99999999999999999999\n",
		"1000-2000 r--p 0 0:0 0\n1fff-3000 r--p 0 0:0 0\n", /* overlap */
		"2000-3000 r--p 0 0:0 0\n1000-2000 r--p 0 0:0 0\n", /* order */
		"1000-2000 r--p 0 0:0 0\n1000-2000 r--p 0 0:0 0\n",
	};
	struct maps *m = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (maps_parse(rows[i], strlen(rows[i]), &m) != -EINVAL)
			fail_msg("accepted: %s", rows[i]);
	assert_int_equal(maps_parse("1000-2000 r--p 0 0:0 0 /a\0b\n", 28, &m), -EINVAL);
	assert_null(m);
}

static void test_overlong_line(void **state)
{
	enum { SIZE = 70000 };
	char *s = malloc(SIZE);
	struct maps *m = NULL;

	(void)state;
	memset(s, 'p', SIZE);
	memcpy(s, "1000-2000 r--p 0 0:0 5 /", 24);
	s[SIZE - 1] = '\n';
	assert_int_equal(maps_parse(s, SIZE, &m), -EINVAL);
	s[16000] = '\n';
	assert_int_equal(maps_parse(s, 16001, &m), 0);
	assert_int_equal(strlen(maps_at(m, 0)->path), 16000 - 23);
	maps_close(m);
	free(s);
}

static void test_own_process(void **state)
{
	const struct mapping *map;
	struct proc *p = NULL;
	struct maps *m = NULL;
	uint64_t generation;
	void *page;

	(void)state;
	assert_int_equal(proc_open(getpid(), &p, NULL), 0);
	assert_int_equal(maps_open(p, NULL, &m, NULL), 0);
	map = maps_find(m, (uintptr_t)&test_own_process);
	assert_non_null(map);
	assert_true(map->flags & MAP_X);
	assert_non_null(strstr(map->path, "test_target_maps"));

	generation = maps_generation(m);
	page = mmap(NULL, 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_int_equal(maps_refresh(m), 0);
	assert_true(maps_generation(m) > generation);
	assert_non_null(maps_find(m, (uintptr_t)page));
	munmap(page, 4096);
	assert_int_equal(maps_refresh(m), 0);
	assert_null(maps_find(m, (uintptr_t)page));
	maps_close(m);
	proc_close(p);
}

/* The list is the target's, too: what is left limits it, and what was read stays. */
static void test_little_is_left(void **state)
{
	struct budget b;
	struct proc *p = NULL;
	struct maps *m = NULL;
	uint64_t generation;
	size_t n;
	void *page;

	(void)state;
	assert_int_equal(proc_open(getpid(), &p, NULL), 0);
	budget_init(&b, 100, 0);
	assert_int_equal(maps_open(p, &b, &m, NULL), -EFBIG);
	assert_int_equal(budget_bytes_left(&b), 100);
	budget_init(&b, 64 << 20, 0);
	assert_int_equal(maps_open(p, &b, &m, NULL), 0);
	assert_true(budget_bytes_left(&b) < 64 << 20);
	generation = maps_generation(m);
	n = maps_count(m);
	b.bytes_left = 100;
	page = mmap(NULL, 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_int_equal(maps_refresh(m), -EFBIG);
	assert_int_equal(maps_generation(m), generation);
	assert_int_equal(maps_count(m), n);
	munmap(page, 4096);
	maps_close(m);
	assert_in_range(budget_bytes_left(&b), 100 + 1, 64 << 20);
	proc_close(p);
}

static void test_child_ends(void **state)
{
	pid_t child;
	struct proc *p = NULL;
	struct maps *m = NULL;
	uint64_t generation;
	size_t n;

	(void)state;
#ifdef __SANITIZE_THREAD__
	skip(); /* its run-time goes on mapping memory in the child */
#endif
	child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	assert_int_equal(proc_open(child, &p, NULL), 0);
	assert_int_equal(maps_open(p, NULL, &m, NULL), 0);
	generation = maps_generation(m);
	n = maps_count(m);
	assert_int_equal(maps_refresh(m), 0);
	assert_int_equal(maps_generation(m), generation); /* nothing changed */
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_int_equal(maps_refresh(m), -ESRCH);
	assert_int_equal(maps_count(m), n); /* the old content stays */
	maps_close(m);
	m = NULL;
	assert_int_equal(maps_open(p, NULL, &m, NULL), -ESRCH);
	assert_null(m);
	proc_close(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),        cmocka_unit_test(test_find),
		cmocka_unit_test(test_bad),         cmocka_unit_test(test_overlong_line),
		cmocka_unit_test(test_own_process), cmocka_unit_test(test_little_is_left),
		cmocka_unit_test(test_child_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
