/* Whole stacks, whose nodes a writer remembers for longer than all nodes. */
#include "sampler/store/stacks/dictionary.h"
#include "symbolizer/base/hash.h"

void dictionary_remember(struct dictionary *d)
{
	recurring_limit(&d->stacks, DICT_STACKS_MAX);
}

void dictionary_period(struct dictionary *d, int64_t once, int64_t lasting)
{
	recurring_period(&d->stacks, once, lasting);
}

/* Not 0. Two stacks with the same one would be shown as one, but among a million that is one chance in 18 million. */
static uint64_t stack_hash(const struct dictionary_frame *frames, size_t n)
{
	uint64_t h = hash_secret();

	for (size_t i = 0; i < n; i++)
		h = hash_mix(h, (uint64_t)frames[i].frame << 32 | frames[i].line);
	return h | 1;
}

static uint32_t add_stack(struct dictionary *d, const struct dictionary_frame *frames, size_t n)
{
	uint32_t node = 0;

	for (size_t i = 0; i < n && node != UINT32_MAX; i++)
		node = dictionary_id(d, DICT_NODES, (uint32_t[]){node, frames[i].frame, frames[i].line});
	return node;
}

uint32_t dictionary_stack(struct dictionary *d, const struct dictionary_frame *frames, size_t n)
{
	uint64_t hash = recurring_max(&d->stacks) && n ? stack_hash(frames, n) : 0;
	uint32_t node = hash ? recurring_get(&d->stacks, hash) : 0;

	if (node)
		return node;
	node = add_stack(d, frames, n);
	if (hash && node && node != UINT32_MAX)
		recurring_put(&d->stacks, hash, node);
	return node;
}
