/*
 * For an instruction without a record the JVM takes the next one in the code. Where several methods are inlined in one,
 * that is often another method's. Most records belong to calls for what is rare, which lie at the end of the code; what
 * they say holds at the branch that leads there. So the nearest of such branches and of other records is taken, before
 * or behind, if possible in the same loop. Branches are recognised by their bytes at any address: other bytes that look
 * like one hardly ever lead to such a call.
 *
 * Where somebody listens to compiled methods, C2 adds records that often name a wrong method. Only those of safepoints
 * are taken, which have a map of oops.
 */
#include "jvm-bridge/host/stacks/records.h"

#include <stdbool.h>
#include <string.h>

#include "jvm-bridge/host/base/address.h"

enum {
	HEAPS_MAX = 8,
	HOPS_MAX = 1000, /* through a map of segments */
	MAPS_HEADER = 8, /* two numbers, before pairs of numbers */
	PAIR = 8,
	RECORD = 16, /* bytes of a PcDesc, which begins with its pc's offset */
	REACH = 4096, /* bytes to look at, in each direction */
	LOOPS_MAX = 8,
	RARE_MAX = 96, /* bytes from where a branch leads to the end of the call there */
	OPTIMISED = 4, /* level of C2's code */
	BRANCH = 6, /* bytes of a conditional branch with 32 bits */
	CALL = 5, /* and of a jump */
};

/* Offsets in the JVM's structures. */
static struct {
	uint64_t memory, segments, shift; /* CodeHeap */
	uint64_t low_boundary, low, high; /* VirtualSpace */
	uint64_t used; /* HeapBlock */
	uint64_t name, size, data; /* CodeBlob; `data` begins where the instructions end */
	uint64_t begin, code; /* pointer to the code, up to JDK 22; or its offset */
	uint64_t separate; /* nmethod: pointer to what holds the records, from JDK 23 on */
	uint64_t records, end; /* nmethod: their offsets */
	uint64_t level; /* nmethod */
	uint64_t maps, n_maps; /* CodeBlob: pointer to its ImmutableOopMapSet; number in that */
	bool maps_known; /* from JDK 9 on */
	uint64_t heaps[HEAPS_MAX];
	unsigned n_heaps;
	_Atomic bool ready;
} at;

/* Offsets of pcs are from `begin`. */
struct compiled {
	uint64_t begin, records;
	int64_t size; /* of instructions */
	uint64_t maps; /* pairs of numbers by the first one, a pc; 0: not to be looked at */
	uint32_t n, n_maps;
};

static int32_t number(uint64_t address)
{
	int32_t v;

	memcpy(&v, (const void *)(uintptr_t)address, sizeof(v));
	return v;
}

/* One heap up to JDK 8. */
static bool heaps_find(void)
{
	uint64_t heap, heaps, length, data, list;
	const struct jvm_field one[] = {{"CodeCache", "_heap", &heap}};
	const struct jvm_field some[] = {{"CodeCache", "_heaps", &heaps}, {"GrowableArray<int>", "_data", &data}};
	const struct jvm_field now[] = {{"GrowableArrayBase", "_len", &length}};
	const struct jvm_field old[] = {{"GenericGrowableArray", "_len", &length}};

	if (jvm_fields_find(some, 2) && (jvm_fields_find(now, 1) || jvm_fields_find(old, 1))) {
		list = jvm_word(heaps);
		for (int32_t n = number(list + length); (int32_t)at.n_heaps < n && at.n_heaps < HEAPS_MAX; at.n_heaps++)
			at.heaps[at.n_heaps] = jvm_word(jvm_word(list + data) + 8 * at.n_heaps);
	} else if (jvm_fields_find(one, 1)) {
		at.heaps[at.n_heaps++] = jvm_word(heap);
	}
	return at.n_heaps;
}

void records_init(void)
{
	const struct jvm_field all[] = {
		{"CodeHeap", "_memory", &at.memory},
		{"CodeHeap", "_segmap", &at.segments},
		{"CodeHeap", "_log2_segment_size", &at.shift},
		{"VirtualSpace", "_low_boundary", &at.low_boundary},
		{"VirtualSpace", "_low", &at.low},
		{"VirtualSpace", "_high", &at.high},
		{"HeapBlock::Header", "_used", &at.used},
		{"CodeBlob", "_name", &at.name},
		{"CodeBlob", "_size", &at.size},
		{"CodeBlob", "_data_offset", &at.data},
		{"nmethod", "_scopes_pcs_offset", &at.records},
	};
	const struct jvm_field separate[] = {{"nmethod", "_immutable_data", &at.separate},
					     {"nmethod", "_scopes_data_offset", &at.end}};
	const struct jvm_field inside[] = {{"nmethod", "_dependencies_offset", &at.end}};
	const struct jvm_field begin[] = {{"CodeBlob", "_code_begin", &at.begin}};
	const struct jvm_field code[] = {{"CodeBlob", "_code_offset", &at.code}};
	const struct jvm_field maps[] = {{"CodeBlob", "_oop_maps", &at.maps},
					 {"nmethod", "_comp_level", &at.level},
					 {"ImmutableOopMapSet", "_count", &at.n_maps}};

	if (jvm_fields_find(all, sizeof(all) / sizeof(*all)) &&
	    (jvm_fields_find(separate, 2) || jvm_fields_find(inside, 1)) &&
	    (jvm_fields_find(begin, 1) || jvm_fields_find(code, 1)) && heaps_find()) {
		at.maps_known = jvm_fields_find(maps, 3);
		atomic_store(&at.ready, true);
	}
}

/* The map has a byte for each segment: 0 where a block begins, 255: free, else how many to go back. */
static uint64_t block_in(uint64_t heap, uint64_t pc)
{
	uint64_t low = jvm_word(heap + at.memory + at.low_boundary), map = jvm_word(heap + at.segments + at.low);
	int32_t shift = number(heap + at.shift);
	uint64_t i = (pc - low) >> shift;
	uint8_t back;

	for (int hops = 0; hops < HOPS_MAX; hops++) {
		back = *(const uint8_t *)(uintptr_t)(map + i);
		if (!back)
			return low + (i << shift) +
			       2 * at.used; /* behind the header, whose last half begins with _used */
		if (back == UINT8_MAX || back > i)
			break;
		i -= back;
	}
	return 0;
}

/* The nmethod or other code that contains pc; 0: none. */
static uint64_t blob_of(uint64_t pc)
{
	for (unsigned i = 0; i < at.n_heaps; i++) {
		uint64_t memory = at.heaps[i] + at.memory, blob;

		if (pc < jvm_word(memory + at.low) || pc >= jvm_word(memory + at.high))
			continue;
		blob = block_in(at.heaps[i], pc);
		return blob && pc >= blob && pc < blob + (uint32_t)number(blob + at.size) ? blob : 0;
	}
	return 0;
}

static bool is_method(uint64_t blob)
{
	const char *name = (const char *)(uintptr_t)jvm_word(blob + at.name);

	return name && !strcmp(name, "nmethod");
}

static void maps_find(uint64_t blob, struct compiled *ret)
{
	uint64_t set = at.maps_known && *(const uint8_t *)(uintptr_t)(blob + at.level) == OPTIMISED ?
			       jvm_word(blob + at.maps) :
			       0;

	ret->maps = set ? set + MAPS_HEADER : 0;
	ret->n_maps = set ? (uint32_t)number(set + at.n_maps) : 0;
}

static bool compiled_find(uint64_t pc, struct compiled *ret)
{
	uint64_t blob = blob_of(pc), base;
	int32_t from, to;

	if (!blob || !is_method(blob))
		return false;
	base = at.separate ? jvm_word(blob + at.separate) : blob;
	from = number(blob + at.records);
	to = number(blob + at.end);
	ret->begin = at.begin ? jvm_word(blob + at.begin) : blob + (uint32_t)number(blob + at.code);
	ret->size = (int64_t)(blob + (uint32_t)number(blob + at.data) - ret->begin);
	ret->records = base + (uint32_t)from;
	ret->n = from > 0 && to > from ? (uint32_t)(to - from) / RECORD : 0;
	maps_find(blob, ret);
	return pc >= ret->begin && (int64_t)(pc - ret->begin) < ret->size && ret->n;
}

static int64_t record_offset(const struct compiled *c, uint32_t i)
{
	return number(c->records + (uint64_t)i * RECORD);
}

/* The first of n numbers in ascending order, each `step` bytes behind the one before, that is at least v; n: none. */
static uint32_t number_find(uint64_t first, uint32_t n, uint32_t step, int64_t v)
{
	uint32_t low = 0, high = n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (number(first + (uint64_t)middle * step) < v)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The first record at `offset` or behind; the last of all is a sentinel. */
static uint32_t record_find(const struct compiled *c, int64_t offset)
{
	return number_find(c->records, c->n - 1, RECORD, offset);
}

static bool is_trusted(const struct compiled *c, int64_t record)
{
	uint32_t i = number_find(c->maps, c->n_maps, PAIR, record);

	return !c->maps || (i < c->n_maps && number(c->maps + (uint64_t)i * PAIR) == record);
}

/* The same, without those that may be wrong. */
static uint32_t trusted_find(const struct compiled *c, int64_t offset)
{
	uint32_t i = record_find(c, offset);

	while (i < c->n - 1 && !is_trusted(c, record_offset(c, i)))
		i++;
	return i;
}

/* The record of a call is where it returns to, that of a poll where it begins. */
static bool is_call(const struct compiled *c, int64_t record)
{
	return record >= CALL && record <= c->size &&
	       *(const uint8_t *)(uintptr_t)(c->begin + (uint64_t)record - CALL) == 0xe8;
}

/* Is it that of a call of the JVM's runtime? These lie at the end of the code. */
static bool is_rare(const struct compiled *c, int64_t record)
{
	uint64_t end = c->begin + (uint64_t)record, blob;

	if (!is_call(c, record))
		return false;
	blob = blob_of(end + (uint64_t)(int64_t)number(end - 4));
	return blob && !is_method(blob);
}

struct best {
	int64_t from, to; /* where to look */
	int64_t distance, record; /* what was found; -1: nothing */
};

static void best_take(struct best *b, int64_t place, int64_t distance, int64_t record)
{
	if (distance >= b->distance || place < b->from || place >= b->to)
		return;
	b->distance = distance;
	b->record = record;
}

static void take_records(const struct compiled *c, int64_t pc, struct best *b)
{
	uint32_t next = record_find(c, pc);

	for (uint32_t i = next; i < c->n - 1 && record_offset(c, i) - CALL - pc < b->distance; i++) {
		int64_t r = record_offset(c, i), place = is_call(c, r) ? r - CALL : r;

		if (is_trusted(c, r) && !is_rare(c, r))
			best_take(b, place, place - pc, r);
	}
	for (uint32_t i = next; i-- > 1 && pc - record_offset(c, i) < b->distance;) {
		int64_t r = record_offset(c, i);

		if (is_trusted(c, r) && !is_rare(c, r))
			best_take(b, r, pc - r, r);
	}
}

/* Where a conditional branch leads, forward or backward; -1: there is none. */
static int64_t branch_target(const struct compiled *c, int64_t offset)
{
	const uint8_t *code = (const uint8_t *)(uintptr_t)(c->begin + (uint64_t)offset);
	int64_t to;

	if (offset < 0 || offset + BRANCH > c->size || code[0] != 0x0f || (code[1] & 0xf0) != 0x80)
		return -1;
	to = offset + BRANCH + number(c->begin + (uint64_t)offset + 2);
	return to >= 0 && to < c->size ? to : -1;
}

/* The record of a rare call that a branch leads to; -1: there is none. */
static int64_t branch_record(const struct compiled *c, int64_t offset)
{
	int64_t to = branch_target(c, offset), r;

	if (to <= offset)
		return -1;
	r = record_offset(c, trusted_find(c, to + 1));
	return r - to <= RARE_MAX && is_rare(c, r) ? r : -1;
}

/* Nearer ones first, since those that are found end the search. */
static void take_branches(const struct compiled *c, int64_t pc, struct best *b)
{
	int64_t r;

	for (int64_t d = 0; d < b->distance && (pc + d < b->to || pc - d >= b->from); d++) {
		r = pc + d < b->to ? branch_record(c, pc + d) : -1;
		if (r >= 0)
			best_take(b, pc + d, d, r);
		r = pc - d >= b->from ? branch_record(c, pc - d) : -1;
		if (r >= 0)
			best_take(b, pc - d, d, r);
	}
}

static int64_t record_within(const struct compiled *c, int64_t pc, int64_t from, int64_t to)
{
	struct best b = {from, to, REACH, -1};

	take_records(c, pc, &b);
	take_branches(c, pc, &b);
	return b.record;
}

/* Where a loop begins that ends here; -1: none does. The outer one of two is often closed by a jump. */
static int64_t loop_begin(const struct compiled *c, int64_t end)
{
	int64_t to = branch_target(c, end);

	if (to < 0 && end + CALL <= c->size && *(const uint8_t *)(uintptr_t)(c->begin + (uint64_t)end) == 0xe9)
		to = end + CALL + number(c->begin + (uint64_t)end + 1);
	return to;
}

/* What is in the innermost loop that has something, then anywhere. */
static int64_t record_choose(const struct compiled *c, int64_t pc)
{
	int64_t r, begin = pc;
	int loops = 0;

	for (int64_t end = pc; end < pc + REACH && loops < LOOPS_MAX; end++) {
		int64_t to = loop_begin(c, end);

		if (to < 0 || to > pc || pc - to > REACH)
			continue;
		loops++;
		if (to < begin)
			begin = to;
		r = record_within(c, pc, begin, end + BRANCH);
		if (r >= 0)
			return r;
	}
	return record_within(c, pc, 0, c->size);
}

/* Code for collectors lies at the end, has no records, and jumps back to what it belongs to. */
static int64_t place_of(const struct compiled *c, int64_t pc, int64_t next)
{
	for (int64_t end = pc; end < next && end < pc + RARE_MAX; end++) {
		int64_t to = loop_begin(c, end);

		if (to >= 0 && pc - to > REACH)
			return to;
	}
	return pc;
}

uint64_t record_near(uint64_t pc)
{
	struct compiled c;
	int64_t offset, taken, next, r;

	if (!atomic_load(&at.ready) || !compiled_find(pc, &c))
		return pc;
	offset = (int64_t)(pc - c.begin);
	taken = record_offset(&c, record_find(&c, offset + 1)); /* by the JVM */
	next = record_offset(&c, trusted_find(&c, offset));
	if (next == offset || (next - offset < CALL && is_call(&c, next)))
		r = next; /* the instruction's own */
	else
		r = record_choose(&c, place_of(&c, offset, next));
	return r <= 0 || r == taken ? pc : c.begin + (uint64_t)r - 1;
}
