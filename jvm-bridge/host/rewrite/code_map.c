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
	return (m->flags[at] & AT_HANDLER ? CALL_SIZE : 0) + (is_return(m->code[at]) ? CALL_SIZE : 0);
}

size_t map_instruction(const struct code_map *m, size_t at)
{
	return m->to[at] + map_inserted(m, at);
}

static int instructions_find(struct code_map *m)
{
	for (size_t at = 0, n; at < m->size; at += n) {
		n = instruction_length(m->code, m->size, at);
		if (!n)
			return -EINVAL;
		m->flags[at] = AT_INSTRUCTION;
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
	size_t to = CALL_SIZE;

	for (size_t at = 0; at < m->size; at += instruction_length(m->code, m->size, at)) {
		m->to[at] = (uint32_t)to;
		to += map_inserted(m, at);
		to += moved_length(m, at, to);
	}
	m->to[m->size] = (uint32_t)to;
	return to + OWN_HANDLER_SIZE > CODE_MAX ? -E2BIG : 0;
}

int code_map_make(struct code_map *m, const uint8_t *code, size_t size, const uint8_t *handlers, size_t n)
{
	int r;

	*m = (struct code_map){.code = code, .size = size};
	if (!size || size > CODE_MAX)
		return -EINVAL;
	m->flags = calloc(size, 1);
	m->to = calloc(size + 1, sizeof(*m->to));
	if (!m->flags || !m->to)
		return -ENOMEM;
	r = instructions_find(m);
	if (!r)
		r = handlers_find(m, handlers, n);
	return r ? r : layout(m);
}

void code_map_done(struct code_map *m)
{
	free(m->flags);
	free(m->to);
}
