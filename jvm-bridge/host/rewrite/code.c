/* Inserting calls into a method. */
#include "jvm-bridge/host/rewrite/code.h"

#include <errno.h>

#include "jvm-bridge/host/rewrite/constructor.h"
#include "jvm-bridge/host/rewrite/frames.h"
#include "jvm-bridge/host/rewrite/opcodes.h"

/* What a Code attribute consists of. */
struct parts {
	unsigned max_stack, max_locals;
	struct reader code;
	const uint8_t *handlers;
	size_t n_handlers;
	struct reader attributes; /* their number and they */
	struct reader frames; /* .p NULL: none */
};

struct job {
	const struct class_file *c;
	const struct call_constants *calls;
	struct parts parts;
	struct code_map map;
	size_t n_ranges; /* that our own handler covers */
};

static int parts_read(const struct class_file *c, struct reader r, struct parts *p)
{
	uint32_t n;

	p->max_stack = read_u2(&r);
	p->max_locals = read_u2(&r);
	n = read_u4(&r);
	p->code = read_part(&r, n);
	p->n_handlers = read_u2(&r);
	p->handlers = read_bytes(&r, 8 * p->n_handlers);
	p->attributes = read_part(&r, r.size - r.at);
	if (r.bad)
		return -EINVAL;
	r = p->attributes;
	for (n = read_u2(&r); n && !r.bad; n--) {
		bool frames = class_text_is(c, read_u2(&r), "StackMapTable");
		struct reader one = read_part(&r, read_u4(&r));

		if (frames)
			p->frames = one;
	}
	return r.bad ? -EINVAL : 0;
}

/* Code. */

static void call_write(const struct job *j, unsigned method, struct writer *w)
{
	write_u1(w, OP_LDC_W);
	write_u2(w, j->calls->number);
	write_u1(w, OP_INVOKESTATIC);
	write_u2(w, method);
}

static void alloc_write(unsigned load, unsigned method, struct writer *w)
{
	write_u1(w, load);
	write_u1(w, OP_INVOKESTATIC);
	write_u2(w, method);
}

static bool new_offset(const struct code_map *m, size_t at, int32_t offset, int32_t *ret)
{
	int64_t target = (int64_t)at + offset;

	if (target < 0 || target >= (int64_t)m->size || !map_is_at(m, (size_t)target))
		return false;
	*ret = (int32_t)m->to[target] - (int32_t)map_instruction(m, at);
	return true;
}

static int branch_write(const struct job *j, size_t at, struct writer *w)
{
	const uint8_t *op = j->map.code + at;
	bool wide = is_wide_branch(*op);
	int32_t offset = wide ? (int32_t)get_u4(op + 1) : (int16_t)get_u2(op + 1);

	if (!new_offset(&j->map, at, offset, &offset))
		return -EINVAL;
	write_u1(w, *op);
	if (wide)
		write_u4(w, (uint32_t)offset);
	else if (offset != (int16_t)offset)
		return -E2BIG;
	else
		write_u2(w, (uint32_t)offset);
	return 0;
}

/* What is at `from`: an offset from the switch. */
static int target_write(const struct job *j, size_t at, const uint8_t *from, struct writer *w)
{
	int32_t offset;

	if (!new_offset(&j->map, at, (int32_t)get_u4(from), &offset))
		return -EINVAL;
	write_u4(w, (uint32_t)offset);
	return 0;
}

static int switch_write(const struct job *j, size_t at, size_t length, struct writer *w)
{
	size_t to = map_instruction(&j->map, at), from = switch_operands(at);
	const uint8_t *p = j->map.code + from, *end = j->map.code + at + length;
	bool table = j->map.code[at] == OP_TABLESWITCH;
	int r;

	write_u1(w, j->map.code[at]);
	write_bytes(w, "\0\0\0", switch_operands(to) - to - 1);
	r = target_write(j, at, p, w);
	write_bytes(w, p + 4, table ? 8 : 4);
	for (p += table ? 12 : 8; p < end && !r; p += 4) {
		if (!table) {
			write_bytes(w, p, 4);
			p += 4;
		}
		r = target_write(j, at, p, w);
	}
	return r;
}

static int instruction_write(const struct job *j, size_t at, size_t length, struct writer *w)
{
	uint8_t op = j->map.code[at];

	if (j->map.in.calls && j->map.flags[at] & AT_HANDLER)
		call_write(j, j->calls->caught, w);
	if (j->map.in.calls && is_return(op))
		call_write(j, j->calls->left, w);
	if (is_short_branch(op) || is_wide_branch(op))
		return branch_write(j, at, w);
	if (is_switch(op))
		return switch_write(j, at, length, w);
	write_bytes(w, j->map.code + at, length);
	if (j->map.flags[at] & AT_MADE)
		alloc_write(OP_DUP, op == OP_MULTIANEWARRAY ? j->calls->allocated_all : j->calls->allocated, w);
	return 0;
}

static int instructions_write(const struct job *j, struct writer *w)
{
	int r = 0;

	if (j->map.in.calls)
		call_write(j, j->calls->entered, w);
	if (j->map.in.allocs && j->map.in.object_init)
		alloc_write(OP_ALOAD_0, j->calls->allocated, w);
	for (size_t at = 0, n; at < j->map.size && !r; at += n) {
		n = instruction_length(j->map.code, j->map.size, at);
		r = instruction_write(j, at, n, w);
	}
	if (j->n_ranges) {
		call_write(j, j->calls->left, w);
		write_u1(w, OP_ATHROW);
	}
	return r;
}

/* Exception table. */

static int handlers_move(const struct job *j, struct writer *w)
{
	const struct code_map *m = &j->map;

	for (size_t i = 0; i < j->parts.n_handlers; i++) {
		const uint8_t *p = j->parts.handlers + 8 * i;
		size_t from = get_u2(p), to = get_u2(p + 2);

		if (!map_is_at(m, from) || (to != m->size && !map_is_at(m, to)))
			return -EINVAL;
		write_u2(w, m->to[from]);
		write_u2(w, m->to[to]);
		write_u2(w, m->to[get_u2(p + 4)]);
		write_u2(w, get_u2(p + 6));
	}
	return 0;
}

static void range_write(size_t from, size_t to, struct job *j, struct writer *w)
{
	if (from >= to)
		return;
	write_u2(w, (uint32_t)from);
	write_u2(w, (uint32_t)to);
	write_u2(w, j->map.to[j->map.size]);
	write_u2(w, 0); /* any exception */
	j->n_ranges++;
}

/* All but the calls of `left` and the returns behind them: what is left is not left again. */
static void ranges_write(struct job *j, struct writer *w)
{
	const struct code_map *m = &j->map;
	size_t from = 0, to = 0; /* nothing yet */

	for (size_t at = 0, n; at < m->size; at += n) {
		size_t begin = m->to[at], end;

		n = instruction_length(m->code, m->size, at);
		end = is_return(m->code[at]) ? begin + map_inserted(m, at) - CALL_SIZE : m->to[at + n];
		if (!(m->flags[at] & AT_COVERED))
			continue;
		if (begin != to) {
			range_write(from, to, j, w);
			from = begin;
		}
		to = end;
	}
	range_write(from, to, j, w);
}

static int exceptions_write(struct job *j, struct writer *w)
{
	size_t count = w->size;
	int r;

	write_u2(w, 0);
	r = handlers_move(j, w);
	ranges_write(j, w);
	if (j->parts.n_handlers + j->n_ranges > UINT16_MAX)
		return -E2BIG;
	if (!w->failed)
		put_u2(w->p + count, (uint32_t)(j->parts.n_handlers + j->n_ranges));
	return r;
}

/* Attributes of the code. A line and a variable that begin with the method still do. */

static bool place_move(const struct code_map *m, size_t at, uint32_t *ret)
{
	if (at > m->size || (at < m->size && !map_is_at(m, at)))
		return false;
	*ret = at ? m->to[at] : 0;
	return true;
}

static int lines_move(struct reader r, const struct code_map *m, struct writer *w)
{
	uint32_t n = read_u2(&r), at;

	write_u2(w, n);
	for (; n && !r.bad; n--) {
		if (!place_move(m, read_u2(&r), &at))
			return -EINVAL;
		write_u2(w, at);
		write_u2(w, read_u2(&r));
	}
	return r.bad || r.at != r.size ? -EINVAL : 0;
}

static int variables_move(struct reader r, const struct code_map *m, struct writer *w)
{
	uint32_t n = read_u2(&r), from, to;

	write_u2(w, n);
	for (; n && !r.bad; n--) {
		uint32_t begin = read_u2(&r);

		if (!place_move(m, begin, &from) || !place_move(m, begin + read_u2(&r), &to))
			return -EINVAL;
		write_u2(w, from);
		write_u2(w, to - from);
		for (int i = 0; i < 3; i++) /* name, type, slot */
			write_u2(w, read_u2(&r));
	}
	return r.bad || r.at != r.size ? -EINVAL : 0;
}

static bool is_variables(const struct class_file *c, unsigned name)
{
	return class_text_is(c, name, "LocalVariableTable") || class_text_is(c, name, "LocalVariableTypeTable");
}

/* What the JVM does not read is left out. Debug information that is wrong is, too. */
static bool attribute_move(const struct job *j, unsigned name, struct reader r, struct writer *w)
{
	size_t before = w->size, from;
	int bad;

	write_u2(w, name);
	write_u4(w, 0);
	from = w->size;
	if (class_text_is(j->c, name, "LineNumberTable"))
		bad = lines_move(r, &j->map, w);
	else
		bad = is_variables(j->c, name) ? variables_move(r, &j->map, w) : -EINVAL;
	if (bad)
		w->size = before;
	else if (!w->failed)
		put_u4(w->p + from - 4, (uint32_t)(w->size - from));
	return !bad;
}

static int frames_write(const struct job *j, struct writer *w)
{
	struct reader count = j->parts.frames;
	uint32_t n = count.p ? read_u2(&count) : 0;
	size_t from;
	long last = -1;
	int r = 0;

	if (n + (j->n_ranges != 0) > UINT16_MAX)
		return -E2BIG;
	write_u2(w, j->calls->frames);
	write_u4(w, 0);
	from = w->size;
	write_u2(w, n + (j->n_ranges != 0));
	if (j->parts.frames.p)
		r = frames_move(j->parts.frames, &j->map, w, &last);
	if (j->n_ranges)
		frame_of_handler(w, last, j->map.to[j->map.size], j->calls->throwable);
	if (!w->failed)
		put_u4(w->p + from - 4, (uint32_t)(w->size - from));
	return r;
}

static int attributes_write(const struct job *j, struct writer *w)
{
	struct reader r = j->parts.attributes;
	size_t count = w->size, n = 0;
	int bad = 0;

	write_u2(w, 0);
	for (uint32_t left = read_u2(&r); left; left--) {
		uint32_t name = read_u2(&r);

		n += attribute_move(j, name, read_part(&r, read_u4(&r)), w);
	}
	if (j->parts.frames.p || (j->n_ranges && j->c->version >= FRAMES_VERSION)) {
		bad = frames_write(j, w);
		n++;
	}
	if (!w->failed)
		put_u2(w->p + count, (uint32_t)n);
	return bad;
}

/* The whole. */

static int covered_find(struct job *j, const struct method_kind *kind)
{
	struct constructor of = {.arguments = kind->arguments,
				 .max_locals = j->parts.max_locals,
				 .frames = j->parts.frames,
				 .handlers = j->parts.handlers,
				 .n_handlers = j->parts.n_handlers,
				 .class_file = j->c};

	if (!j->map.in.calls)
		return 0;
	if (kind->constructor)
		return constructor_cover(&j->map, &of);
	for (size_t at = 0; at < j->map.size; at++)
		j->map.flags[at] |= AT_COVERED;
	return 0;
}

static int job_write(struct job *j, struct writer *w)
{
	struct writer exceptions = {0};
	unsigned stack = j->parts.max_stack + 1;
	int r = exceptions_write(j, &exceptions);

	write_u2(w, stack < 2 ? 2 : stack);
	write_u2(w, j->parts.max_locals);
	write_u4(w, j->map.to[j->map.size] + (j->n_ranges ? OWN_HANDLER_SIZE : 0));
	if (!r)
		r = instructions_write(j, w);
	write_bytes(w, exceptions.p, exceptions.size);
	w->failed |= exceptions.failed;
	free(exceptions.p);
	return r ? r : attributes_write(j, w);
}

static bool is_changed(const struct code_map *m)
{
	for (size_t at = 0; at < m->size; at++)
		if (m->flags[at] & AT_MADE)
			return true;
	return map_begin(m);
}

int code_rewrite(const struct class_file *c, struct reader code, const struct method_kind *kind,
		 const struct call_constants *calls, struct writer *ret)
{
	struct job j = {.c = c, .calls = calls, .map.in = kind->in};
	int r = parts_read(c, code, &j.parts);

	if (r)
		return r;
	r = code_map_make(&j.map, c, j.parts.code, j.parts.handlers, j.parts.n_handlers);
	if (!r && !is_changed(&j.map))
		r = -ENOENT;
	if (!r && j.parts.max_stack + 1 > UINT16_MAX)
		r = -E2BIG;
	if (!r)
		r = covered_find(&j, kind);
	if (!r)
		r = job_write(&j, ret);
	code_map_done(&j.map);
	return !r && ret->failed ? -ENOMEM : r;
}
