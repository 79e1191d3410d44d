#include "sampler/output/frame_text.h"

#include "sampler/model/named_profile.h"
#include "symbolizer/base/buf.h"
#include "symbolizer/base/text.h"

/*
 * The suffixes that flamegraph.pl --color=java and other tools know. Native methods have none:
 * their wrapper is generated code, but neither compiled from Java nor interpreted.
 */
const char *frame_text_suffix(const struct named_line *line)
{
	static const char *const suffixes[NAMED_KINDS] = {
		[NAMED_KERNEL] = "_[k]", [NAMED_INTERPRETED] = "_[0]", [NAMED_C1] = "_[1]",
		[NAMED_C2] = "_[j]",     [NAMED_INLINED] = "_[i]",
	};
	const char *suffix = line->kind < NAMED_KINDS ? suffixes[line->kind] : NULL;

	return suffix ? suffix : "";
}

/* Unknown, but with a line: Java from text without suffixes. */
static bool has_line(const struct named_line *line)
{
	return line->kind == NAMED_UNKNOWN || line->kind == NAMED_INTERPRETED || line->kind == NAMED_C1 ||
	       line->kind == NAMED_C2 || line->kind == NAMED_INLINED;
}

/* Appends a name from the target, which may contain anything. */
static void add_clean(struct buf *b, const char *name)
{
	size_t start = b->len, len;

	buf_add_z(b, name);
	if (b->failed || b->len == start)
		return;
	len = text_sanitise(b->data + start, b->len - start + 1, b->data + start, b->len - start);
	b->len = start + len;
	for (size_t i = start; i < b->len; i++)
		if (b->data[i] == ';')
			b->data[i] = ':';
}

void frame_text_add(struct buf *b, const struct named_profile *np, const struct named_line *line, bool annotate,
		    bool lines)
{
	const char *name = named_string(np, np->functions[line->function].name);

	add_clean(b, *name ? name : "[unknown]");
	if (lines && line->line > 0 && has_line(line))
		buf_printf(b, ":%d", line->line);
	/* Names in brackets ([kernel], [unknown]) are not functions and have no tier. */
	if (annotate && *name && *name != '[')
		buf_add_z(b, frame_text_suffix(line));
}
