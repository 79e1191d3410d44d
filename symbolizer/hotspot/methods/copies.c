#include "symbolizer/hotspot/methods/copies.h"

#include <stdlib.h>
#include <string.h>

#include "symbolizer/base/log.h"
#include "symbolizer/base/strtab.h"
#include "symbolizer/hotspot/reader/jvm.h"

enum { MEMORY_MAX = 256 << 20 };

size_t copies_bytes(const struct copies *c)
{
	return c->jvm->arena.bytes + c->bytes + strtab_bytes(c->names);
}

bool copies_full(struct copies *c)
{
	bool full = copies_bytes(c) > MEMORY_MAX;

	if (full && !c->said_full)
		log_warn("copies of the JVM's code and methods take more than %d MB: what is seen for the first time from now "
			 "on has no name",
			 MEMORY_MAX >> 20);
	c->said_full |= full;
	return full;
}

static size_t aligned(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

void *copies_add(struct copies *c, const void *entry, size_t size, const struct copy_part *parts, size_t n,
		 size_t *ret_bytes)
{
	size_t all = aligned(size), at = all;
	uint8_t *block;

	for (size_t i = 0; i < n; i++)
		all += aligned(parts[i].size);
	block = malloc(all);
	if (!block)
		return NULL;
	memcpy(block, entry, size);
	for (size_t i = 0; i < n; i++) {
		const void *from, *to = parts[i].size ? block + at : NULL;

		memcpy(&from, block + parts[i].pointer, sizeof(from));
		if (to)
			memcpy(block + at, from, parts[i].size);
		memcpy(block + parts[i].pointer, &to, sizeof(to));
		at += aligned(parts[i].size);
	}
	c->bytes += all;
	*ret_bytes = all;
	return block;
}

void copies_drop(struct copies *c, void *entry, size_t bytes)
{
	c->bytes -= bytes;
	free(entry);
}
