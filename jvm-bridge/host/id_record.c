#include "jvm-bridge/host/id_record.h"

#include <sys/mman.h>

enum { CHUNK_SHIFT = 18, CHUNK = 1 << CHUNK_SHIFT, CHUNKS_MAX = 8192 };
#define ID_MAGIC 0x4a53424f424a4944ull
#define ID_TRIMMED 0x7472696d6d656421ull
#define ID_PER_CHUNK (CHUNK / sizeof(struct object_id))

/* Ids are checked without the lock: n is published after its chunk, and a chunk is never unmapped. */
static struct {
	struct lock lock;
	struct object_id *_Atomic chunks[CHUNKS_MAX];
	_Atomic unsigned n;
	_Atomic uint16_t by_address[CHUNKS_MAX]; /* 1 + the chunk that begins in this part of the first 2 GB; 0: none */
	unsigned current, used; /* the chunk that records are taken from, and how many were taken */
	unsigned spare[CHUNKS_MAX], n_spare; /* chunks without ids */
	bool is_spare[CHUNKS_MAX];
	struct object_id *free;
} records;

static void *pages(void *hint, size_t size, int flags)
{
	void *p = mmap(hint, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* MAP_32BIT only searches from 1 GB up, where ZGC may have its heap; so try any free place below 2 GB next. */
void *low_alloc(size_t size)
{
	const uintptr_t step = 1 << 24, end = (uintptr_t)1 << 31;
	void *p = pages(NULL, size, MAP_32BIT);

	for (uintptr_t at = step; !p && at < end; at += step) {
		p = pages((void *)at, size, 0);
		if (p && (uintptr_t)p + size > end) {
			munmap(p, size);
			p = NULL;
		}
	}
	return p ? p : pages(NULL, size, 0);
}

static bool chunk_add(void)
{
	unsigned n = atomic_load(&records.n);
	struct object_id *chunk = n < CHUNKS_MAX ? low_alloc(CHUNK) : NULL;
	uintptr_t part = (uintptr_t)chunk >> CHUNK_SHIFT;

	if (!chunk)
		return false;
	atomic_store(&records.chunks[n], chunk);
	if (part < CHUNKS_MAX)
		atomic_store(&records.by_address[part], (uint16_t)(n + 1));
	atomic_store(&records.n, n + 1);
	records.current = n;
	return true;
}

static struct object_id *record_new_locked(void)
{
	struct object_id *id = records.free;

	if (id) {
		records.free = id->next;
		id->next = NULL;
		id->magic = ID_MAGIC;
		return id;
	}
	if (!atomic_load(&records.n) || records.used == ID_PER_CHUNK) {
		if (records.n_spare)
			records.current = records.spare[--records.n_spare];
		else if (!chunk_add())
			return NULL;
		records.is_spare[records.current] = false;
		records.used = 0;
	}
	id = atomic_load(&records.chunks[records.current]) + records.used++;
	id->magic = ID_MAGIC;
	return id;
}

struct object_id *id_record_new(void)
{
	struct object_id *id;

	lock_take(&records.lock);
	id = record_new_locked();
	lock_drop(&records.lock);
	return id;
}

void id_record_free(struct object_id *id)
{
	lock_take(&records.lock);
	id->magic = 0;
	id->next = records.free;
	records.free = id;
	lock_drop(&records.lock);
}

void id_records_each(void (*f)(struct object_id *id, void *arg), void *arg)
{
	unsigned n = atomic_load(&records.n);

	for (unsigned i = 0; i < n; i++) {
		struct object_id *chunk = atomic_load(&records.chunks[i]);

		for (size_t k = 0; k < ID_PER_CHUNK; k++)
			f(&chunk[k], arg);
	}
}

static bool chunk_is_empty(const struct object_id *chunk)
{
	for (size_t k = 0; k < ID_PER_CHUNK; k++)
		if (chunk[k].magic)
			return false;
	return true;
}

/* Removes marked records from the list. */
static void free_list_sift(void)
{
	struct object_id **at = &records.free;

	while (*at)
		if ((*at)->magic == ID_TRIMMED)
			*at = (*at)->next;
		else
			at = &(*at)->next;
}

static void trim_locked(void)
{
	unsigned n = atomic_load(&records.n), first = records.n_spare;

	for (unsigned i = 0; i < n; i++) {
		struct object_id *chunk = atomic_load(&records.chunks[i]);

		if (i == records.current || records.is_spare[i] || !chunk_is_empty(chunk))
			continue;
		for (size_t k = 0; k < ID_PER_CHUNK; k++)
			chunk[k].magic = ID_TRIMMED;
		records.spare[records.n_spare++] = i;
		records.is_spare[i] = true;
	}
	free_list_sift();
	/* They read as zeroes from now on. */
	for (unsigned i = first; i < records.n_spare; i++)
		madvise(atomic_load(&records.chunks[records.spare[i]]), CHUNK, MADV_DONTNEED);
}

void id_records_trim(void)
{
	lock_take(&records.lock);
	trim_locked();
	lock_drop(&records.lock);
}

static struct object_id *id_in_chunk(unsigned i, uintptr_t p)
{
	uintptr_t base = (uintptr_t)atomic_load(&records.chunks[i]);
	struct object_id *id = (struct object_id *)p;

	if (p < base || p - base >= ID_PER_CHUNK * sizeof(*id) || (p - base) % sizeof(*id) || id->magic != ID_MAGIC)
		return NULL;
	return id;
}

/* A record's chunk begins in the same part of the address space, or in the one before. */
static struct object_id *id_by_address(uintptr_t p)
{
	struct object_id *id = NULL;

	for (uintptr_t part = p >> CHUNK_SHIFT, i = 0; i < 2 && part >= i && !id; i++) {
		unsigned chunk = atomic_load(&records.by_address[part - i]);

		id = chunk ? id_in_chunk(chunk - 1, p) : NULL;
	}
	return id;
}

struct object_id *id_check(jobjectID id)
{
	uintptr_t p = (uintptr_t)id;
	unsigned n = atomic_load(&records.n);
	struct object_id *found = NULL;

	if (p >> CHUNK_SHIFT < CHUNKS_MAX)
		return id_by_address(p);
	for (unsigned i = 0; i < n && !found; i++)
		found = id_in_chunk(i, p);
	return found;
}
