#include "jvm-bridge/stream/sent_methods.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

enum { SLOTS = 1 << 20, FULL = SLOTS / 4 * 3, PROBES = 4096 };

bool sent_methods_init(struct sent_methods *k)
{
	void *p = mmap(NULL, SLOTS * sizeof(*k->slots), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return false;
	k->slots = p;
	atomic_store(&k->n, 0);
	return true;
}

/* Ids are close together (the JVM allocates them in blocks), so neighbours share pages. */
static unsigned slot_of(void *id)
{
	return (unsigned)((uintptr_t)id >> 3) % SLOTS;
}

void sent_methods_add(struct sent_methods *k, void *id)
{
	unsigned i = slot_of(id);

	if (!id || atomic_load(&k->n) >= FULL)
		return;
	for (unsigned p = 0; p < PROBES; p++, i = (i + 1) % SLOTS) {
		void *seen = atomic_load(&k->slots[i]);

		if (seen == id)
			return;
		if (!seen && atomic_compare_exchange_strong(&k->slots[i], &seen, id)) {
			atomic_fetch_add(&k->n, 1);
			return;
		}
		if (seen == id)
			return;
	}
}

bool sent_methods_has(const struct sent_methods *k, void *id)
{
	unsigned i = slot_of(id);

	for (unsigned p = 0; p < PROBES; p++, i = (i + 1) % SLOTS) {
		void *seen = atomic_load(&k->slots[i]);

		if (seen == id || !seen)
			return seen && seen == id;
	}
	return false;
}

void sent_methods_reset(struct sent_methods *k)
{
	madvise((void *)k->slots, SLOTS * sizeof(*k->slots), MADV_DONTNEED);
	atomic_store(&k->n, 0);
}
