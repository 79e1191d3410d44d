#include "symbolizer/hotspot/methods/line_table.h"
#include "symbolizer/hotspot/methods/method.h"
#include "symbolizer/hotspot/reader/hotspot_parts.h"
#include "symbolizer/hotspot/reader/jvm.h"
#include "symbolizer/hotspot/reader/unsigned5.h"

/* JDK src/hotspot/share/code/compressedStream.cpp, oops/method.cpp (CompressedLineNumberReadStream). */
enum { LINE_END = 0, LINE_ESCAPE = 0xff };

bool line_table_next(struct line_reader *r)
{
	uint8_t b = cursor_u8(&r->c);

	if (r->c.bad || b == LINE_END)
		return false;
	if (b == LINE_ESCAPE) {
		/* Added as unsigned, since untrusted numbers may overflow. */
		r->bci = (int32_t)((uint32_t)r->bci + (uint32_t)unsigned5_read_signed(&r->c, r->bias));
		r->line = (int32_t)((uint32_t)r->line + (uint32_t)unsigned5_read_signed(&r->c, r->bias));
	} else {
		r->bci = (int32_t)((uint32_t)r->bci + (b >> 3));
		r->line = (int32_t)((uint32_t)r->line + (b & 7));
	}
	return !r->c.bad;
}

int line_table_find(const uint8_t *table, uint32_t len, int major, int32_t bci)
{
	struct line_reader r = {cursor_make(table, len), unsigned5_bias(major), 0, 0};
	int32_t best_bci = -1;
	int best = -1;

	/* Entries need not be sorted. */
	while (line_table_next(&r)) {
		if (r.bci == bci)
			return r.line;
		if (r.bci < bci && r.bci >= best_bci && r.bci >= 0) {
			best_bci = r.bci;
			best = r.line;
		}
	}
	return best;
}

int hs_method_line(const struct hotspot *hs, const struct hs_method *m, int32_t bci)
{
	if (!m || !m->line_table)
		return -1;
	return line_table_find(m->line_table, m->line_table_len, hs->jvm->version.major, bci < 0 ? 0 : bci);
}
