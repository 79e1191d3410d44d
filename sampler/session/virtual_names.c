#include "sampler/session/virtual_names.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/model/walk.h"
#include "sampler/unwind/unwinder.h"
#include "symbolizer/base/map.h"
#include "symbolizer/hotspot/objects/hs_virtual.h"

struct name {
	uint32_t id;
	char *text;
	UT_hash_handle hh;
};

struct virtual_names {
	struct name *by_text;
	const char *texts[VIRTUAL_NAMES_MAX + 1]; /* by id; 0: the others */
	uint32_t n;
};

struct virtual_names *virtual_names_new(void)
{
	return calloc(1, sizeof(struct virtual_names));
}

void virtual_names_free(struct virtual_names *v)
{
	struct name *n, *next;

	if (!v)
		return;
	HASH_ITER(hh, v->by_text, n, next) {
		HASH_DEL(v->by_text, n);
		free(n->text);
		free(n);
	}
	free(v);
}

static struct name *name_new(const char *text)
{
	struct name *n = calloc(1, sizeof(*n));

	if (n && !(n->text = strdup(text))) {
		free(n);
		return NULL;
	}
	return n;
}

/* 0: there are too many, or memory is short. */
static uint32_t find(struct virtual_names *v, const char *text)
{
	struct name *n;

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

void virtual_names_add(struct virtual_names *v, struct hotspot *hs, struct unwinder *u, struct walk *w)
{
	char name[3 * 4096 + 1]; /* 4,096 characters of UTF-8 */

	if (w->continuation && hs && hs_virtual_thread_name(hs, w->continuation, name, sizeof(name)))
		unwinder_add_root(u, w, MARK_VIRTUAL, find(v, name));
}

const char *virtual_names_get(void *ctx, uint32_t id)
{
	const struct virtual_names *v = ctx;

	return id <= v->n && v->texts[id] ? v->texts[id] : "";
}
