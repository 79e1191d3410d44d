#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "symbolizer/base/cleanup.h"
#include "symbolizer/target/deputy.h"
#include "symbolizer/target/maps.h"
#include "symbolizer/target/mem.h"
#include "symbolizer/target/mem_live.h"
#include "symbolizer/target/proc.h"

enum { PAGE = 4096, PAGES = 600 };

/* Where this program maps its area when it is started with an argument: test_exec() needs one
 * address that can be read before and after an execve(2). */
#define FIXED_AREA ((void *)0x10000000)

/* Pages 0 to PAGES - 1 hold their number in each 64-bit word; HOLE_PAGE cannot be read. */
enum { HOLE_PAGE = 3 };

struct target {
	uint64_t *area;
	pid_t pid;
	struct proc *proc;
	struct mem *mem;
};

static uint64_t *area_new(void *where)
{
	uint64_t *a = mmap(where, PAGES * PAGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | (where ? MAP_FIXED_NOREPLACE : 0), -1, 0);

	assert_ptr_not_equal(a, MAP_FAILED);
	for (size_t i = 0; i < PAGES * PAGE / 8; i++)
		a[i] = i * 8 / PAGE;
	munmap((char *)a + HOLE_PAGE * PAGE, PAGE);
	return a;
}

static uint64_t at(const struct target *t, size_t page)
{
	return (uintptr_t)t->area + page * PAGE;
}

static void target_open(struct target *t)
{
	assert_int_equal(proc_open(t->pid, &t->proc, NULL), 0);
	assert_int_equal(mem_live_open(t->proc, &t->mem, NULL), 0);
}

static struct target self(void)
{
	struct target t = {.area = area_new(NULL), .pid = getpid()};

	target_open(&t);
	return t;
}

static void wait_for_end(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pause();
}

static struct target child(void)
{
	struct target t = {.area = area_new(NULL), .pid = fork()};

	if (t.pid == 0)
		wait_for_end();
	target_open(&t);
	return t;
}

static void child_kill(struct target *t)
{
	kill(t->pid, SIGKILL);
	waitpid(t->pid, NULL, 0);
	t->pid = getpid();
}

static void target_done(struct target *t)
{
	if (t->pid != getpid())
		child_kill(t);
	munmap(t->area, PAGES * PAGE);
	mem_free(t->mem);
	proc_close(t->proc);
}

static void check_reads(struct target *t)
{
	uint64_t v = 0;
	char big[5 * PAGE], s[8];

	for (size_t i = 0; i < PAGES; i++)
		if (i != HOLE_PAGE)
			assert_true(mem_read_u64(t->mem, at(t, i) + 8, &v) && v == i);
	assert_false(mem_read_u64(t->mem, at(t, HOLE_PAGE), &v));
	assert_false(mem_read_u64(t->mem, at(t, HOLE_PAGE) - 4, &v)); /* runs into it */
	assert_int_equal(mem_read_some(t->mem, at(t, 2), big, 2 * PAGE), PAGE);
	assert_int_equal(mem_read_some(t->mem, at(t, 1), big, sizeof(big)), 2 * PAGE);
	assert_true(mem_read(t->mem, at(t, 4), big, sizeof(big)));
	memcpy(&v, big + 3 * PAGE, 8);
	assert_int_equal(v, 7);
	assert_true(mem_read_u64(t->mem, at(t, 5) - 4, &v)); /* two pages */
	assert_int_equal(v, 5ull << 32);
	assert_true(mem_read_cstr(t->mem, at(t, 65), s, sizeof(s)));
	assert_string_equal(s, "A");
	assert_false(mem_read_u64(t->mem, 0, &v));
	assert_false(mem_read_u64(t->mem, UINT64_MAX - 3, &v));
	assert_int_equal(mem_read_some(t->mem, UINT64_MAX - 3, big, sizeof(big)), 0);
}

static void test_self(void **state)
{
	struct target t = self();

	(void)state;
	check_reads(&t);
	target_done(&t);
}

static void test_child(void **state)
{
	struct target t = child();

	(void)state;
	check_reads(&t);
	target_done(&t);
}

static void test_cache_lives_for_one_sample(void **state)
{
	struct target t = self();
	uint64_t v = 0, before;

	(void)state;
	mem_new_sample(t.mem);
	assert_true(mem_read_u64(t.mem, at(&t, 1), &v) && v == 1);
	before = mem_live_stats(t.mem).syscalls;
	t.area[PAGE / 8] = 1000;
	assert_true(mem_read_u64(t.mem, at(&t, 1), &v) && v == 1);
	assert_true(mem_read_u64(t.mem, at(&t, 1) + PAGE - 8, &v));
	assert_int_equal(mem_live_stats(t.mem).syscalls, before);
	mem_new_sample(t.mem);
	assert_true(mem_read_u64(t.mem, at(&t, 1), &v) && v == 1000);
	assert_int_equal(mem_live_stats(t.mem).syscalls, before + 1);
	assert_int_equal(mem_live_stats(t.mem).pages, 2);
	assert_int_equal(mem_live_stats(t.mem).bytes, 2 * PAGE);
	/* A page that cannot be read is remembered as such, too. */
	assert_false(mem_read_u64(t.mem, at(&t, HOLE_PAGE), &v));
	before = mem_live_stats(t.mem).syscalls;
	assert_false(mem_read_u64(t.mem, at(&t, HOLE_PAGE), &v));
	assert_int_equal(mem_live_stats(t.mem).syscalls, before);
	assert_int_equal(mem_live_stats(t.mem).faults, 1);
	target_done(&t);
}

/* Two processes with the same addresses, read in turn. */
static void test_one_cache_for_several(void **state)
{
	struct target other = child(), own = {.area = other.area, .pid = getpid()};
	struct mem_live_pool *pool = mem_live_pool_new();
	uint64_t v = 0;

	(void)state;
	target_open(&own);
	mem_live_share(other.mem, pool);
	mem_live_share(own.mem, pool);
	own.area[PAGE / 8] = 1000;
	for (int i = 0; i < 3; i++) {
		assert_true(mem_read_u64(own.mem, at(&own, 1), &v) && v == 1000);
		assert_true(mem_read_u64(other.mem, at(&own, 1), &v) && v == 1);
		assert_true(mem_read_u64(other.mem, at(&own, 2), &v) && v == 2);
	}
	assert_int_equal(mem_live_stats(other.mem).pages, 6);
	mem_free(own.mem);
	proc_close(own.proc);
	target_done(&other);
	mem_live_pool_free(pool);
}

/* What a sample may cost: then reads fail, but for what is in the cache, until the next one. */
static void test_limit(void **state)
{
	struct target t = self();
	struct mem_span spans[4] = {0};
	static char big[64 * PAGE];
	uint64_t v = 0, w[4];

	(void)state;
	mem_live_limit(t.mem, 10);
	mem_new_sample(t.mem);
	for (size_t i = 10; i < 30; i++)
		assert_int_equal(mem_read_u64(t.mem, at(&t, i), &v), i < 20);
	assert_true(mem_read_u64(t.mem, at(&t, 19), &v) && v == 19);
	for (size_t i = 0; i < 4; i++)
		spans[i] = (struct mem_span){at(&t, i + 40), &w[i], 8, true};
	mem_read_batch(t.mem, spans, 4);
	for (size_t i = 0; i < 4; i++)
		assert_false(spans[i].ok);
	assert_int_equal(mem_live_stats(t.mem).syscalls, 10);
	assert_true(mem_live_stats(t.mem).refused >= 11);
	mem_new_sample(t.mem);
	assert_true(mem_read_u64(t.mem, at(&t, 30), &v) && v == 30);
	/* Large reads count as several. */
	assert_true(mem_read(t.mem, at(&t, 100), big, sizeof(big)));
	assert_false(mem_read(t.mem, at(&t, 200), big, sizeof(big)));
	target_done(&t);
}

enum { SPANS = 3000 };

/* `bad` spans, evenly spread, lie in the hole; returns the system calls it took. */
static uint64_t check_batch(struct target *t, size_t n, size_t bad_every)
{
	static struct mem_span spans[SPANS];
	static uint64_t values[SPANS];
	uint64_t before = mem_live_stats(t->mem).syscalls;

	for (size_t i = 0; i < n; i++) {
		size_t page = bad_every && i % bad_every == bad_every / 2 ? HOLE_PAGE : i % (PAGES - 4) + 4;

		values[i] = 0;
		spans[i] = (struct mem_span){at(t, page) + 16, &values[i], 8, page == HOLE_PAGE};
	}
	mem_read_batch(t->mem, spans, n);
	for (size_t i = 0; i < n; i++) {
		bool bad = bad_every && i % bad_every == bad_every / 2;

		assert_int_equal(spans[i].ok, !bad);
		assert_int_equal(values[i], bad ? 0 : i % (PAGES - 4) + 4);
	}
	return mem_live_stats(t->mem).syscalls - before;
}

static void check_batches(struct target *t)
{
	uint64_t v;

	mem_new_sample(t->mem);
	check_batch(t, 30, 0);
	mem_new_sample(t->mem);
	assert_true(mem_read_u64(t->mem, at(t, 1), &v));
	assert_int_equal(check_batch(t, 30, 0), 1);
	assert_int_equal(check_batch(t, 30, 30), 2); /* one bad one: two calls */
	assert_int_equal(check_batch(t, SPANS, 0), 3);
	check_batch(t, SPANS, 7);
	check_batch(t, 1, 0);
	check_batch(t, 0, 0);
	assert_true(check_batch(t, 40, 1) <= 40); /* none can be read */
}

static void test_batch(void **state)
{
	struct target t = self();

	(void)state;
	check_batches(&t);
	target_done(&t);
	t = child();
	check_batches(&t);
	target_done(&t);
}

static void test_batch_odd_spans(void **state)
{
	struct target t = self();
	uint64_t v[4] = {0};
	struct mem_span spans[] = {
		{at(&t, 5), &v[0], 8, false},
		{at(&t, HOLE_PAGE), &v[1], 0, false},
		{at(&t, HOLE_PAGE) - 4, &v[2], 8, true},
		{at(&t, 6), &v[3], 8, false},
		{UINT64_MAX - 3, &v[2], 8, true},
	};

	(void)state;
	mem_read_u64(t.mem, at(&t, 1), &v[0]);
	mem_read_batch(t.mem, spans, 5);
	assert_true(spans[0].ok && v[0] == 5);
	assert_true(spans[1].ok); /* nothing was asked for */
	assert_false(spans[2].ok);
	assert_true(spans[3].ok && v[3] == 6);
	assert_false(spans[4].ok);
	target_done(&t);
}

static void test_child_exit(void **state)
{
	struct target t = child();
	struct mem_span spans[4];
	uint64_t v[4], x = 0;
	char big[5 * PAGE];

	(void)state;
	assert_true(mem_read_u64(t.mem, at(&t, 1), &x) && x == 1);
	child_kill(&t);
	/* In the sample in which it was still seen alive, and in the next. */
	for (int sample = 0; sample < 2; sample++) {
		for (size_t i = 0; i < 4; i++)
			spans[i] = (struct mem_span){at(&t, i + 4), &v[i], 8, true};
		mem_read_batch(t.mem, spans, 4);
		for (size_t i = 0; i < 4; i++)
			assert_false(spans[i].ok);
		assert_int_equal(mem_read_some(t.mem, at(&t, 4), big, sizeof(big)), 0);
		assert_false(mem_read_u64(t.mem, at(&t, 9), &x));
		mem_new_sample(t.mem);
	}
	assert_false(mem_read_u64(t.mem, at(&t, 1), &x));
	assert_false(proc_alive(t.proc));
	mem_free(t.mem);
	t.mem = NULL;
	assert_int_equal(mem_live_open(t.proc, &t.mem, NULL), -ESRCH);
	assert_null(t.mem);
	target_done(&t);
}

static void exec_when_told(int fd)
{
	char c;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (read(fd, &c, 1) >= 0)
		execl("/proc/self/exe", "test_target_live", "wait", NULL);
	_exit(1);
}

/* A view opened anew reads the area of the new program, when it is there. */
static void wait_for_area(struct target *t)
{
	uint64_t x = 0;
	struct mem *m = NULL;

	for (int i = 0; i < 10000 && x != 1; i++) {
		usleep(1000);
		if (mem_live_open(t->proc, &m, NULL) == 0)
			mem_read_u64(m, at(t, 1) + PAGE - 8, &x);
		mem_free(take_ptr(m));
	}
	assert_int_equal(x, 1);
}

/* After an execve(2) the PID has another address space, which must not be read. */
static void test_exec(void **state)
{
	struct target t = {.area = area_new(FIXED_AREA)};
	struct maps *maps = NULL;
	struct mem_span spans[4];
	uint64_t v[4], x;
	int go[2];

	(void)state;
	t.area[2 * PAGE / 8 - 1] = 0; /* the new program has a 1 there */
	assert_int_equal(pipe(go), 0);
	t.pid = fork();
	if (t.pid == 0) {
		close(go[1]);
		exec_when_told(go[0]);
	}
	close(go[0]);
	target_open(&t);
	assert_int_equal(maps_open(t.proc, NULL, &maps, NULL), 0);
	assert_true(mem_read_u64(t.mem, at(&t, 1), &x) && x == 1);
	close(go[1]);
	wait_for_area(&t);

	mem_new_sample(t.mem);
	for (size_t i = 0; i < 4; i++)
		spans[i] = (struct mem_span){at(&t, i + 4), &v[i], 8, true};
	mem_read_batch(t.mem, spans, 4);
	for (size_t i = 0; i < 4; i++)
		assert_false(spans[i].ok);
	assert_false(mem_read_u64(t.mem, at(&t, 1), &x));
	assert_int_equal(maps_refresh(maps), -ESRCH);
	assert_true(proc_alive(t.proc));
	maps_close(maps);
	target_done(&t);
}

static void *stay(void *arg)
{
	for (;;)
		pause();
	return arg;
}

/* process_vm_readv() has no memory for a zombie; the descriptor still has. */
static void test_first_thread_ended(void **state)
{
	struct target t = {.area = area_new(NULL)};
	struct proc *again = NULL;
	struct mem_span spans[4];
	uint64_t v[4], x;
	int gate[2];
	char go = 0;

	(void)state;
	assert_int_equal(pipe(gate), 0);
	t.pid = fork();
	if (t.pid == 0) {
		pthread_t thread;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pthread_create(&thread, NULL, stay, NULL);
		if (read(gate[0], &go, 1) == 1)
			pthread_exit(NULL);
		_exit(1);
	}
	target_open(&t);
	assert_int_equal(write(gate[1], &go, 1), 1);
	close(gate[0]);
	close(gate[1]);
	usleep(100000);
	assert_true(proc_alive(t.proc));
	assert_int_equal(proc_open(t.pid, &again, NULL), 0);
	proc_close(again);
	assert_true(mem_read_u64(t.mem, at(&t, 1), &x) && x == 1);
	for (size_t i = 0; i < 4; i++)
		spans[i] = (struct mem_span){at(&t, i + 4), &v[i], 8, false};
	mem_read_batch(t.mem, spans, 4);
	for (size_t i = 0; i < 4; i++)
		assert_true(spans[i].ok && v[i] == i + 4);
	target_done(&t);
}

/* What was opened goes on working; opening it again would not. */
static int use_without_privileges(struct target *t, struct maps *maps)
{
	struct mem_span spans[4];
	uint64_t v[4], x = 0;
	struct mem *again;

	if (setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0)
		return 1;
	if (mem_live_open(t->proc, &again, NULL) != -EACCES)
		return 2;
	mem_new_sample(t->mem);
	if (!mem_read_u64(t->mem, at(t, 1), &x) || x != 1)
		return 3;
	for (size_t i = 0; i < 4; i++)
		spans[i] = (struct mem_span){at(t, i + 4), &v[i], 8, false};
	mem_read_batch(t->mem, spans, 4);
	for (size_t i = 0; i < 4; i++)
		if (!spans[i].ok || v[i] != i + 4)
			return 4;
	if (maps_refresh(maps) < 0 || maps_count(maps) == 0)
		return 5;
	return proc_alive(t->proc) ? 0 : 6;
}

static void test_privileges_dropped(void **state)
{
	struct target t = child();
	struct maps *maps = NULL;
	int status = 0;
	pid_t user;

	(void)state;
	assert_int_equal(maps_open(t.proc, NULL, &maps, NULL), 0);
	user = geteuid() == 0 ? fork() : -1;
	if (user == 0)
		_exit(use_without_privileges(&t, maps));
	if (user > 0)
		waitpid(user, &status, 0);
	maps_close(maps);
	target_done(&t);
	if (user < 0)
		skip();
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static int find_none(void *ctx, pid_t pid, uint32_t *ret, int *ret_pidfd)
{
	(void)ctx, (void)pid, (void)ret, (void)ret_pidfd;
	return -EPERM;
}

/* Where process_vm_readv(2) is not allowed; for good, so the last test. */
static void test_batch_without_rights(void **state)
{
	struct target t = self();
	uint64_t v[6] = {0}, before;
	static uint8_t big[5 * PAGE];
	struct mem_span spans[] = {
		{at(&t, 6) + 64, &v[0], 8, false}, {at(&t, 13), &v[3], 8, false},
		{at(&t, 6), &v[1], 8, false},      {at(&t, 7) - 8, &v[2], 8, false},
		{at(&t, 3) - 8, &v[4], 8, false},  {at(&t, HOLE_PAGE), &v[5], 8, true},
	};
	struct mem_span nested[] = {{at(&t, 6), big, sizeof(big), false}, {at(&t, 7), &v[5], 8, false}};

	(void)state;
	deputy_appoint(&(struct deputy){.find = find_none});
	mem_new_sample(t.mem);
	assert_true(mem_read_u64(t.mem, at(&t, 1), &v[0]));
	before = mem_live_stats(t.mem).syscalls;
	mem_read_batch(t.mem, spans, 4);
	assert_int_equal(mem_live_stats(t.mem).syscalls - before, 2); /* page 13 is too far */
	mem_read_batch(t.mem, spans + 4, 2);
	for (size_t i = 0; i < 5; i++)
		assert_true(spans[i].ok);
	assert_true(v[0] == 6 && v[1] == 6 && v[2] == 6 && v[3] == 13 && v[4] == 2);
	assert_false(spans[5].ok);
	mem_read_batch(t.mem, nested, 2); /* the first one is larger than what is read for several */
	assert_true(nested[0].ok && nested[1].ok && v[5] == 7);
	check_batch(&t, SPANS, 7);
	munmap(t.area, PAGES * PAGE);
	mem_free(t.mem);
	proc_close(t.proc);
}

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1) {
		area_new(FIXED_AREA);
		wait_for_end();
	}
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_self),
		cmocka_unit_test(test_child),
		cmocka_unit_test(test_cache_lives_for_one_sample),
		cmocka_unit_test(test_one_cache_for_several),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_batch),
		cmocka_unit_test(test_batch_odd_spans),
		cmocka_unit_test(test_child_exit),
		cmocka_unit_test(test_exec),
		cmocka_unit_test(test_first_thread_ended),
		cmocka_unit_test(test_privileges_dropped),
		cmocka_unit_test(test_batch_without_rights),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
