#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/engine/perf/rings/perf_record.h"
#include "symbolizer/base/buf.h"

static const struct perf_layout full = {
	.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_CPU |
		       PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
	.n_regs = 2,
	.sample_id_all = true,
};

static void put(struct buf *b, uint64_t v, size_t len)
{
	buf_add(b, &v, len);
}

/* A record of `type`; its size is put in by finish(). */
static struct buf begin(uint32_t type, uint16_t misc)
{
	struct buf b = {0};

	put(&b, type, 4);
	put(&b, misc, 2);
	put(&b, 0, 2);
	return b;
}

static int finish(struct buf *b, const struct perf_layout *l, struct perf_record *r)
{
	uint16_t size = (uint16_t)b->len;

	memcpy(b->data + 6, &size, 2);
	return perf_record_parse(l, b->data, b->len, r);
}

static void put_sample_id(struct buf *b, int pid, int tid, uint64_t time, uint64_t id)
{
	put(b, (uint32_t)pid, 4);
	put(b, (uint32_t)tid, 4);
	put(b, time, 8);
	put(b, id, 8);
	put(b, 3, 8); /* cpu, reserved */
}

static struct buf sample_with(unsigned n_read, uint64_t n_chain, uint64_t abi, uint64_t stack, uint64_t dyn)
{
	struct buf b = begin(PERF_RECORD_SAMPLE, 0);

	put(&b, 0x1234, 8); /* ip */
	put(&b, 10, 4);
	put(&b, 11, 4);
	put(&b, 777, 8); /* time */
	put(&b, 42, 8); /* id */
	put(&b, 3, 8); /* cpu */
	put(&b, 10000, 8); /* period */
	for (unsigned i = 0; i < n_read; i++)
		put(&b, 1000000 + i, 8);
	put(&b, n_chain, 8);
	put(&b, (uint64_t)PERF_CONTEXT_KERNEL, 8);
	put(&b, 0xffffffff81000001, 8);
	put(&b, 0xffffffff81000002, 8);
	put(&b, (uint64_t)PERF_CONTEXT_USER, 8);
	put(&b, 0x400000, 8);
	put(&b, abi, 8);
	if (abi) {
		put(&b, 0xaaaa, 8);
		put(&b, 0xbbbb, 8);
	}
	put(&b, stack, 8);
	if (stack) {
		for (uint64_t i = 0; i < 16; i++)
			put(&b, i, 1);
		put(&b, dyn, 8);
	}
	return b;
}

static struct buf sample(uint64_t n_chain, uint64_t abi, uint64_t stack, uint64_t dyn)
{
	return sample_with(0, n_chain, abi, stack, dyn);
}

static void test_sample(void **state)
{
	struct buf b = sample(5, PERF_SAMPLE_REGS_ABI_64, 16, 12);
	struct perf_record r;
	uint64_t chain[8], reg;

	(void)state;
	assert_int_equal(finish(&b, &full, &r), 0);
	assert_int_equal(r.kind, PERF_REC_SAMPLE);
	assert_int_equal(r.pid, 10);
	assert_int_equal(r.tid, 11);
	assert_int_equal(r.time, 777);
	assert_int_equal(r.id, 42);
	assert_int_equal(r.cpu, 3);
	assert_int_equal(r.period, 10000);
	assert_int_equal(r.n_regs, 2);
	memcpy(&reg, r.regs + 8, 8);
	assert_int_equal(reg, 0xbbbb);
	assert_int_equal(r.stack_size, 16);
	assert_int_equal(r.stack_dyn, 12);
	assert_int_equal(r.stack[11], 11);
	assert_int_equal(perf_record_kernel_chain(&r, chain, 8), 2);
	assert_true(chain[0] == 0xffffffff81000001 && chain[1] == 0xffffffff81000002);
	assert_int_equal(perf_record_kernel_chain(&r, chain, 1), 1);
	buf_done(&b);
}

/* The count, and what of the read format is behind it, stand in front of the call chain. */
static void test_sample_with_count(void **state)
{
	struct perf_layout l = full;

	(void)state;
	l.sample_type |= PERF_SAMPLE_READ;
	for (l.n_read = 1; l.n_read <= 2; l.n_read++) {
		struct buf b = sample_with(l.n_read, 5, PERF_SAMPLE_REGS_ABI_64, 16, 12);
		struct perf_record r;

		assert_true(perf_layout_supported(&l));
		assert_int_equal(finish(&b, &l, &r), 0);
		assert_int_equal(r.period, 10000);
		assert_int_equal(r.n_chain, 5);
		assert_int_equal(r.stack_dyn, 12);
		b.len = 8 + 6 * 8 + 4;
		assert_int_equal(finish(&b, &l, &r), -EINVAL);
		buf_done(&b);
	}
}

static void test_sample_of_kernel_thread(void **state)
{
	struct buf b = sample(5, PERF_SAMPLE_REGS_ABI_NONE, 0, 0);
	struct perf_record r;

	(void)state;
	assert_int_equal(finish(&b, &full, &r), 0);
	assert_null(r.regs);
	assert_null(r.stack);
	assert_int_equal(r.stack_dyn, 0);
	buf_done(&b);
}

static void test_sample_that_lies(void **state)
{
	struct buf lies[] = {
		sample(UINT64_MAX, PERF_SAMPLE_REGS_ABI_64, 16, 12),
		sample(UINT64_MAX / 8 + 2, PERF_SAMPLE_REGS_ABI_64, 16, 12),
		sample(1000, PERF_SAMPLE_REGS_ABI_64, 16, 12),
		sample(5, PERF_SAMPLE_REGS_ABI_64, UINT64_MAX, 12),
		sample(5, PERF_SAMPLE_REGS_ABI_64, 17, 12),
		sample(5, PERF_SAMPLE_REGS_ABI_64, 16, 17), /* more copied than room */
		sample(5, PERF_SAMPLE_REGS_ABI_64, 16, UINT64_MAX),
	};
	struct perf_record r;

	(void)state;
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		assert_int_equal(finish(&lies[i], &full, &r), -EINVAL);
		buf_done(&lies[i]);
	}
}

static void test_size_must_fit(void **state)
{
	struct buf b = sample(5, PERF_SAMPLE_REGS_ABI_64, 16, 12);
	struct perf_record r;

	(void)state;
	assert_int_equal(finish(&b, &full, &r), 0);
	for (size_t len = 0; len < b.len; len++) {
		/* Its own memory, so that a sanitizer sees a read past the end. */
		uint16_t size = (uint16_t)len;
		uint8_t *cut = malloc(len ? len : 1);

		memcpy(cut, b.data, len);
		assert_int_equal(perf_record_parse(&full, cut, len, &r), -EINVAL);
		if (len >= 8)
			memcpy(cut + 6, &size, 2);
		assert_int_equal(perf_record_parse(&full, cut, len, &r), -EINVAL);
		free(cut);
	}
	buf_done(&b);
}

static void test_lost(void **state)
{
	struct buf b = begin(PERF_RECORD_LOST, 0);
	struct perf_record r;

	(void)state;
	put(&b, 42, 8);
	put(&b, 17, 8);
	put_sample_id(&b, 1, 2, 3, 42);
	assert_int_equal(finish(&b, &full, &r), 0);
	assert_int_equal(r.kind, PERF_REC_LOST);
	assert_int_equal(r.lost, 17);
	assert_int_equal(r.time, 3);
	buf_done(&b);

	b = begin(PERF_RECORD_LOST_SAMPLES, 0);
	put(&b, 5, 8);
	put_sample_id(&b, 1, 2, 3, 42);
	assert_int_equal(finish(&b, &full, &r), 0);
	assert_int_equal(r.kind, PERF_REC_LOST_SAMPLES);
	assert_int_equal(r.lost, 5);
	buf_done(&b);
}

static void test_comm(void **state)
{
	struct buf b = begin(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
	struct perf_record r;

	(void)state;
	put(&b, 10, 4);
	put(&b, 12, 4);
	buf_add(&b, "C2 CompilerThre", 16);
	put_sample_id(&b, 10, 12, 9, 42);
	assert_int_equal(finish(&b, &full, &r), 0);
	assert_int_equal(r.kind, PERF_REC_COMM);
	assert_true(r.exec);
	assert_int_equal(r.tid, 12);
	assert_string_equal(r.comm, "C2 CompilerThre");
	buf_done(&b);

	/* A name without end, longer than any: cut. */
	b = begin(PERF_RECORD_COMM, 0);
	put(&b, 10, 4);
	put(&b, 12, 4);
	buf_add(&b, "0123456789012345678901234567890123456789", 40);
	put_sample_id(&b, 10, 12, 9, 42);
	assert_int_equal(finish(&b, &full, &r), 0);
	assert_false(r.exec);
	assert_string_equal(r.comm, "012345678901234");
	buf_done(&b);
}

static void test_fork_exit_mmap(void **state)
{
	struct buf b = begin(PERF_RECORD_FORK, 0);
	struct perf_record r;

	(void)state;
	put(&b, 10, 4);
	put(&b, 20, 4);
	put(&b, 11, 4);
	put(&b, 21, 4);
	put(&b, 99, 8);
	put_sample_id(&b, 20, 21, 99, 42);
	assert_int_equal(finish(&b, &full, &r), 0);
	assert_int_equal(r.kind, PERF_REC_FORK);
	assert_true(r.pid == 10 && r.ppid == 20 && r.tid == 11 && r.ptid == 21);
	b.data[0] = PERF_RECORD_EXIT;
	assert_int_equal(finish(&b, &full, &r), 0);
	assert_int_equal(r.kind, PERF_REC_EXIT);
	buf_done(&b);

	b = begin(PERF_RECORD_MMAP2, 0);
	put(&b, 10, 4);
	put(&b, 11, 4);
	for (int i = 0; i < 7; i++)
		put(&b, 0, 8);
	put(&b, 0x6f732e612f, 8); /* "/a.so" */
	put_sample_id(&b, 10, 11, 99, 42);
	assert_int_equal(finish(&b, &full, &r), 0);
	assert_int_equal(r.kind, PERF_REC_MMAP);
	assert_int_equal(r.pid, 10);
	assert_int_equal(r.path_len, 8);
	assert_string_equal(r.path, "/a.so");
	b.data[0] = PERF_RECORD_MMAP; /* which has less before the path */
	assert_int_equal(finish(&b, &full, &r), 0);
	assert_int_equal(r.path_len, 8 + 32);
	buf_done(&b);

	b = begin(PERF_RECORD_MMAP2, 0);
	for (int i = 0; i < 7; i++)
		put(&b, 0, 8);
	put_sample_id(&b, 10, 11, 99, 42);
	assert_int_equal(finish(&b, &full, &r), -EINVAL); /* it is cut */
	buf_done(&b);
}

/* Whatever the read format adds. */
static void test_read_of_ended(void **state)
{
	struct buf b = begin(PERF_RECORD_READ, 0);
	struct perf_record r;

	(void)state;
	put(&b, 10, 4);
	put(&b, 11, 4);
	put(&b, 3000000, 8);
	put(&b, 0, 8); /* lost */
	put_sample_id(&b, 20, 21, 99, 42);
	assert_int_equal(finish(&b, &full, &r), 0);
	assert_int_equal(r.kind, PERF_REC_READ);
	assert_true(r.pid == 10 && r.tid == 11 && r.counted == 3000000 && r.id == 42);
	buf_done(&b);

	b = begin(PERF_RECORD_READ, 0);
	put(&b, 10, 4);
	put(&b, 11, 4);
	put_sample_id(&b, 20, 21, 99, 42);
	assert_int_equal(finish(&b, &full, &r), -EINVAL);
	buf_done(&b);
}

static void test_throttle_and_unknown(void **state)
{
	struct buf b = begin(PERF_RECORD_THROTTLE, 0);
	struct perf_record r;

	(void)state;
	put(&b, 5, 8);
	put(&b, 42, 8);
	put(&b, 43, 8);
	put_sample_id(&b, 10, 11, 5, 42);
	assert_int_equal(finish(&b, &full, &r), 0);
	assert_int_equal(r.kind, PERF_REC_THROTTLE);
	b.data[0] = 99;
	assert_int_equal(finish(&b, &full, &r), 0);
	assert_int_equal(r.kind, PERF_REC_OTHER);
	buf_done(&b);

	/* Too short for the fields that every record ends in. */
	b = begin(PERF_RECORD_EXIT, 0);
	put(&b, 1, 8);
	assert_int_equal(finish(&b, &full, &r), -EINVAL);
	buf_done(&b);
}

/* Whatever the bytes: no read outside, every pointer inside. */
static void test_garbage(void **state)
{
	enum { ROUNDS = 200000, MAX = 256 };
	unsigned seed = 1;

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		size_t len = 8 + (size_t)rand_r(&seed) % (MAX - 8);
		uint8_t *p = malloc(len);
		uint16_t size = (uint16_t)len;
		uint64_t chain[8];
		struct perf_record r;

		for (size_t j = 0; j < len; j++)
			p[j] = rand_r(&seed) % 4 ? 0 : (uint8_t)rand_r(&seed);
		memset(p, 0, 4);
		p[0] = (uint8_t)(rand_r(&seed) % 20);
		memcpy(p + 6, &size, 2);
		if (perf_record_parse(&full, p, len, &r) == 0) {
			if (r.stack)
				assert_true(r.stack + r.stack_size <= p + len && r.stack_dyn <= r.stack_size);
			if (r.chain)
				assert_true(r.n_chain * 8 <= len);
			perf_record_kernel_chain(&r, chain, 8);
		}
		free(p);
	}
}

static void test_layouts(void **state)
{
	struct perf_layout l = full;

	(void)state;
	assert_true(perf_layout_supported(&l));
	l.sample_type |= PERF_SAMPLE_BRANCH_STACK;
	assert_false(perf_layout_supported(&l));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sample),
		cmocka_unit_test(test_sample_with_count),
		cmocka_unit_test(test_sample_of_kernel_thread),
		cmocka_unit_test(test_sample_that_lies),
		cmocka_unit_test(test_size_must_fit),
		cmocka_unit_test(test_lost),
		cmocka_unit_test(test_comm),
		cmocka_unit_test(test_fork_exit_mmap),
		cmocka_unit_test(test_throttle_and_unknown),
		cmocka_unit_test(test_read_of_ended),
		cmocka_unit_test(test_garbage),
		cmocka_unit_test(test_layouts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
