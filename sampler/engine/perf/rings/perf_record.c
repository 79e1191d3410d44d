#include "sampler/engine/perf/rings/perf_record.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

#include "symbolizer/base/cursor.h"

/* Order of the fields in a sample: perf_output_sample() in linux/kernel/events/core.c. */
#define SUPPORTED                                                                                                      \
	((uint64_t)PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |   \
	 PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ |            \
	 PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)

bool perf_layout_supported(const struct perf_layout *l)
{
	return !(l->sample_type & ~SUPPORTED) && l->n_regs <= 64;
}

static void parse_user(const struct perf_layout *l, struct cursor *c, struct perf_record *r)
{
	if (l->sample_type & PERF_SAMPLE_REGS_USER) {
		r->user_abi = cursor_u64(c);
		if (r->user_abi != PERF_SAMPLE_REGS_ABI_NONE) {
			r->regs = cursor_take(c, (size_t)l->n_regs * 8);
			r->n_regs = l->n_regs;
		}
	}
	if (l->sample_type & PERF_SAMPLE_STACK_USER) {
		r->stack_size = cursor_u64(c);
		/* After a size of 0 there is no dynamic size. */
		if (r->stack_size) {
			r->stack = cursor_take(c, r->stack_size);
			r->stack_dyn = cursor_u64(c);
			if (r->stack_dyn > r->stack_size)
				c->bad = true;
		}
	}
}

/* Which event a record is of, and on which CPU. */
static void parse_origin(const struct perf_layout *l, struct cursor *c, struct perf_record *r)
{
	if (l->sample_type & PERF_SAMPLE_ID)
		r->id = cursor_u64(c);
	if (l->sample_type & PERF_SAMPLE_STREAM_ID)
		cursor_u64(c);
	if (l->sample_type & PERF_SAMPLE_CPU) {
		r->cpu = cursor_u32(c);
		cursor_u32(c);
	}
}

static void parse_sample(const struct perf_layout *l, struct cursor *c, struct perf_record *r)
{
	uint64_t type = l->sample_type;

	if (type & PERF_SAMPLE_IDENTIFIER)
		r->id = cursor_u64(c);
	if (type & PERF_SAMPLE_IP)
		r->ip = cursor_u64(c);
	if (type & PERF_SAMPLE_TID) {
		r->pid = cursor_i32(c);
		r->tid = cursor_i32(c);
	}
	if (type & PERF_SAMPLE_TIME)
		r->time = cursor_u64(c);
	if (type & PERF_SAMPLE_ADDR)
		cursor_u64(c);
	parse_origin(l, c, r);
	if (type & PERF_SAMPLE_PERIOD)
		r->period = cursor_u64(c);
	if (type & PERF_SAMPLE_READ)
		cursor_take(c, (size_t)l->n_read * 8);
	if (type & PERF_SAMPLE_CALLCHAIN) {
		r->n_chain = cursor_u64(c);
		if (r->n_chain > cursor_left(c) / 8)
			c->bad = true;
		else
			r->chain = cursor_take(c, r->n_chain * 8);
	}
	parse_user(l, c, r);
}

static void parse_sample_id(const struct perf_layout *l, struct cursor *c, struct perf_record *r)
{
	uint64_t type = l->sample_type;

	if (type & PERF_SAMPLE_TID) {
		pid_t pid = cursor_i32(c), tid = cursor_i32(c);

		/* Not for records that name a thread themselves: EXIT the thread that ends, FORK the new one. */
		if (!r->pid)
			r->pid = pid, r->tid = tid;
	}
	if (type & PERF_SAMPLE_TIME)
		r->time = cursor_u64(c);
	parse_origin(l, c, r);
	if (type & PERF_SAMPLE_IDENTIFIER)
		r->id = cursor_u64(c);
}

static size_t sample_id_size(const struct perf_layout *l)
{
	const uint64_t fields = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
				PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;

	return l->sample_id_all ? 8 * (size_t)__builtin_popcountll(l->sample_type & fields) : 0;
}

static void parse_comm(struct cursor *c, struct perf_record *r)
{
	size_t n;
	const char *s;

	r->kind = PERF_REC_COMM;
	r->exec = r->misc & PERF_RECORD_MISC_COMM_EXEC;
	r->pid = cursor_i32(c);
	r->tid = cursor_i32(c);
	n = cursor_left(c) < sizeof(r->comm) - 1 ? cursor_left(c) : sizeof(r->comm) - 1;
	s = cursor_take(c, n);
	if (s)
		memcpy(r->comm, s, strnlen(s, n));
}

/* After address, length and offset; MMAP2 has device, inode, generation, protection and flags, too. */
static void parse_mapped(struct cursor *c, struct perf_record *r)
{
	r->kind = PERF_REC_MMAP;
	r->pid = cursor_i32(c);
	r->tid = cursor_i32(c);
	cursor_take(c, r->type == PERF_RECORD_MMAP2 ? 24 + 32 : 24);
	r->path_len = cursor_left(c);
	r->path = cursor_take(c, r->path_len);
}

static void parse_task(struct cursor *c, struct perf_record *r)
{
	r->kind = r->type == PERF_RECORD_FORK ? PERF_REC_FORK : PERF_REC_EXIT;
	r->pid = cursor_i32(c);
	r->ppid = cursor_i32(c);
	r->tid = cursor_i32(c);
	r->ptid = cursor_i32(c);
	r->time = cursor_u64(c);
}

static void parse_body(struct cursor *c, struct perf_record *r)
{
	switch (r->type) {
	case PERF_RECORD_LOST:
		r->kind = PERF_REC_LOST;
		r->id = cursor_u64(c);
		r->lost = cursor_u64(c);
		break;
	case PERF_RECORD_LOST_SAMPLES:
		r->kind = PERF_REC_LOST_SAMPLES;
		r->lost = cursor_u64(c);
		break;
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
		r->kind = r->type == PERF_RECORD_THROTTLE ? PERF_REC_THROTTLE : PERF_REC_UNTHROTTLE;
		r->time = cursor_u64(c);
		r->id = cursor_u64(c);
		cursor_u64(c); /* stream id */
		break;
	case PERF_RECORD_COMM: parse_comm(c, r); break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT: parse_task(c, r); break;
	case PERF_RECORD_READ:
		r->kind = PERF_REC_READ;
		r->pid = cursor_i32(c);
		r->tid = cursor_i32(c);
		r->counted = cursor_u64(c); /* first of the read format, whatever else it has */
		break;
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2: parse_mapped(c, r); break;
	default: break;
	}
}

int perf_record_parse(const struct perf_layout *l, const void *bytes, size_t size, struct perf_record *ret)
{
	struct cursor c = cursor_make(bytes, size);
	size_t id_size = sample_id_size(l);

	memset(ret, 0, sizeof(*ret));
	ret->kind = PERF_REC_OTHER;
	ret->type = cursor_u32(&c);
	ret->misc = cursor_u16(&c);
	if (cursor_u16(&c) != size || c.bad)
		return -EINVAL;
	if (ret->type == PERF_RECORD_SAMPLE) {
		ret->kind = PERF_REC_SAMPLE;
		parse_sample(l, &c, ret);
		return c.bad ? -EINVAL : 0;
	}
	if (id_size > cursor_left(&c))
		return -EINVAL;

	struct cursor tail = cursor_make(c.end - id_size, id_size);

	c.end -= id_size;
	parse_body(&c, ret);
	if (id_size)
		parse_sample_id(l, &tail, ret);
	return c.bad || tail.bad ? -EINVAL : 0;
}

size_t perf_record_kernel_chain(const struct perf_record *r, uint64_t *ret, size_t max)
{
	bool kernel = false;
	size_t n = 0;

	for (uint64_t i = 0; i < r->n_chain && n < max; i++) {
		uint64_t pc;

		memcpy(&pc, r->chain + i * 8, 8);
		/* The last 4,095 values are markers: enum perf_callchain_context in linux/perf_event.h. */
		if (pc >= (uint64_t)PERF_CONTEXT_MAX)
			kernel = pc == (uint64_t)PERF_CONTEXT_KERNEL;
		else if (kernel)
			ret[n++] = pc;
	}
	return n;
}
