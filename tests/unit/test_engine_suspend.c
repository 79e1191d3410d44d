#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#include "sampler/engine/suspend/has_run.h"
#include "sampler/engine/suspend/suspend_call.h"
#include "sampler/engine/suspend_stats.h"

#define MS UINT64_C(1000000)

/*
 * Register sets in the shapes that PTRACE_GETREGSET and /proc/PID/task/TID/syscall give (6.18, x86-64):
 * one thread in epoll_wait(7, .., 8, 5000), another in a loop.
 */
static const struct {
	const char *what;
	int64_t call;
	uint64_t known;
	uint64_t rax, rcx, r11, rbx, rbp, r12, rip, rsp, rdi, rsi, rdx, r10, r8, r9;
} sets[] = {
	{"looked at in the call", SYS_epoll_wait, 0, 0, 0, 0, 0, 0, 0, 0x7f2c6a3137b6, 0x7f2c683fe8a0, 7,
	 0x7f2c683fe8d0, 8, 5000, 0, 0x7f2c6a3f8d60},
	{"stopped in the call", SYS_epoll_wait, ~UINT64_C(0), (uint64_t)-EINTR, 0x7f2c6a3137b6, 0x293, 0x7f2c683fe8d0,
	 0x1388, 0x7f2c683ff6c0, 0x7f2c6a3137b6, 0x7f2c683fe8a0, 7, 0x7f2c683fe8d0, 8, 5000, 0, 0x7f2c6a3f8d60},
	{"to be restarted", SYS_epoll_wait, ~UINT64_C(0), (uint64_t)-516, 0x7f2c6a3137b6, 0x246, 0x7f2c683fe8d0, 0x1388,
	 0x7f2c683ff6c0, 0x7f2c6a3137b6, 0x7f2c683fe8a0, 7, 0x7f2c683fe8d0, 8, 5000, 0, 0x7f2c6a3f8d60},
	{"in restart_syscall", SYS_restart_syscall, 0, 0, 0, 0, 0, 0, 0, 0x7f2c6a3137b6, 0x7f2c683fe8a0, 7,
	 0x7f2c683fe8d0, 8, 5000, 0, 0x7f2c6a3f8d60},
	{"on its way to restart_syscall", -1, ~UINT64_C(0), 219, 0x7f2c6a3137b6, 0x246, 0x7f2c683fe8d0, 0x1388,
	 0x7f2c683ff6c0, 0x7f2c6a3137b4, 0x7f2c683fe8a0, 7, 0x7f2c683fe8d0, 8, 5000, 0, 0x7f2c6a3f8d60},
	{"the call came back", -1, ~UINT64_C(0), 1, 0x7f2c6a3137b6, 0x246, 0x7f2c683fe8d0, 0x1388, 0x7f2c683ff6c0,
	 0x7f2c6a3137b6, 0x7f2c683fe8a0, 7, 0x7f2c683fe8d0, 8, 5000, 0, 0x7f2c6a3f8d60},
	{"waits less long", SYS_epoll_wait, 0, 0, 0, 0, 0, 0, 0, 0x7f2c6a3137b6, 0x7f2c683fe8a0, 7, 0x7f2c683fe8d0, 8,
	 4000, 0, 0x7f2c6a3f8d60},
	{"runs", -1, ~UINT64_C(0), 0x91, 0x7f2c6a2f0b1b, 0x246, 3, 0x7f2c67bfdee0, 0x7f2c67bff6c0, 0x55d6f2a3a2c1,
	 0x7f2c67bfdea0, 0x91, 0, 0x55d6f2a3c0e0, 0x7f2c67bfde90, 0, 0x7f2c67bff6c0},
	{"ran on", -1, ~UINT64_C(0), 0x91, 0x7f2c6a2f0b1b, 0x246, 4, 0x7f2c67bfdee0, 0x7f2c67bff6c0, 0x55d6f2a3a2c1,
	 0x7f2c67bfdea0, 0x91, 0, 0x55d6f2a3c0e0, 0x7f2c67bfde90, 0, 0x7f2c67bff6c0},
};
enum { LOOKED, STOPPED, RESTART, RESTARTED, RESTARTING, CAME_BACK, LESS, RUNS, RAN_ON };

static uint64_t sum(unsigned i)
{
	struct has_run_set s = {.call = sets[i].call};
	const struct {
		uint8_t reg;
		uint64_t value;
	} all[] = {{X86_RAX, sets[i].rax}, {X86_RCX, sets[i].rcx}, {X86_R11, sets[i].r11}, {X86_RBX, sets[i].rbx},
		   {X86_RBP, sets[i].rbp}, {X86_R12, sets[i].r12}, {X86_RIP, sets[i].rip}, {X86_RSP, sets[i].rsp},
		   {X86_RDI, sets[i].rdi}, {X86_RSI, sets[i].rsi}, {X86_RDX, sets[i].rdx}, {X86_R10, sets[i].r10},
		   {X86_R8, sets[i].r8},   {X86_R9, sets[i].r9}};

	for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++)
		if (sets[i].known || (all[k].value && all[k].reg != X86_RAX))
			regs_set(&s.regs, all[k].reg, all[k].value);
	return has_run_host()->checksum(&s);
}

/* However a thread in a call is met, it has not run. */
static void test_same_call(void **state)
{
	(void)state;
	for (unsigned i = STOPPED; i <= RESTARTING; i++)
		assert_int_equal(sum(i), sum(LOOKED));
}

static void test_ran(void **state)
{
	(void)state;
	assert_int_not_equal(sum(CAME_BACK), sum(LOOKED));
	assert_int_not_equal(sum(LESS), sum(LOOKED));
	assert_int_not_equal(sum(RUNS), sum(RAN_ON));
	assert_int_equal(sum(RUNS), sum(RUNS));
}

/* Each register of a running thread counts. */
static void test_every_register(void **state)
{
	struct has_run_set s = {.call = -1};
	uint64_t all;

	(void)state;
	for (unsigned i = 0; i < X86_REGS; i++)
		regs_set(&s.regs, i, 1000 + i);
	all = has_run_host()->checksum(&s);
	for (unsigned i = 0; i < X86_REGS; i++) {
		s.regs.r[i] ^= UINT64_C(1) << (i * 3);
		assert_int_not_equal(has_run_host()->checksum(&s), all);
		s.regs.r[i] ^= UINT64_C(1) << (i * 3);
	}
	assert_int_equal(has_run_host()->checksum(&s), all);
}

static enum has_run_verdict judged(bool same, uint64_t used_ns, bool disturbed)
{
	const struct has_run_look before = {.checksum = 1, .account = {5 * MS, 0, 7}, .disturbed = disturbed};
	const struct has_run_look now = {.checksum = same ? 1 : 2,
					 .account = {5 * MS + used_ns, 0, 7 + (used_ns != 0)}};

	return has_run_judge(&before, &now);
}

static void test_judge(void **state)
{
	(void)state;
	assert_int_equal(judged(true, 0, false), HAS_NOT_RUN);
	assert_int_equal(judged(true, 0, true), HAS_NOT_RUN);
	assert_int_equal(judged(false, 10000, true), HAS_RUN_REGISTERS);
	/* What being stopped cost is not running... */
	assert_int_equal(judged(true, 20000, true), HAS_NOT_RUN);
	/* ...but a loop of one instruction, and a short burst of a thread that was left alone, are. */
	assert_int_equal(judged(true, MS, true), HAS_RUN_ACCOUNT);
	assert_int_equal(judged(true, 20000, false), HAS_RUN_ACCOUNT);
}

/* Without accounts the registers alone tell. */
static void test_judge_no_account(void **state)
{
	struct has_run_look a = {.checksum = 1}, b = {.checksum = 1};

	(void)state;
	assert_int_equal(has_run_judge(&a, &b), HAS_NOT_RUN);
	b.checksum = 2;
	assert_int_equal(has_run_judge(&a, &b), HAS_RUN_REGISTERS);
}

static struct suspend_call again(int64_t nr, uint64_t r10, uint64_t waited_ns)
{
	struct regs r = {0};

	regs_set(&r, X86_R10, r10);
	return suspend_call_again(nr, &r, waited_ns);
}

static void test_timeouts(void **state)
{
	struct suspend_call c = again(SYS_epoll_wait, 5000, 3 * MS);

	(void)state;
	assert_true(c.again);
	assert_int_equal(c.timeout_arg, 3);
	assert_int_equal(c.timeout, 4997);
	assert_false(c.longer);
	c = again(SYS_epoll_pwait, 5000, MS / 2); /* too short to be told in ms */
	assert_int_equal(c.timeout_arg, -1);
	assert_true(c.again && c.longer);
	c = again(SYS_epoll_wait, 2, 5 * MS); /* it is over */
	assert_int_equal(c.timeout, 0);
	assert_int_equal(c.timeout_arg, 3);
	c = again(SYS_epoll_wait, (uint32_t)-1, 5 * MS); /* for ever stays for ever */
	assert_true(c.again && c.timeout_arg == -1 && !c.longer);
	c = again(SYS_epoll_wait, 0, 5 * MS);
	assert_true(c.again && c.timeout_arg == -1);
}

/* What must not be made a second time. */
static void test_not_again(void **state)
{
	(void)state;
	assert_false(again(SYS_close, 0, 0).again);
	assert_false(again(SYS_nanosleep, 0, 0).again); /* the kernel restarts it */
	assert_false(again(SYS_futex, 0, 0).again);
	assert_false(again(SYS_pause, 0, 0).again);
	assert_false(again(-1, 0, 0).again);
	assert_false(again(INT64_MAX, 0, 0).again);
	assert_true(again(SYS_recvfrom, 0, 0).again && again(SYS_recvfrom, 0, 0).longer);
}

static void test_quantiles(void **state)
{
	static struct suspend_times t;
	struct suspend_quantiles q = suspend_times_of(&t);

	(void)state;
	assert_int_equal(q.n, 0);
	for (uint64_t i = 1; i <= 1000; i++)
		suspend_times_add(&t, i * 1000);
	q = suspend_times_of(&t);
	assert_int_equal(q.n, 1000);
	assert_int_equal(q.max_ns, 1000000);
	assert_in_range(q.p50_ns, 500000, 563000);
	assert_in_range(q.p99_ns, 990000, 1000000);
	suspend_times_add(&t, UINT64_MAX);
	suspend_times_add(&t, 0);
	assert_int_equal(suspend_times_of(&t).max_ns, UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_call),        cmocka_unit_test(test_ran),
		cmocka_unit_test(test_every_register),   cmocka_unit_test(test_judge),
		cmocka_unit_test(test_judge_no_account), cmocka_unit_test(test_timeouts),
		cmocka_unit_test(test_not_again),        cmocka_unit_test(test_quantiles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
