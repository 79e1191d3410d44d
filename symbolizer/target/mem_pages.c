#include <errno.h>
#include <stdlib.h>

#include "symbolizer/base/arena.h"
#include "symbolizer/base/hash.h"
#include "symbolizer/target/mem.h"

/*
 * A hash table of small pieces, each with a bit for every byte that is there. Adding costs the same
 * whatever is there already and in whatever order it comes: a hostile recording is made of a million
 * spans, back to front. For one byte of it 96 are held at worst; there is a limit.
 */
enum { PIECE = 64, TABLE_MIN = 64 };
#define MEMORY_MAX ((size_t)1 << 30)

struct piece {
	uint64_t number; /* address / PIECE */
	uint64_t there; /* bit i: bytes[i] is known */
	uint8_t bytes[PIECE];
};

struct mem_pages {
	struct mem mem;
	struct arena pieces;
	struct piece **table; /* open addressing; NULL: free */
	size_t cap, n; /* cap: power of two, more than n */
	uint64_t seed;
};

/* Where it stands, or where it would. */
static struct piece **slot_find(const struct mem_pages *p, uint64_t number)
{
	uint64_t h = hash_u64(number ^ p->seed);

	while (p->table[h & (p->cap - 1)] && p->table[h & (p->cap - 1)]->number != number)
		h++;
	return &p->table[h & (p->cap - 1)];
}

static bool table_grow(struct mem_pages *p)
{
	struct mem_pages big = *p;

	big.cap = p->cap ? 2 * p->cap : TABLE_MIN;
	big.table = calloc(big.cap, sizeof(struct piece *));
	if (!big.table)
		return false;
	for (size_t i = 0; i < p->cap; i++)
		if (p->table[i])
			*slot_find(&big, p->table[i]->number) = p->table[i];
	free(p->table);
	p->table = big.table;
	p->cap = big.cap;
	return true;
}

static const struct piece *piece_find(const struct mem_pages *p, uint64_t number)
{
	return p->cap ? *slot_find(p, number) : NULL;
}

static struct piece *piece_make(struct mem_pages *p, uint64_t number)
{
	struct piece **slot;

	if (2 * p->n >= p->cap && !table_grow(p))
		return NULL;
	slot = slot_find(p, number);
	if (*slot)
		return *slot;
	if (p->pieces.bytes > MEMORY_MAX)
		return NULL;
	*slot = arena_alloc(&p->pieces, sizeof(**slot));
	if (!*slot)
		return NULL;
	(*slot)->number = number;
	p->n++;
	return *slot;
}

/* Bits [at, at + n). */
static uint64_t bits(size_t at, size_t n)
{
	return (n == PIECE ? UINT64_MAX : (UINT64_C(1) << n) - 1) << at;
}

static size_t part_of_piece(uint64_t addr, size_t len)
{
	size_t n = PIECE - addr % PIECE;

	return n < len ? n : len;
}

/* Bytes known from `at` on, at most n. */
static size_t known(const struct piece *piece, size_t at, size_t n)
{
	uint64_t missing = piece ? ~piece->there >> at : 1;
	size_t have = missing ? (size_t)__builtin_ctzll(missing) : PIECE;

	return have < n ? have : n;
}

static size_t pages_read(struct mem *m, uint64_t addr, void *dst, size_t len)
{
	const struct mem_pages *p = (const struct mem_pages *)m;
	size_t got = 0;

	if (len > UINT64_MAX - addr)
		len = UINT64_MAX - addr;
	while (got < len) {
		uint64_t from = addr + got;
		size_t want = part_of_piece(from, len - got);
		const struct piece *piece = piece_find(p, from / PIECE);
		size_t have = known(piece, from % PIECE, want);

		if (have)
			memcpy((uint8_t *)dst + got, piece->bytes + from % PIECE, have);
		got += have;
		if (have < want)
			break;
	}
	return got;
}

static void pages_free(struct mem *m)
{
	struct mem_pages *p = (struct mem_pages *)m;

	arena_done(&p->pieces);
	free(p->table);
	free(p);
}

struct mem *mem_pages_new(void)
{
	static const struct mem_ops ops = {.read = pages_read, .free = pages_free};
	struct mem_pages *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->mem.ops = &ops;
	p->seed = hash_u64((uintptr_t)p); /* addresses are the target's choice */
	return &p->mem;
}

int mem_pages_add(struct mem *m, uint64_t addr, const void *bytes, size_t len)
{
	struct mem_pages *p = (struct mem_pages *)m;

	if (len > UINT64_MAX - addr)
		return -EINVAL;
	for (size_t done = 0; done < len;) {
		uint64_t to = addr + done;
		size_t n = part_of_piece(to, len - done);
		struct piece *piece = piece_make(p, to / PIECE);

		if (!piece)
			return -ENOMEM;
		memcpy(piece->bytes + to % PIECE, (const uint8_t *)bytes + done, n);
		piece->there |= bits(to % PIECE, n);
		done += n;
	}
	return 0;
}
