#include "jvm-bridge/hprof/base/addresses.h"

#include <stdlib.h>

/* The JVM's own dump, which may be in the same file, has real addresses: below 1 << 47. */
#define LASTING (1ull << 56)
#define OF_DUMP (1ull << 57)
enum { MIRROR = 128 }; /* distance in bytes between lasting ones */

struct entry {
	jobjectID id;
	uint64_t address;
};

static struct {
	struct entry *at;
	size_t cap, n; /* cap: 0, or a power of two; at most two thirds full */
	uint64_t lasting, next;
} addresses = {.lasting = LASTING, .next = OF_DUMP};

static struct entry *entry_of(struct entry *at, size_t cap, jobjectID id)
{
	size_t i = (size_t)((uint64_t)(uintptr_t)id * 0x9e3779b97f4a7c15u >> 20) & (cap - 1);

	while (at[i].id && at[i].id != id)
		i = (i + 1) & (cap - 1);
	return &at[i];
}

static bool grow(void)
{
	size_t cap = addresses.cap ? addresses.cap * 2 : 4096;
	struct entry *at = calloc(cap, sizeof(*at));

	if (!at)
		return false;
	for (size_t i = 0; i < addresses.cap; i++)
		if (addresses.at[i].id)
			*entry_of(at, cap, addresses.at[i].id) = addresses.at[i];
	free(addresses.at);
	addresses.at = at;
	addresses.cap = cap;
	return true;
}

uint64_t address_lasting(void)
{
	return addresses.lasting += MIRROR;
}

uint64_t address_next(size_t size)
{
	uint64_t address = addresses.next;

	addresses.next += (size + 7) & ~(size_t)7;
	return address;
}

bool address_set(jobjectID id, uint64_t address)
{
	struct entry *e;

	if (!id || (addresses.n * 3 >= addresses.cap * 2 && !grow()))
		return !id;
	e = entry_of(addresses.at, addresses.cap, id);
	addresses.n += !e->id;
	*e = (struct entry){id, address};
	return true;
}

uint64_t address_of(jobjectID id)
{
	return id && addresses.cap ? entry_of(addresses.at, addresses.cap, id)->address : 0;
}

void addresses_clear(void)
{
	free(addresses.at);
	addresses.at = NULL;
	addresses.cap = addresses.n = 0;
	addresses.next = OF_DUMP;
}
