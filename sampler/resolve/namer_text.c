#include "sampler/resolve/namer_text.h"

#include <inttypes.h>
#include <string.h>

#include "symbolizer/base/buf.h"
#include "symbolizer/base/hash.h"

enum { MARK = 1 + 16 + 1, END_SHARE = 3 };

static bool inside_character(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

const char *namer_bounded(struct buf *scratch, const char *text, size_t max)
{
	size_t len = text ? strlen(text) : 0, end, begin;

	if (!text)
		return "";
	if (len <= max)
		return text;
	end = (max - MARK) / END_SHARE;
	begin = max - MARK - end;
	while (begin && inside_character(text[begin]))
		begin--;
	while (end && inside_character(text[len - end]))
		end--;
	buf_reset(scratch);
	buf_printf(scratch, "%.*s~%016" PRIx64 "~%s", (int)begin, text, hash_bytes(text, len), text + len - end);
	return scratch->failed ? "[unknown]" : scratch->data;
}

uint32_t namer_function(struct namer *n, const char *name, const char *system, const char *file)
{
	struct buf a = {0}, b = {0}, c = {0};
	uint32_t f;

	name = namer_bounded(&a, name, NAME_BOUND);
	system = namer_bounded(&b, system, SYSTEM_BOUND);
	file = namer_bounded(&c, file, SYSTEM_BOUND);
	f = named_builder_function(n->b, name, system, file);
	buf_done(&a);
	buf_done(&b);
	buf_done(&c);
	return f;
}
