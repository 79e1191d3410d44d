/* The calls that a thread is in. */
#include "jvm-bridge/host/calls.h"

#include <stdlib.h>

enum { CAPACITY_FIRST = 64 };

static bool is_room(struct calls *c)
{
	uint32_t capacity = c->capacity ? 2 * c->capacity : CAPACITY_FIRST;
	uint32_t *more;

	if (c->depth < c->capacity)
		return true;
	more = capacity > CALLS_MAX ? NULL : realloc(c->at, capacity * sizeof(*more));
	if (!more)
		return false;
	c->at = more;
	c->capacity = capacity;
	return true;
}

bool calls_entered(struct calls *c, uint32_t number)
{
	if (c->beyond || !is_room(c)) {
		c->beyond++;
		return false;
	}
	c->at[c->depth++] = number;
	return true;
}

static bool find(const struct calls *c, uint32_t number, uint32_t *to)
{
	for (uint32_t i = c->depth; i; i--)
		if (c->at[i - 1] == number) {
			*to = i - 1;
			return true;
		}
	return false;
}

bool calls_left(struct calls *c, uint32_t number, uint32_t *to)
{
	if (!c->beyond)
		return find(c, number, to);
	c->beyond--;
	return false;
}

bool calls_caught(const struct calls *c, uint32_t number, uint32_t *to)
{
	bool found = !c->beyond && find(c, number, to);

	*to += found;
	return found;
}

bool calls_drop(struct calls *c, uint32_t to, uint32_t *number)
{
	if (c->depth <= to)
		return false;
	*number = c->at[--c->depth];
	return true;
}

void calls_forget(struct calls *c)
{
	if (!c)
		return;
	c->depth = c->beyond = 0;
}

void calls_done(struct calls *c)
{
	if (c)
		free(c->at);
	free(c);
}
