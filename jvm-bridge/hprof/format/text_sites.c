#include "jvm-bridge/hprof/base/out.h"
#include "jvm-bridge/hprof/format/text.h"
#include "jvm-bridge/hprof/tables/sites.h"

static void row(size_t rank, const struct site *s, double self, double accum)
{
	char name[NAME_MAX_];

	out_print("%5zu %5.2f%% %5.2f%% %9llu %4llu %9llu %5llu %5u %s\n", rank, self, accum,
		  (unsigned long long)s->live_bytes, (unsigned long long)s->live, (unsigned long long)s->bytes,
		  (unsigned long long)s->objects, s->trace->serial, kind_source_name(s->kind, name));
}

void text_sites(const struct site_table *t)
{
	uint64_t total = t->by_allocated ? t->totals.bytes : t->totals.live_bytes, sum = 0;
	char now[TEXT_TIME];

	for (size_t i = 0; i < t->n; i++)
		text_trace(t->rows[i]->trace);
	out_print("SITES BEGIN (ordered by %s bytes) %s", t->by_allocated ? "allocated" : "live", text_time(now));
	out_print("          percent          live          alloc'ed  stack class\n");
	out_print(" rank   self  accum     bytes objs     bytes  objs trace name\n");
	for (size_t i = 0; i < t->n; i++) {
		uint64_t bytes = t->by_allocated ? t->rows[i]->bytes : t->rows[i]->live_bytes;

		sum += bytes;
		row(i + 1, t->rows[i], text_percent(bytes, total), text_percent(sum, total));
	}
	out_print("SITES END\n");
	out_whole();
}
