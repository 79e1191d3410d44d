#include <errno.h>

#include "sampler/model/named_profile.h"
#include "sampler/output/share.h"
#include "sampler/views/call_tree.h"
#include "sampler/views/frames.h"
#include "sampler/views/name_pattern.h"
#include "sampler/views/view.h"
#include "sampler/views/view_head.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"

/* Limit in bytes of the lines that lead to a frame: stacks can have 65,536 frames. */
enum { MAX_LEAD = 300 };

static const struct table_column columns[] = {
	{"depth", NULL, 0, 0},   {"total", "total", 10, 0},        {"total_percent", "total %", 7, 2},
	{"self", "self", 10, 0}, {"self_percent", "self %", 7, 2}, {"method", " method", 0, 0},
};

/* Callers have no self time here: no stack ends in one. */
static const struct table_column caller_columns[] = {
	{"depth", NULL, 0, 0}, {"total", "total", 10, 0}, {"total_percent", "total %", 7, 2},
	{NULL, NULL, 0, 0},    {NULL, NULL, 0, 0},        {"method", " method", 0, 0},
};

/* State of a walk over the part of a tree that is shown. */
struct shown {
	const struct named_profile *np;
	const struct call_tree *tree;
	struct table t;
	uint64_t least, all; /* samples; all: of the profile */
	uint64_t rows, more; /* rows left to print; rows left out */
	struct buf lead;
	VEC(size_t) lead_len; /* by depth: prefix of the lines of its children */
	const char *root; /* the method at the root; NULL: none */
};

static uint32_t next_shown(const struct shown *s, uint32_t node)
{
	while (node && s->tree->nodes.v[node].total < s->least)
		node = s->tree->nodes.v[node].next;
	return node;
}

/* Lines fork if a frame has several visible children; an only child is below an arrow, without more indentation. */
static void put_lead(struct shown *s, uint32_t id, struct buf *text)
{
	const struct call_node *nodes = s->tree->nodes.v, *n = &nodes[id];
	size_t len = n->depth ? s->lead_len.v[n->depth - 1] : 0;
	uint32_t first = n->depth ? next_shown(s, nodes[n->parent].first_child) : id;
	bool last = !next_shown(s, n->next), fork = first != id || !last;

	s->lead.len = len;
	buf_add(text, s->lead.data, len);
	if (n->depth && fork && !(n->depth == 1 && !s->root)) {
		buf_add_z(text, last ? "└ " : "├ ");
		if (len < MAX_LEAD)
			buf_add_z(&s->lead, last ? "  " : "│ ");
	} else if (n->depth > 1 || (n->depth && s->root)) {
		buf_add_z(text, "↓ ");
	}
	s->lead_len.v[n->depth] = s->lead.len;
}

static void put_node(struct shown *s, uint32_t id)
{
	const struct call_node *n = &s->tree->nodes.v[id];
	const char *name = id ? frame_name_text(s->np, n->name) : s->root;
	struct buf text = {0};

	if (s->t.format == TABLE_TEXT)
		put_lead(s, id, &text);
	buf_add_z(&text, name);
	table_count(&s->t, n->depth);
	table_count(&s->t, n->total);
	table_number(&s->t, share_percent(n->total, s->all));
	table_count(&s->t, n->self);
	table_number(&s->t, share_percent(n->self, s->all));
	table_text(&s->t, text.failed ? "?" : text.data);
	buf_done(&text);
}

static int walk(struct shown *s)
{
	const struct call_node *nodes = s->tree->nodes.v;
	uint32_t at = next_shown(s, nodes[0].first_child);

	if (!vec_reach(&s->lead_len, 1, 0))
		return -ENOMEM;
	if (s->root)
		put_node(s, 0);
	while (at) {
		if (!vec_reach(&s->lead_len, nodes[at].depth + 1, 0))
			return -ENOMEM;
		if (s->rows) {
			put_node(s, at);
			s->rows--;
		} else {
			s->more++;
		}
		if (next_shown(s, nodes[at].first_child)) {
			at = next_shown(s, nodes[at].first_child);
			continue;
		}
		while (at && !next_shown(s, nodes[at].next))
			at = nodes[at].parent;
		at = at ? next_shown(s, nodes[at].next) : 0;
	}
	return 0;
}

static int print(struct shown *s, const struct view_options *o, const char *view, bool callers, FILE *out,
		 struct err *err)
{
	struct json json = {.out = out};
	int r;

	s->all = view_sum(s->np).samples;
	s->rows = o->rows ? o->rows : UINT64_MAX;
	s->least = (uint64_t)(o->least / 100 * (double)s->all);
	s->least += !s->least;
	buf_add_z(&s->lead, "");
	view_head(s->np, view, o->format, &json);
	table_begin(&s->t, &json, o->format, o->width, callers ? caller_columns : columns,
		    sizeof(columns) / sizeof(columns[0]));
	r = walk(s);
	table_end(&s->t);
	if (s->more && o->format == TABLE_TEXT)
		fprintf(out, "and %llu more lines (-n 0 shows all)\n", (unsigned long long)s->more);
	if (s->tree->skipped)
		fputs("\nStacks begin at the first Java method; -f json has what starts the threads, too.\n", out);
	view_foot(o->format, &json);
	buf_done(&s->lead);
	vec_done(&s->lead_len);
	return r < 0 ? err_set(err, r, "out of memory") : 0;
}

int view_tree(const struct named_profile *np, const struct view_options *o, FILE *out, struct err *err)
{
	CLEANUP(call_tree_done) struct call_tree tree = {0};
	struct shown s = {.np = np, .tree = &tree};
	int r = call_tree_build(&tree, np, NULL, false, o->format == TABLE_TEXT);

	if (r < 0)
		return err_set(err, r, "out of memory");
	return print(&s, o, "tree", false, out, err);
}

static int around(const struct named_profile *np, const struct view_options *o, bool callers, FILE *out,
		  struct err *err)
{
	CLEANUP(call_tree_done) struct call_tree tree = {0};
	CLEANUP(free_at_exit) uint8_t *ids = NULL;
	struct shown s = {.np = np, .tree = &tree};
	uint32_t matches, one;
	char several[80];
	int r;

	r = name_pattern_method(o->method, np, &ids, &matches, &one, err);
	if (r < 0)
		return r;
	r = call_tree_build(&tree, np, ids, callers, callers && o->format == TABLE_TEXT);
	if (r < 0)
		return err_set(err, r, "out of memory");
	snprintf(several, sizeof(several), "(%u methods: %.40s)", matches, o->method);
	s.root = matches == 1 ? frame_name_text(np, one) : several;
	return print(&s, o, callers ? "callers" : "callees", callers, out, err);
}

int view_callers(const struct named_profile *np, const struct view_options *o, FILE *out, struct err *err)
{
	return around(np, o, true, out, err);
}

int view_callees(const struct named_profile *np, const struct view_options *o, FILE *out, struct err *err)
{
	return around(np, o, false, out, err);
}
