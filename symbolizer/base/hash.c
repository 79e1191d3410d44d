#include "symbolizer/base/hash.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/random.h>

static uint64_t hash_bytes_seeded(uint64_t seed, const void *p, size_t len)
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

uint64_t hash_secret(void)
{
	static _Atomic uint64_t seed;
	uint64_t have = atomic_load_explicit(&seed, memory_order_relaxed), made;

	if (have)
		return have;
	if (getrandom(&made, sizeof(made), GRND_NONBLOCK) < 0)
		made = hash_u64((uintptr_t)&made);
	made |= 1; /* never 0 */
	return atomic_compare_exchange_strong(&seed, &have, made) ? made : have;
}

uint64_t hash_bytes_secret(const void *p, size_t len)
{
	return hash_bytes_seeded(hash_secret(), p, len);
}
