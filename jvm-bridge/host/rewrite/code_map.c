/* The new places of a method's instructions. */
#include "jvm-bridge/host/rewrite/code_map.h"

#include <errno.h>

#include "jvm-bridge/host/rewrite/opcodes.h"

bool map_is_at(const struct code_map *m, size_t at)
{
	return at < m->size && m->flags[at] & AT_INSTRUCTION;
}

size_t map_inserted(const struct code_map *m, size_t at)
{
	if (!m->in.calls)
		return 0;
	return (m->flags[at] & AT_HANDLER ? CALL_SIZE : 0) + (is_return(m->code[at]) ? CALL_SIZE : 0);
}

size_t map_begin(const struct code_map *m)
{
	return (m->in.calls ? CALL_SIZE : 0) + (m->in.allocs && m->in.object_init ? ALLOC_SIZE : 0);
}

size_t map_instruction(const struct code_map *m, size_t at)
{
	return m->to[at] + map_inserted(m, at);
}

static bool makes_object(const struct class_file *c, const uint8_t *p)
{
	switch (*p) {
	case OP_NEWARRAY:
	case OP_ANEWARRAY:
	case OP_MULTIANEWARRAY: return true;
	case OP_INVOKEVIRTUAL:
	case OP_INVOKESPECIAL:
	case OP_INVOKESTATIC: return class_names_maker(c, get_u2(p + 1));
	default: return false;
	}
}

static int instructions_find(struct code_map *m, const struct class_file *c)
{
	for (size_t at = 0, n; at < m->size; at += n) {
		n = instruction_length(m->code, m->size, at);
		if (!n)
			return -EINVAL;
		m->flags[at] = AT_INSTRUCTION;
		if (m->in.allocs && makes_object(c, m->code + at))
			m->flags[at] |= AT_MADE;
	}
	return 0;
}

static int handlers_find(struct code_map *m, const uint8_t *handlers, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t at = get_u2(handlers + 8 * i + 4);

		if (!map_is_at(m, at))
			return -EINVAL;
		m->flags[at] |= AT_HANDLER;
	}
	return 0;
}

/* The padding of a switch depends on its place. */
static size_t moved_length(const struct code_map *m, size_t at, size_t to)
{
	size_t n = instruction_length(m->code, m->size, at);

	return is_switch(m->code[at]) ? n - (switch_operands(at) - at) + (switch_operands(to) - to) : n;
}

static int layout(struct code_map *m)
{
	size_t to = map_begin(m);

	for (size_t at = 0; at < m->size; at += instruction_length(m->code, m->size, at)) {
		m->to[at] = (uint32_t)to;
		to += map_inserted(m, at);
		to += moved_length(m, at, to) + (m->flags[at] & AT_MADE ? ALLOC_SIZE : 0);
	}
	m->to[m->size] = (uint32_t)to;
	return to + (m->in.calls ? OWN_HANDLER_SIZE : 0) > CODE_MAX ? -E2BIG : 0;
}

int code_map_make(struct code_map *m, const struct class_file *c, struct reader code, const uint8_t *handlers, size_t n)
{
	int r;

	m->code = code.p;
	m->size = code.size;
	if (!m->size || m->size > CODE_MAX)
		return -EINVAL;
	m->flags = calloc(m->size, 1);
	m->to = calloc(m->size + 1, sizeof(*m->to));
	if (!m->flags || !m->to)
		return -ENOMEM;
	r = instructions_find(m, c);
	if (!r)
		r = handlers_find(m, handlers, n);
	return r ? r : layout(m);
}

void code_map_done(struct code_map *m)
{
	free(m->flags);
	free(m->to);
}
