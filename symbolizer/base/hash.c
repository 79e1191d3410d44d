#include "symbolizer/base/hash.h"

#include <string.h>

uint64_t hash_bytes_seeded(uint64_t seed, const void *p, size_t len)
{
	const uint8_t *b = p;
	uint64_t h = hash_u64(seed + len), word;

	for (; len >= sizeof(word); b += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, b, sizeof(word));
		h = hash_mix(h, word);
	}
	if (len > 0) {
		word = 0;
		memcpy(&word, b, len);
		h = hash_mix(h, word);
	}
	return h;
}

uint64_t hash_bytes(const void *p, size_t len)
{
	return hash_bytes_seeded(0, p, len);
}
