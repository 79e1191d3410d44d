#include "sampler/session/parts/virtual_names.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/readers/readers.h"
#include "sampler/resolve/resolver.h"
#include "symbolizer/base/map.h"
#include "symbolizer/hotspot/objects/hs_virtual.h"

struct virtual_name {
	uint32_t id;
	char *text;
	UT_hash_handle hh;
};

struct virtual_names {
	struct virtual_name *by_text;
	const char *texts[VIRTUAL_NAMES_MAX + 1]; /* by id; 0: all other names */
	uint32_t n;
};

struct virtual_names *virtual_names_new(void)
{
	return calloc(1, sizeof(struct virtual_names));
}

static struct virtual_name *name_new(const char *text)
{
	struct virtual_name *n = calloc(1, sizeof(*n));

	if (n && !(n->text = strdup(text))) {
		free(n);
		return NULL;
	}
	return n;
}

/* 0: too many names, or out of memory. */
static uint32_t find(struct virtual_names *v, const char *text)
{
	struct virtual_name *n;

	HASH_FIND_STR(v->by_text, text, n);
	if (n)
		return n->id;
	if (v->n == VIRTUAL_NAMES_MAX || !(n = name_new(text)))
		return 0;
	HASH_ADD_KEYPTR(hh, v->by_text, n->text, strlen(n->text), n);
	if (!n->hh.tbl) {
		free(n->text);
		free(n);
		return 0;
	}
	n->id = ++v->n;
	v->texts[n->id] = n->text;
	return n->id;
}

/* Adds the root if a virtual thread was mounted and its name can be read. */
static void walked(void *part, struct sampled *s)
{
	struct hotspot *hs = s->readers->hs;
	struct walk *w = s->walk;
	char name[3 * 4096 + 1]; /* 4,096 characters of UTF-8 */

	if (w->continuation && hs && hs_virtual_thread_name(hs, w->continuation, name, sizeof(name)))
		unwinder_add_root(s->readers->unwinder, w, MARK_VIRTUAL, find(part, name));
}

/* "": one of the names that are not kept. */
static const char *name_of(void *part, uint32_t id)
{
	const struct virtual_names *v = part;

	return id <= v->n && v->texts[id] ? v->texts[id] : "";
}

static void name(void *part, const struct profile *p, struct resolver_sources *sources)
{
	(void)p;
	sources->virtual_name = name_of;
	sources->virtual_ctx = part;
}

static void close_part(void *part)
{
	struct virtual_names *v = part;
	struct virtual_name *n, *next;

	HASH_ITER(hh, v->by_text, n, next)
	{
		HASH_DEL(v->by_text, n);
		free(n->text);
		free(n);
	}
	free(v);
}

const struct part_ops virtual_names_part = {
	.walked = walked,
	.name = name,
	.close = close_part,
};
