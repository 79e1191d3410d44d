/*
 * Finding where a constructor has called super() or this(). Between two frames of the StackMapTable, a call of a
 * constructor is that of `this` if every object that `new` has made is initialized. The count of those objects is never
 * too low, because each such call lowers it, whichever object it is for; at worst too little is covered.
 */
#include "jvm-bridge/host/rewrite/constructor.h"

#include <errno.h>
#include <limits.h>

#include "jvm-bridge/host/rewrite/frames.h"
#include "jvm-bridge/host/rewrite/opcodes.h"

/* What is known before an instruction that has a frame; `known` 0: it has none. */
struct state {
	bool known, self;
	unsigned others;
};

struct states {
	struct state *at; /* of each byte */
	size_t size;
};

static void state_note(const struct uninitialized *u, void *arg)
{
	struct states *s = arg;

	if (u->at < s->size)
		s->at[u->at] = (struct state){true, u->self, u->others};
}

static bool is_end(uint8_t op)
{
	return op == OP_GOTO || op == OP_GOTO_W || op == OP_ATHROW || op == OP_RET || is_return(op) || is_switch(op);
}

static void state_step(struct state *s, const uint8_t *op, const struct constructor *c)
{
	if (is_end(*op))
		*s = (struct state){.self = true, .others = UINT_MAX / 2}; /* unknown until the next frame */
	if (*op == OP_NEW)
		s->others++;
	if (*op != OP_INVOKESPECIAL || !class_names_constructor(c->class_file, get_u2(op + 1)))
		return;
	if (s->others)
		s->others--;
	else
		s->self = false;
}

/* Without frames nothing is known behind a branch, and a handler would see what is before super(). */
static bool is_straight(const struct code_map *m, size_t at, const struct constructor *c)
{
	uint8_t op = m->code[at];

	for (size_t i = 0; i < c->n_handlers; i++)
		if (at >= get_u2(c->handlers + 8 * i) && at < get_u2(c->handlers + 8 * i + 2))
			return false;
	return !is_short_branch(op) && !is_wide_branch(op) && !is_switch(op) && !is_return(op) && op != OP_ATHROW &&
	       op != OP_RET && op != OP_WIDE;
}

static void cover(struct code_map *m, const struct constructor *c, const struct states *states)
{
	struct state s = {.self = true};

	for (size_t at = 0; at < m->size; at += instruction_length(m->code, m->size, at)) {
		if (states && states->at[at].known)
			s = states->at[at];
		if (!s.self)
			m->flags[at] |= AT_COVERED;
		else if (!states && !is_straight(m, at, c))
			return;
		if (states || s.self)
			state_step(&s, m->code + at, c);
	}
}

int constructor_cover(struct code_map *m, const struct constructor *c)
{
	struct states states = {.size = m->size};
	int r;

	if (!c->frames.p) {
		cover(m, c, NULL);
		return 0;
	}
	states.at = calloc(m->size, sizeof(*states.at));
	if (!states.at)
		return -ENOMEM;
	r = frames_of_constructor(c->frames, c->arguments, c->max_locals, state_note, &states);
	if (!r)
		cover(m, c, &states);
	free(states.at);
	return r;
}
