#include "symbolizer/hotspot/objects/frozen_copy.h"

#include <string.h>

#include "symbolizer/hotspot/objects/hs_frozen.h"

uint64_t hs_frozen_entry(const uint8_t *copy, size_t len)
{
	uint64_t entry = 0;

	if (len >= sizeof(entry))
		memcpy(&entry, copy, sizeof(entry));
	return entry;
}

bool hs_frozen_next(const uint8_t *copy, size_t len, size_t *at, struct hs_chunk *ret)
{
	struct frozen_head h;
	size_t words;

	if (!*at)
		*at = FROZEN_ENTRY;
	if (*at > len || len - *at < sizeof(h))
		return false;
	memcpy(&h, copy + *at, sizeof(h));
	if (h.sp < CHUNK_BELOW || h.sp >= h.bottom || h.bottom > h.size || h.size > FROZEN_WORDS_MAX)
		return false;
	words = h.size - h.sp + CHUNK_BELOW;
	if ((len - *at - sizeof(h)) / 8 < words)
		return false;
	*ret = (struct hs_chunk){h.sp, h.bottom, h.size, copy + *at + sizeof(h)};
	*at += sizeof(h) + 8 * words;
	return true;
}

bool hs_chunk_word(const struct hs_chunk *c, int64_t index, uint64_t *ret)
{
	if (index < c->sp - CHUNK_BELOW || index >= c->size)
		return false;
	memcpy(ret, c->words + 8 * (index - c->sp + CHUNK_BELOW), 8);
	return true;
}
