#include "symbolizer/base/strtab.h"

#include <stdlib.h>
#include <string.h>

#include "symbolizer/base/arena.h"
#include "symbolizer/base/hash.h"
#include "symbolizer/base/slots.h"
#include "symbolizer/base/vec.h"

struct texts {
	struct arena arena;
	unsigned holders; /* tables */
};

struct strtab {
	struct texts *texts;
	VEC(struct texts *) borrowed; /* of other tables, each once */
	VEC(const char *) by_id;
	struct slots ids; /* without the empty string */
};

static void texts_drop(struct texts *x)
{
	if (!x || --x->holders)
		return;
	arena_done(&x->arena);
	free(x);
}

static bool init(struct strtab *t)
{
	t->texts = calloc(1, sizeof(*t->texts));
	if (!t->texts)
		return false;
	t->texts->holders = 1;
	return vec_push(&t->by_id, "");
}

struct strtab *strtab_new(void)
{
	struct strtab *t = calloc(1, sizeof(*t));

	if (t && init(t))
		return t;
	strtab_free(t);
	return NULL;
}

void strtab_free(struct strtab *t)
{
	if (!t)
		return;
	texts_drop(t->texts);
	for (size_t i = 0; i < t->borrowed.n; i++)
		texts_drop(t->borrowed.v[i]);
	vec_done(&t->borrowed);
	vec_done(&t->by_id);
	slots_done(&t->ids);
	free(t);
}

struct wanted_text {
	const char *s;
	size_t len;
};

static bool text_is(const void *ctx, const void *wanted, uint32_t id)
{
	const struct wanted_text *w = wanted;
	const char *text = ((const struct strtab *)ctx)->by_id.v[id];

	return strncmp(text, w->s, w->len) == 0 && text[w->len] == '\0';
}

bool strtab_ready(struct strtab *t)
{
	uint32_t n = (uint32_t)t->by_id.n;

	if (t->ids.n == n - 1)
		return true;
	slots_done(&t->ids);
	if (!slots_reserve(&t->ids, n - 1))
		return false;
	for (uint32_t id = 1; id < n; id++)
		slots_add(&t->ids, hash_bytes_secret(t->by_id.v[id], strlen(t->by_id.v[id])), id);
	return true;
}

void strtab_rest(struct strtab *t)
{
	slots_done(&t->ids);
}

static uint32_t find(struct strtab *t, const struct wanted_text *w, uint64_t hash)
{
	if (!w->len)
		return 0;
	return strtab_ready(t) ? slots_find(&t->ids, hash, text_is, t, w) : SLOTS_NONE;
}

static struct wanted_text wanted(const char *s, size_t len)
{
	return (struct wanted_text){s, len ? strnlen(s, len) : 0};
}

uint32_t strtab_find(struct strtab *t, const char *s, size_t len)
{
	struct wanted_text w = wanted(s, len);

	return find(t, &w, hash_bytes_secret(s, w.len));
}

static uint32_t put(struct strtab *t, const char *text, uint64_t hash)
{
	if (t->ids.n != t->by_id.n - 1) /* find() had no memory for the index, so the text may be there */
		return UINT32_MAX;
	return slots_push(&t->ids, hash, &t->by_id, text) ? (uint32_t)t->by_id.n - 1 : UINT32_MAX;
}

uint32_t strtab_add(struct strtab *t, const char *s, size_t len)
{
	struct wanted_text w = wanted(s, len);
	uint64_t hash = hash_bytes_secret(s, w.len);
	uint32_t id = find(t, &w, hash);
	char *copy;

	if (id != SLOTS_NONE)
		return id;
	copy = t->by_id.n < UINT32_MAX ? arena_strndup(&t->texts->arena, s, w.len) : NULL;
	return copy ? put(t, copy, hash) : UINT32_MAX;
}

static bool hold(struct strtab *t, struct texts *x)
{
	if (x == t->texts)
		return true;
	for (size_t i = 0; i < t->borrowed.n; i++)
		if (t->borrowed.v[i] == x)
			return true;
	if (t->borrowed.n == STRTAB_LENDERS || !vec_push(&t->borrowed, x))
		return false;
	x->holders++;
	return true;
}

/* Its own, and what it has borrowed in turn. */
static bool hold_all_of(struct strtab *t, const struct strtab *lender)
{
	bool ok = hold(t, lender->texts);

	for (size_t i = 0; ok && i < lender->borrowed.n; i++)
		ok = hold(t, lender->borrowed.v[i]);
	return ok;
}

uint32_t strtab_borrow(struct strtab *t, struct strtab *lender, uint32_t id)
{
	const char *text = strtab_get(lender, id);
	struct wanted_text w = {text, strlen(text)};
	uint64_t hash = hash_bytes_secret(text, w.len);
	uint32_t known = find(t, &w, hash);

	if (known != SLOTS_NONE)
		return known;
	if (!hold_all_of(t, lender))
		return strtab_add(t, text, w.len);
	return t->by_id.n < UINT32_MAX ? put(t, text, hash) : UINT32_MAX;
}

uint32_t strtab_add_z(struct strtab *t, const char *s)
{
	return strtab_add(t, s, strlen(s));
}

const char *strtab_get(const struct strtab *t, uint32_t id)
{
	return id < t->by_id.n ? t->by_id.v[id] : "";
}

uint32_t strtab_count(const struct strtab *t)
{
	return (uint32_t)t->by_id.n;
}

size_t strtab_bytes(const struct strtab *t)
{
	return sizeof(*t) + sizeof(*t->texts) + t->texts->arena.bytes + t->borrowed.cap * sizeof(*t->borrowed.v) +
	       t->by_id.cap * sizeof(*t->by_id.v) + slots_bytes(&t->ids);
}
