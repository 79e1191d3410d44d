#include "symbolizer/hotspot/reader/cstrs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/base/arena.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/sorted.h"
#include "symbolizer/target/mem.h"

/* So that a hostile target cannot make this read more than 16 MiB. */
enum { PAGE = 4096, PAGES_MAX = 4096 };

struct pages {
	uint64_t *addr; /* sorted, unique */
	struct mem_span *span;
	uint8_t *bytes;
	size_t n;
};

static int compare_u64(const void *a, const void *b)
{
	uint64_t x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return ascending(x, y);
}

static void pages_done(struct pages *p)
{
	free(p->addr);
	free(p->span);
	free(p->bytes);
}

/* Collects the pages on which strings start and, if a string may extend into it, the next page. */
static size_t pages_collect(const uint64_t *addrs, size_t n, uint64_t *ret)
{
	size_t k = 0, unique = 0;

	for (size_t i = 0; i < n; i++) {
		if (addrs[i] < PAGE || addrs[i] > UINT64_MAX - 2 * PAGE)
			continue;
		ret[k++] = addrs[i] & ~(uint64_t)(PAGE - 1);
		if (addrs[i] % PAGE + CSTR_MAX > PAGE)
			ret[k++] = (addrs[i] & ~(uint64_t)(PAGE - 1)) + PAGE;
	}
	qsort(ret, k, sizeof(*ret), compare_u64);
	for (size_t i = 0; i < k; i++)
		if (unique == 0 || ret[unique - 1] != ret[i])
			ret[unique++] = ret[i];
	return unique < PAGES_MAX ? unique : PAGES_MAX;
}

static int pages_read(struct mem *m, const uint64_t *addrs, size_t n, struct pages *ret)
{
	ret->addr = calloc(2 * n + 1, sizeof(*ret->addr));
	if (!ret->addr)
		return -ENOMEM;
	ret->n = pages_collect(addrs, n, ret->addr);
	ret->span = calloc(ret->n + 1, sizeof(*ret->span));
	ret->bytes = malloc((ret->n + 1) * PAGE);
	if (!ret->span || !ret->bytes)
		return -ENOMEM;
	for (size_t i = 0; i < ret->n; i++)
		ret->span[i] = (struct mem_span){ret->addr[i], ret->bytes + i * PAGE, PAGE, false};
	mem_read_batch(m, ret->span, ret->n);
	return 0;
}

/* The string at addr; NULL: not completely in the pages. */
static const char *pages_string(const struct pages *p, uint64_t addr, size_t *len)
{
	uint64_t page = addr & ~(uint64_t)(PAGE - 1);
	const uint64_t *at = p->n ? bsearch(&page, p->addr, p->n, sizeof(page), compare_u64) : NULL;
	size_t i, max;
	const char *s;

	if (!at)
		return NULL;
	i = (size_t)(at - p->addr);
	if (!p->span[i].ok)
		return NULL;
	max = PAGE - addr % PAGE;
	/* Pages adjacent in the list are adjacent in `bytes`, too. */
	if (i + 1 < p->n && p->addr[i + 1] == page + PAGE && p->span[i + 1].ok)
		max += PAGE;
	s = (const char *)p->bytes + i * PAGE + addr % PAGE;
	*len = strnlen(s, max < CSTR_MAX ? max : CSTR_MAX);
	return *len < max && *len < CSTR_MAX ? s : NULL;
}

static const char *string_copy(struct mem *m, const struct pages *p, uint64_t addr, struct arena *a)
{
	char buf[CSTR_MAX];
	size_t len = 0;
	const char *s = pages_string(p, addr, &len);

	if (s)
		return arena_strndup(a, s, len);
	/* Recordings and tests do not have whole pages. */
	if (addr == 0 || !mem_read_cstr(m, addr, buf, sizeof(buf)))
		return NULL;
	return arena_strndup(a, buf, strlen(buf));
}

int cstrs_read(struct mem *m, const uint64_t *addrs, size_t n, struct arena *a, const char **ret)
{
	struct pages p CLEANUP(pages_done) = {0};
	int r = m->exact ? 0 : pages_read(m, addrs, n, &p);

	for (size_t i = 0; i < n; i++)
		ret[i] = r == 0 ? string_copy(m, &p, addrs[i], a) : NULL;
	return r;
}
