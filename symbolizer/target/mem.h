#ifndef JS_TARGET_MEM_H
#define JS_TARGET_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * A view of another process's memory. All reads of a target go through this interface. The sources are: the live
 * process (mem_live.h), copied stack bytes over another view (mem_stack below), pages of a recording or an array in a
 * test (mem_pages below). The bytes read are untrusted.
 *
 * Not thread-safe: one view belongs to one thread.
 */
struct mem;

/* A span of target memory for mem_read_batch(), which sets `ok`. */
struct mem_span {
	uint64_t addr;
	void *dst;
	uint32_t len;
	bool ok;
};

struct mem_ops {
	/* Returns the number of bytes read from the start of the span: `len`, or fewer if the memory ends before. */
	size_t (*read)(struct mem *m, uint64_t addr, void *dst, size_t len);
	/* Reads many small spans; each succeeds completely or fails. NULL: read() is called for each. */
	void (*read_batch)(struct mem *m, struct mem_span *spans, size_t n);
	/* Drops cached pages, since a new sample begins. May be NULL. */
	void (*new_sample)(struct mem *m);
	void (*free)(struct mem *m);
};

/* Base of every source: its first member. */
struct mem {
	const struct mem_ops *ops;
	/* Reads are recorded (mem_tap): readers ask for no more than they need, even if it takes more reads. */
	bool exact;
};

/* false: could not be read completely. */
static inline bool mem_read(struct mem *m, uint64_t addr, void *dst, size_t len)
{
	return m->ops->read(m, addr, dst, len) == len;
}

/* Reads from `addr` on as far as memory is readable, and returns the count. */
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

/* Reads a C string of at most max - 1 bytes; dst is always NUL-terminated. false: unreadable or longer. */
bool mem_read_cstr(struct mem *m, uint64_t addr, char *dst, size_t max);

/*
 * Stack bytes copied at the moment of the sample; all other addresses are read from `base`. It owns nothing, and is set
 * up for each sample in a local variable. A read that crosses the end of the copy continues in `base`.
 */
struct mem_stack {
	struct mem mem;
	struct mem *base; /* NULL: only the copy can be read */
	uint64_t addr;
	const uint8_t *bytes;
	size_t len;
	uint64_t hidden; /* bytes after the copy that cannot be read, not even from `base` */
};

void mem_stack_init(struct mem_stack *s, struct mem *base, uint64_t addr, const void *bytes, size_t len);

/*
 * Spans held in memory: a recording, or an array in a test. Spans may be added in any order; where they overlap, the
 * one added last wins. Adjacent spans read as one.
 */
struct mem *mem_pages_new(void);
int mem_pages_add(struct mem *m, uint64_t addr, const void *bytes, size_t len); /* copies */

/*
 * Calls `note` for each successful read of `base`, with the exact span. Used to write recordings. Freeing it does not
 * free `base`.
 */
typedef void mem_note_fn(void *ctx, uint64_t addr, const void *bytes, size_t len);
struct mem *mem_tap_new(struct mem *base, mem_note_fn *note, void *ctx);

#endif
