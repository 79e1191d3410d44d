/* The bridge's stream: bytes of a peer that may be hostile, and questions about what they told. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "jvm-bridge/peer/timeline.h"
#include "jvm-bridge/peer/wire_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile size_t sum;

static void look(const struct timeline *t, uint64_t pc, uint64_t time)
{
	const struct timeline_code *c = timeline_find(t, pc, time);
	struct timeline_frame f[64];
	size_t n;

	if (!c)
		return;
	if (pc < c->begin || pc - c->begin >= c->size)
		__builtin_trap();
	n = timeline_chain(t, c, (uint32_t)(pc - c->begin), f, 64);
	for (size_t i = 0; i < n; i++)
		sum += f[i].method ? strlen(f[i].method->class_name) + strlen(f[i].method->name) : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct timeline *t = timeline_new();
	struct wire_record r;
	struct wire_hello hello;
	const struct timeline_code *c;
	int n;

	while (t && (n = wire_take(data, size, &r)) > 0) {
		wire_hello(&r, &hello);
		if (timeline_feed(t, &r) < 0)
			break;
		data += n;
		size -= (size_t)n;
	}
	while (t && (c = timeline_next_new(t)))
		for (uint64_t at = 0; at < 3; at++)
			look(t, c->begin + at * c->size / 3, c->from + at);
	for (uint64_t pc = 0x1000; t && pc < 0x8000; pc += 0x101)
		look(t, pc, pc);
	timeline_free(t);
	return 0;
}
