#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "sampler/engine/sample_queue.h"
#include "sampler/engine/suspend/suspend_look.h"
#include "sampler/engine/suspend/suspend_tick.h"
#include "symbolizer/target/arch.h"
#include "symbolizer/target/mem.h"

/* Copies of a stack, from memory of the test. */
enum { STACK_BYTES = 1 << 20, QUEUE = 8 << 20, BLOCK = 64, UNKNOWN = 64 << 10 };
#define STACK UINT64_C(0x7f0000000000)

struct world {
	struct suspend_tick t;
	struct suspend_thread th;
	struct suspend_look l;
	uint8_t *bytes;
};

/* Of the stack there is so much, from `sp` on; its control block lies at `block`. */
static void setup(struct world *w, size_t there, uint64_t sp, uint64_t block)
{
	*w = (struct world){.bytes = malloc(STACK_BYTES)};
	assert_non_null(w->bytes);
	for (size_t i = 0; i < STACK_BYTES; i++)
		w->bytes[i] = (uint8_t)(i * 2654435761u >> 24);
	w->t.mem = mem_pages_new();
	w->t.out.queue = sample_queue_new(QUEUE);
	assert_true(w->t.mem && w->t.out.queue);
	assert_int_equal(mem_pages_add(w->t.mem, STACK, w->bytes, there), 0);
	regs_set(&w->l.set.regs, arch_host()->sp, sp);
	w->l.thread_block = block;
	w->l.stopped = true;
}

static void done(struct world *w)
{
	mem_free(w->t.mem);
	sample_queue_free(w->t.out.queue);
	free(w->bytes);
}

static void expect_copy(struct world *w, uint64_t sp, size_t len, bool cut)
{
	const struct suspend_msg_sample *m = suspend_look_copy(&w->t, &w->th, &w->l);

	assert_non_null(m);
	assert_int_equal(m->stack_addr, sp);
	assert_int_equal(m->stack_len, len);
	assert_int_equal(m->stack_cut, cut);
	assert_int_equal(m->frozen_len, 0);
	assert_memory_equal(m + 1, w->bytes + (sp - STACK), len);
}

/* Up to and with the beginning of the control block. */
static void test_end_known(void **state)
{
	struct world w;

	(void)state;
	setup(&w, STACK_BYTES, STACK + 4000, STACK + 300000);
	expect_copy(&w, STACK + 4000, 296000 + BLOCK, true);
	assert_int_equal(w.t.stats.cut, 0);
	done(&w);
}

/* The first thread's stack, say; and what lies below sp is no end. */
static void test_end_unknown(void **state)
{
	struct world w;

	(void)state;
	setup(&w, STACK_BYTES, STACK + 4000, 0);
	expect_copy(&w, STACK + 4000, UNKNOWN, true);
	w.l.thread_block = STACK;
	expect_copy(&w, STACK + 4000, UNKNOWN, true);
	done(&w);
}

static void test_memory_ends(void **state)
{
	static const size_t there[] = {100, UNKNOWN, UNKNOWN + 8, 3 * UNKNOWN + 1000};

	(void)state;
	for (size_t i = 0; i < sizeof(there) / sizeof(there[0]); i++) {
		struct world w;

		setup(&w, there[i], STACK, STACK + 300000);
		expect_copy(&w, STACK, there[i], false);
		assert_int_equal(w.t.stats.cut, 0);
		done(&w);
	}
}

static void test_nothing_there(void **state)
{
	struct world w;

	(void)state;
	setup(&w, 100, STACK + 4096, STACK + 8192);
	expect_copy(&w, STACK + 4096, 0, false);
	done(&w);
}

/* --max-pause: the first piece is there in any case, the rest while there is time. */
static void test_max_pause(void **state)
{
	struct world w;

	(void)state;
	setup(&w, STACK_BYTES, STACK, STACK + 300000);
	w.l.until_ns = 1;
	expect_copy(&w, STACK, UNKNOWN, true);
	assert_int_equal(w.t.stats.cut, 1);
	w.l.until_ns = UINT64_MAX;
	expect_copy(&w, STACK, 300000 + BLOCK, true);
	assert_int_equal(w.t.stats.cut, 1);
	/* What is short is whole, however late. */
	w.l.thread_block = STACK + 1000;
	w.l.until_ns = 1;
	expect_copy(&w, STACK, 1000 + BLOCK, true);
	assert_int_equal(w.t.stats.cut, 1);
	done(&w);
}

static void test_no_room(void **state)
{
	struct world w;

	(void)state;
	setup(&w, STACK_BYTES, STACK, STACK + 300000);
	sample_queue_free(w.t.out.queue);
	w.t.out.queue = sample_queue_new(1 << 16);
	assert_non_null(w.t.out.queue);
	assert_null(suspend_look_copy(&w.t, &w.th, &w.l));
	assert_int_equal(w.t.out.lost, 1);
	done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_end_known),   cmocka_unit_test(test_end_unknown),
		cmocka_unit_test(test_memory_ends), cmocka_unit_test(test_nothing_there),
		cmocka_unit_test(test_max_pause),   cmocka_unit_test(test_no_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
