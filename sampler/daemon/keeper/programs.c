#include "sampler/daemon/keeper/programs.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/store/day/target_id.h"
#include "symbolizer/base/hash.h"
#include "symbolizer/base/map.h"

enum { PROCESSES_MAX = 4096 };

struct process_key {
	uint64_t pid, start_ticks;
};

struct process {
	struct process_key key;
	uint64_t program; /* hash of its name */
	uint64_t start; /* of that program */
	UT_hash_handle hh;
};

struct programs {
	struct process *by_key; /* in the order in which they were last asked for */
};

struct programs *programs_new(void)
{
	return calloc(1, sizeof(struct programs));
}

static void forget(struct programs *p, struct process *one)
{
	HASH_DEL(p->by_key, one);
	free(one);
}

void programs_free(struct programs *p)
{
	while (p && p->by_key)
		forget(p, p->by_key);
	free(p);
}

static const char *name_of(const struct store_target *t)
{
	for (size_t i = 0; i < t->n_labels; i++)
		if (strcmp(t->labels[i].key, "main") == 0)
			return t->labels[i].value;
	return "";
}

/* NULL: out of memory. */
static struct process *add(struct programs *p, const struct process_key *key)
{
	struct process *one = calloc(1, sizeof(*one));

	if (!one)
		return NULL;
	if (HASH_COUNT(p->by_key) >= PROCESSES_MAX)
		forget(p, p->by_key);
	one->key = *key;
	one->start = key->start_ticks;
	HASH_ADD(hh, p->by_key, key, sizeof(one->key), one);
	if (one->hh.tbl)
		return one;
	free(one);
	return NULL;
}

static struct process *find(struct programs *p, const struct process_key *key)
{
	struct process *one;

	HASH_FIND(hh, p->by_key, key, sizeof(*key), one);
	if (!one)
		return add(p, key);
	HASH_DEL(p->by_key, one);
	HASH_ADD(hh, p->by_key, key, sizeof(one->key), one);
	if (one->hh.tbl)
		return one;
	free(one);
	return NULL;
}

uint64_t programs_start(struct programs *p, const struct store_target *t)
{
	const struct process_key key = {.pid = (uint64_t)t->pid, .start_ticks = t->start_ticks};
	const char *name = name_of(t);
	uint64_t program = hash_bytes_secret(name, strlen(name));
	struct process *one = find(p, &key);

	if (!one)
		return t->start_ticks;
	if (one->program && one->program != program)
		one->start = target_id_later_start(t->since_ns);
	one->program = program;
	return one->start;
}
