#include "symbolizer/base/strtab.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/base/arena.h"
#include "symbolizer/base/hash.h"
#include "symbolizer/base/slots.h"
#include "symbolizer/base/vec.h"

struct strtab {
	struct arena texts;
	VEC(const char *) by_id;
	struct slots ids; /* without the empty string */
};

struct strtab *strtab_new(void)
{
	struct strtab *t = calloc(1, sizeof(*t));

	if (t && vec_push(&t->by_id, ""))
		return t;
	free(t);
	return NULL;
}

void strtab_free(struct strtab *t)
{
	if (!t)
		return;
	arena_done(&t->texts);
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

static uint32_t find(const struct strtab *t, const struct wanted_text *w, uint64_t hash)
{
	return w->len ? slots_find(&t->ids, hash, text_is, t, w) : 0;
}

static struct wanted_text wanted(const char *s, size_t len)
{
	return (struct wanted_text){s, len ? strnlen(s, len) : 0};
}

uint32_t strtab_find(const struct strtab *t, const char *s, size_t len)
{
	struct wanted_text w = wanted(s, len);

	return find(t, &w, hash_bytes_secret(s, w.len));
}

uint32_t strtab_add(struct strtab *t, const char *s, size_t len)
{
	struct wanted_text w = wanted(s, len);
	uint64_t hash = hash_bytes_secret(s, w.len);
	uint32_t id = find(t, &w, hash);
	char *copy;

	if (id != SLOTS_NONE)
		return id;
	copy = t->by_id.n < UINT32_MAX ? arena_strndup(&t->texts, s, w.len) : NULL;
	return copy && slots_push(&t->ids, hash, &t->by_id, copy) ? (uint32_t)t->by_id.n - 1 : UINT32_MAX;
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
	return sizeof(*t) + t->texts.bytes + t->by_id.cap * sizeof(*t->by_id.v) + slots_bytes(&t->ids);
}
