#ifndef JS_TARGET_MEM_H
#define JS_TARGET_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * A view of another process's memory. All reads of a target go through this interface.
 * Sources: the live process (mem_live.h), copied stack bytes over another view (mem_stack below),
 * pages of a recording or an array in a test (mem_pages below). What comes back is untrusted.
 *
 * Not thread-safe: one view belongs to one thread.
 */
struct mem;

/* A span of target memory wanted by mem_read_batch(). `ok` is filled in. */
struct mem_span {
	uint64_t addr;
	void *dst;
	uint32_t len;
	bool ok;
};

struct mem_ops {
	/* The number of bytes read from the start of the span: `len`, or less if the view ends. */
	size_t (*read)(struct mem *m, uint64_t addr, void *dst, size_t len);
	/* Many small spans, each all or nothing. NULL: read() one by one. */
	void (*read_batch)(struct mem *m, struct mem_span *spans, size_t n);
	/* Forgets cached pages, since a new sample begins. May be NULL. */
	void (*new_sample)(struct mem *m);
	void (*free)(struct mem *m);
};

/* Base of every source; embed as first member. */
struct mem {
	const struct mem_ops *ops;
	/* What is read is recorded (mem_tap): readers ask for no more than they need, even if it takes
	 * more reads. */
	bool exact;
};

/* false: not all of it could be read. */
static inline bool mem_read(struct mem *m, uint64_t addr, void *dst, size_t len)
{
	return m->ops->read(m, addr, dst, len) == len;
}

/* Reads as much as there is from `addr` on, and returns the count. */
static inline size_t mem_read_some(struct mem *m, uint64_t addr, void *dst, size_t len)
{
	return m->ops->read(m, addr, dst, len);
}

void mem_read_batch(struct mem *m, struct mem_span *spans, size_t n);

static inline void mem_new_sample(struct mem *m)
{
	if (m->ops->new_sample)
		m->ops->new_sample(m);
}

static inline void mem_free(struct mem *m)
{
	if (m)
		m->ops->free(m);
}

static inline bool mem_read_u64(struct mem *m, uint64_t addr, uint64_t *ret)
{
	return mem_read(m, addr, ret, sizeof(*ret));
}

static inline bool mem_read_u32(struct mem *m, uint64_t addr, uint32_t *ret)
{
	return mem_read(m, addr, ret, sizeof(*ret));
}

static inline bool mem_read_u16(struct mem *m, uint64_t addr, uint16_t *ret)
{
	return mem_read(m, addr, ret, sizeof(*ret));
}

static inline bool mem_read_u8(struct mem *m, uint64_t addr, uint8_t *ret)
{
	return mem_read(m, addr, ret, sizeof(*ret));
}

/* A C string of at most max - 1 bytes, NUL-terminated in any case. false: unreadable or longer. */
bool mem_read_cstr(struct mem *m, uint64_t addr, char *dst, size_t max);

/*
 * Stack bytes copied at the moment of the sample; all other addresses are read from `base`.
 * It owns nothing; set one up for each sample, on the stack. A read that crosses the end of the
 * copy continues in `base`.
 */
struct mem_stack {
	struct mem mem;
	struct mem *base; /* may be NULL: nothing but the copy */
	uint64_t addr;
	const uint8_t *bytes;
	size_t len;
	uint64_t hidden; /* bytes behind the copy that cannot be read, not even from `base` */
};

void mem_stack_init(struct mem_stack *s, struct mem *base, uint64_t addr, const void *bytes, size_t len);

/*
 * Spans held in memory: a recording, or an array in a test. Spans may be added in any
 * order; where they overlap, the last one added counts. Adjacent spans read as one.
 */
struct mem *mem_pages_new(void);
int mem_pages_add(struct mem *m, uint64_t addr, const void *bytes, size_t len); /* copies */

/*
 * Calls `note` for each successful read of `base`, with the exact span. Used to write recordings. Frees itself, not `base`.
 */
typedef void mem_note_fn(void *ctx, uint64_t addr, const void *bytes, size_t len);
struct mem *mem_tap_new(struct mem *base, mem_note_fn *note, void *ctx);

#endif
