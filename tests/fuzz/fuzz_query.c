/* The arguments of a request to the daemon: lines of KEY=VALUE. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/daemon/http/query.h"
#include "symbolizer/base/err.h"
#include "symbolizer/patterns/glob.h"
#include "symbolizer/patterns/regex.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint64_t now = UINT64_C(1795534160000000000);

static void add(struct query *q, char *line)
{
	char *value = strchr(line, '=');
	struct err e = {0};

	if (value)
		*value++ = '\0';
	if (query_add(q, line, value ? value : "", now, &e) < 0 && !*e.msg)
		abort();
}

/* What is refused stays in the query, which is then not used. */
static void match(const struct query *q)
{
	static const char name[] = "java/util/concurrent/ConcurrentHashMap$Node.putVal";
	struct regex *re = NULL;
	uint64_t work = 0;

	if (!q->method || regex_new(q->method, &re, NULL) < 0)
		return;
	regex_matches(re, name, &work);
	if (work > sizeof(name) * 2 * (strlen(q->method) + 1))
		abort();
	regex_free(re);
}

/* Whatever was refused, what is left is a range and patterns that can be matched. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *rest = text, *line;
	struct query q = {0};
	struct store_query sq;
	struct err e = {0};

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	while ((line = strsep(&rest, "\n")))
		add(&q, line);
	if (query_end(&q, now, &e) == 0) {
		query_of_store(&q, &sq);
		if (sq.from_ns >= sq.to_ns || (!q.writer && !q.format) || sq.n_labels > QUERY_LABELS || sq.pid < 0)
			abort();
		query_of_store_against(&q, &sq);
		if (sq.from_ns >= sq.to_ns || sq.n_labels > 2 * QUERY_LABELS || sq.pid < 0)
			abort();
		query_of_store(&q, &sq);
		if (!q.step_s || (q.step_s > 60 && q.step_s % 600 != 0))
			abort();
		match(&q);
		for (size_t i = 0; i < sq.n_labels; i++)
			glob_matches(sq.labels[i].value, "shop-eu");
	} else if (!*e.msg) {
		abort();
	}
	free(text);
	return 0;
}
