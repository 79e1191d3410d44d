#include "sampler/engine/perf/rings/record_order.h"

#include <stdlib.h>
#include <string.h>

#include "symbolizer/base/sorted.h"

enum { KEPT = 1 << 20 }; /* bytes of memory that are not freed when there is no record */

static size_t padded(size_t len)
{
	return (len + 7) & ~(size_t)7;
}

static int by_process(const void *a, const void *b)
{
	const struct ordered_record *x = a, *y = b;

	return ascending(x->pid, y->pid) ?: ascending(x->time_ns, y->time_ns) ?: ascending(x->at, y->at);
}

static int by_place(const void *a, const void *b)
{
	const struct ordered_record *x = a, *y = b;

	return ascending(x->at, y->at);
}

/* Moves what is kept to the front, which takes no memory: nothing can be lost. */
static void close_gaps(struct record_order *o)
{
	size_t len = 0;

	qsort(o->records.v, o->records.n, sizeof(*o->records.v), by_place);
	for (size_t i = 0; i < o->records.n; i++) {
		struct ordered_record *r = &o->records.v[i];

		memmove(o->bytes.data + len, o->bytes.data + r->at, r->len);
		r->at = len;
		len += padded(r->len);
	}
	o->bytes.len = len;
	o->bytes.failed = false; /* there is room again */
}

void *record_order_add(struct record_order *o, pid_t pid, uint64_t time_ns, size_t len)
{
	const struct ordered_record r = {.time_ns = time_ns, .pid = pid, .at = o->bytes.len, .len = len};
	void *p = buf_extend(&o->bytes, padded(len));

	return p && vec_push(&o->records, r) ? p : NULL;
}

void record_order_take(struct record_order *o, uint64_t until_ns,
		       void (*take)(void *ctx, const void *record, size_t len), void *ctx)
{
	size_t kept = 0;

	if (o->records.n)
		qsort(o->records.v, o->records.n, sizeof(*o->records.v), by_process);
	for (size_t i = 0; i < o->records.n; i++) {
		struct ordered_record r = o->records.v[i];

		if (r.time_ns <= until_ns)
			take(ctx, o->bytes.data + r.at, r.len);
		else
			o->records.v[kept++] = r;
	}
	o->records.n = kept;
	if (kept)
		close_gaps(o);
	else if (o->bytes.cap > KEPT)
		buf_done(&o->bytes);
	else
		buf_reset(&o->bytes);
}

void record_order_done(struct record_order *o)
{
	vec_done(&o->records);
	buf_done(&o->bytes);
}
