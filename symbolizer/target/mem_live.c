#include "symbolizer/target/mem_live.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/hash.h"
#include "symbolizer/target/access.h"
#include "symbolizer/target/deputy.h"
#include "symbolizer/target/mem.h"
#include "symbolizer/target/proc.h"

/*
 * Two ways to read, medians on a 2-core virtual machine with Linux 6.18:
 *
 *	                   pread of /proc/PID/mem   process_vm_readv
 *	8 bytes                1.2 us                  1.9 us
 *	one page               1.7 us                  2.0 us
 *	16 KiB                 4.1 us                  4.1 us
 *	30 spans of 16 B      35 us                   15 us
 *
 * So pages are read with pread, and batches with process_vm_readv, or if that is not allowed (deputy.h) with one pread
 * for spans that are close together. The descriptor is also safer: it is bound to the address space that it was opened
 * for and reads as empty when that is gone, whereas after an execve(2) a PID means another program, and later perhaps
 * another process. So a batch is read by PID only if the descriptor was seen to work in the same sample.
 *
 * The page cache is a small hash table over a pool of pages that is filled from the start in every sample, so that a
 * sample that needs few pages touches few of jsampler's. Entries of older generations count as empty, so one addition
 * empties the cache.
 */
enum {
	PAGE = 4096, /* larger pages of a target are read in pieces of this size */
	SLOTS = 256,
	PAGES = 128, /* less than SLOTS, so that every search ends */
	CACHED_MAX = 2 * PAGE, /* larger reads bypass the cache */
	BATCH_MAX = 1024, /* IOV_MAX, process_vm_readv(2) */
	BATCH_MIN = 3, /* for fewer spans, single reads cost no more */
	COST_BYTES = 16384, /* copying this many bytes takes as long as a system call */
	SORTED_MAX = 64, /* spans read together with pread */
	GAP_MAX = 8192, /* between two of them: copying this many bytes costs less than another call in a cold cache */
	NEAR_MAX = 16384, /* bytes read by one call */
};

struct page_slot {
	uint64_t gen, page; /* page: address / PAGE */
	int index; /* in the pool; -1: cannot be read */
};

struct mem_live_pool {
	const struct mem_live
		*owner; /* whose pages these are; one at the address of one that was freed has no entries yet */
	uint8_t pages[PAGES][PAGE];
};

struct mem_live {
	struct mem mem;
	pid_t pid;
	int fd; /* /proc/PID/mem */
	bool vm_refused; /* process_vm_readv(2) does not work here */
	uint64_t gen, gen_alive; /* of this sample; of the last one in which fd was seen to work */
	uint64_t cost, cost_max; /* of this sample; its limit, 0: none */
	int used; /* pages of the pool */
	struct page_slot slots[SLOTS];
	struct mem_live_stats stats;
	struct mem_live_pool *pool, *own_pool; /* own_pool NULL: it is shared */
};

/* false: this sample has used up its limit. */
static bool charge(struct mem_live *l, size_t len)
{
	if (l->cost_max && l->cost >= l->cost_max) {
		l->stats.refused++;
		return false;
	}
	l->cost += 1 + len / COST_BYTES;
	l->stats.syscalls++;
	return true;
}

static size_t read_fd(struct mem_live *l, uint64_t addr, void *dst, size_t len)
{
	size_t got = 0;

	if (addr > INT64_MAX)
		return 0;
	while (got < len && charge(l, len - got)) {
		ssize_t n = pread(l->fd, (char *)dst + got, len - got, (off_t)(addr + got));

		if (n < 0 && errno == EINTR)
			continue;
		if (n != 0) /* EIO only means that this page is not mapped; 0: the address space is gone */
			l->gen_alive = l->gen;
		if (n <= 0)
			break;
		got += (size_t)n;
	}
	return got;
}

/* Bypasses the cache. */
static size_t read_direct(struct mem_live *l, uint64_t addr, void *dst, size_t len)
{
	size_t got = read_fd(l, addr, dst, len);

	l->stats.bytes += got;
	l->stats.faults += got < len;
	return got;
}

static void forget(struct mem_live *l)
{
	l->gen_alive += l->gen_alive == l->gen; /* it is still the same sample if the pool was full */
	l->gen++;
	l->used = 0;
}

/* The page's bytes, or NULL. */
static const uint8_t *page_get(struct mem_live *l, uint64_t page)
{
	size_t k = hash_u64(page) % SLOTS;
	struct page_slot *s;

	if (l->used == PAGES || l->pool->owner != l)
		forget(l);
	l->pool->owner = l;
	for (s = &l->slots[k]; s->gen == l->gen; s = &l->slots[k = (k + 1) % SLOTS])
		if (s->page == page)
			return s->index < 0 ? NULL : l->pool->pages[s->index];
	*s = (struct page_slot){.gen = l->gen, .page = page, .index = l->used++};
	l->stats.pages++;
	if (read_direct(l, page * PAGE, l->pool->pages[s->index], PAGE) == PAGE)
		return l->pool->pages[s->index];
	s->index = -1;
	return NULL;
}

static size_t live_read(struct mem *m, uint64_t addr, void *dst, size_t len)
{
	struct mem_live *l = (struct mem_live *)m;
	size_t got = 0;

	if (len > CACHED_MAX)
		return read_direct(l, addr, dst, len);
	while (got < len && addr + got >= addr) {
		size_t off = (addr + got) % PAGE, n = PAGE - off;
		const uint8_t *page = page_get(l, (addr + got) / PAGE);

		if (!page)
			break;
		if (n > len - got)
			n = len - got;
		memcpy((uint8_t *)dst + got, page + off, n);
		got += n;
	}
	return got;
}

/*
 * One system call for n <= BATCH_MAX spans. Returns how many spans are finished: those that were read, and the first
 * that could not be. 0: the system call does not work.
 */
static size_t batch_call(struct mem_live *l, struct mem_span *spans, size_t n)
{
	struct iovec local[BATCH_MAX], remote[BATCH_MAX];
	size_t i, len = 0;
	ssize_t got;

	for (i = 0; i < n; i++) {
		local[i] = (struct iovec){spans[i].dst, spans[i].len};
		remote[i] = (struct iovec){(void *)(uintptr_t)spans[i].addr, spans[i].len};
		len += spans[i].len;
	}
	if (!charge(l, len)) {
		for (i = 0; i < n; i++)
			spans[i].ok = false;
		return n;
	}
	got = process_vm_readv(l->pid, local, n, remote, n, 0);
	if (got < 0 && errno != EFAULT)
		return 0;
	if (got < 0)
		got = 0;
	l->stats.bytes += (uint64_t)got;
	for (i = 0; i < n; i++) {
		spans[i].ok = (size_t)got >= spans[i].len;
		if (!spans[i].ok)
			return l->stats.faults++, i + 1;
		got -= (ssize_t)spans[i].len;
	}
	return n;
}

/*
 * Not every batch is given in the order of addresses. Small batches only: no memory may be allocated while walking.
 * Returns the number without those of length 0.
 */
static size_t sort_spans(struct mem_span **sorted, struct mem_span *spans, size_t n)
{
	size_t filled = 0, at;

	for (size_t i = 0; i < n; i++) {
		spans[i].ok = spans[i].len == 0;
		if (spans[i].ok)
			continue;
		for (at = filled++; at > 0 && sorted[at - 1]->addr > spans[i].addr; at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = &spans[i];
	}
	return filled;
}

/* How many of the first spans, sorted by address, one call should read. */
static size_t count_near(struct mem_span *const *s, size_t n, size_t *ret_len)
{
	uint64_t start = s[0]->addr, end = start + s[0]->len;
	size_t i;

	for (i = 1; i < n && end > start; i++) {
		uint64_t from = s[i]->addr, to = from + s[i]->len;
		bool wraps = to < from;

		if (to < end)
			to = end;
		if (wraps || from > end + GAP_MAX || to - start > NEAR_MAX)
			break;
		end = to;
	}
	*ret_len = (size_t)(end - start);
	return i;
}

/* Reads nearby spans with one call. Returns how many of the first spans are finished. */
static size_t read_near(struct mem_live *l, struct mem_span *const *spans, size_t n)
{
	uint8_t bytes[NEAR_MAX];
	uint64_t start = spans[0]->addr;
	size_t len, near = count_near(spans, n, &len), got;

	if (near == 1) {
		spans[0]->ok = read_direct(l, start, spans[0]->dst, spans[0]->len) == spans[0]->len;
		return 1;
	}
	got = read_direct(l, start, bytes, len);
	for (size_t i = 0; i < near; i++) {
		struct mem_span *s = spans[i];

		s->ok = s->addr - start + s->len <= got;
		if (s->ok)
			memcpy(s->dst, bytes + (s->addr - start), s->len);
		else if (s->addr > start) /* perhaps only bytes before this span are unreadable */
			s->ok = read_direct(l, s->addr, s->dst, s->len) == s->len;
	}
	return near;
}

/* Each iteration finishes at least one span, so there are at most 2 n system calls. */
static void read_sorted(struct mem_live *l, struct mem_span *spans, size_t n)
{
	struct mem_span *sorted[SORTED_MAX];

	n = sort_spans(sorted, spans, n);
	for (size_t done = 0; done < n;)
		done += read_near(l, sorted + done, n - done);
}

static void live_read_batch(struct mem *m, struct mem_span *spans, size_t n)
{
	struct mem_live *l = (struct mem_live *)m;
	size_t done = 0, some;

	while (done < n) {
		some = n - done;
		if (!l->vm_refused && !deputy() && l->gen_alive == l->gen && some >= BATCH_MIN) {
			some = batch_call(l, spans + done, some < BATCH_MAX ? some : BATCH_MAX);
			l->vm_refused = some == 0;
		} else {
			some = some < SORTED_MAX ? some : SORTED_MAX;
			read_sorted(l, spans + done, some);
		}
		done += some;
	}
}

static void live_new_sample(struct mem *m)
{
	struct mem_live *l = (struct mem_live *)m;

	forget(l);
	l->gen_alive = 0;
	l->cost = 0;
}

static void live_free(struct mem *m)
{
	struct mem_live *l = (struct mem_live *)m;

	close(l->fd);
	free(l->own_pool);
	free(l);
}

static int open_failed(struct err *err, int code, struct proc *proc)
{
	pid_t pid = proc_pid(proc);
	bool none = code == -ENOENT || code == -ESRCH;

	if (none && proc_gone(proc))
		return err_set(err, -ESRCH, "process %d has ended", (int)pid);
	/* The files of such a process belong to root, so that this looks like missing permission. */
	if (none || (proc_first_ended(proc) && !proc_gone(proc)))
		return err_set(err, -ESRCH,
			       "the memory of process %d cannot be opened: its first thread has ended while others "
			       "are running, or it is a kernel thread",
			       (int)pid);
	if (code == -EACCES || code == -EPERM)
		return access_explain(proc, code, err);
	errno = -code;
	return err_set(err, code, "cannot read the memory of process %d: %m", (int)pid);
}

struct mem_live_pool *mem_live_pool_new(void)
{
	struct mem_live_pool *p = malloc(sizeof(*p));

	if (p)
		p->owner = NULL;
	return p;
}

void mem_live_pool_free(struct mem_live_pool *pool)
{
	free(pool);
}

void mem_live_share(struct mem *m, struct mem_live_pool *pool)
{
	struct mem_live *l = (struct mem_live *)m;

	forget(l);
	free(l->own_pool);
	l->own_pool = NULL;
	l->pool = pool;
}

int mem_live_open(struct proc *proc, struct mem **ret, struct err *err)
{
	static const struct mem_ops ops = {
		.read = live_read,
		.read_batch = live_read_batch,
		.new_sample = live_new_sample,
		.free = live_free,
	};
	CLEANUP(close_at_exit) int fd = proc_file(proc, 0, "mem");
	struct mem_live *l;

	if (fd < 0)
		return open_failed(err, fd, proc);
	l = calloc(1, sizeof(*l));
	if (!l || !(l->pool = l->own_pool = mem_live_pool_new())) {
		free(l);
		return open_failed(err, -ENOMEM, proc);
	}
	l->mem.ops = &ops;
	l->pid = proc_pid(proc);
	l->fd = take_fd(&fd);
	l->gen = 1;
	*ret = &l->mem;
	return 0;
}

void mem_live_limit(struct mem *m, uint64_t cost)
{
	((struct mem_live *)m)->cost_max = cost;
}

struct mem_live_stats mem_live_stats(const struct mem *m)
{
	return ((const struct mem_live *)m)->stats;
}
