#include <errno.h>
#include <stdlib.h>

#include "symbolizer/base/arena.h"
#include "symbolizer/base/u64map.h"
#include "symbolizer/base/vec.h"
#include "symbolizer/target/mem.h"

/*
 * A hash map of small pieces, each with a bit for every known byte. Adding costs the same in any order, since a hostile
 * recording may have a million spans, back to front. One recorded byte takes at worst about 100 bytes of memory;
 * MEMORY_MAX limits them.
 */
enum { PIECE = 64 };
#define MEMORY_MAX ((size_t)1 << 30)

struct piece {
	uint64_t there; /* bit i: bytes[i] is known */
	uint8_t bytes[PIECE];
};

struct mem_pages {
	struct mem mem;
	struct arena bytes;
	VEC(struct piece *) pieces;
	struct u64map by_number; /* number + 1 -> index in pieces + 1 */
};

static struct piece *piece_find(const struct mem_pages *p, uint64_t number)
{
	uint32_t i = u64map_get(&p->by_number, number + 1);

	return i ? p->pieces.v[i - 1] : NULL;
}

static struct piece *piece_make(struct mem_pages *p, uint64_t number)
{
	struct piece *piece = piece_find(p, number);

	if (piece)
		return piece;
	piece = p->bytes.bytes <= MEMORY_MAX ? arena_alloc(&p->bytes, sizeof(*piece)) : NULL;
	if (!piece || !vec_push(&p->pieces, piece) || !u64map_put(&p->by_number, number + 1, (uint32_t)p->pieces.n))
		return NULL;
	return piece;
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

/* How many bytes are known from `at` on, at most n. */
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

	arena_done(&p->bytes);
	vec_done(&p->pieces);
	u64map_done(&p->by_number);
	free(p);
}

struct mem *mem_pages_new(void)
{
	static const struct mem_ops ops = {.read = pages_read, .free = pages_free};
	struct mem_pages *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->mem.ops = &ops;
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
