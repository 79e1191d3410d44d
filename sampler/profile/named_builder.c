#include "sampler/profile/named_builder.h"

#include <stdlib.h>
#include <string.h>

#include "symbolizer/base/hash.h"
#include "symbolizer/base/slots.h"

/*
 * The arrays of the profile grow in place. Each kind of item has a hash index that lives until
 * named_builder_take(). Index 0 of functions, locations and mappings means "none" and is never
 * found by a lookup.
 */
struct named_builder {
	struct named_profile *np;
	uint32_t cap_functions, cap_lines, cap_locations, cap_mappings, cap_stack_locations, cap_stacks, cap_samples;
	struct slots functions, locations, mappings, stacks, samples;
	uint64_t seed; /* of hashes: the target controls what is hashed */
	bool failed; /* out of memory; stays set */
};

struct wanted_location {
	uint32_t mapping;
	uint64_t address;
	const struct named_line *lines;
	uint32_t n;
};

struct wanted_stack {
	const uint32_t *locations;
	uint32_t n;
};

/* Makes room for `more` elements after n. */
static bool room(void *vp, uint32_t n, uint32_t *cap, uint32_t more, size_t size)
{
	void **v = vp, *p;
	uint64_t want = (uint64_t)*cap + *cap / 2;

	if (more <= *cap - n)
		return true;
	if (want < (uint64_t)n + more)
		want = (uint64_t)n + more + 64;
	if (want >= UINT32_MAX || !(p = realloc(*v, want * size)))
		return false;
	*v = p;
	*cap = want;
	return true;
}

static uint32_t fail(struct named_builder *b)
{
	b->failed = true;
	return UINT32_MAX;
}

static void add_none(struct named_builder *b)
{
	struct named_profile *np = b->np;

	if (!room(&np->functions, 0, &b->cap_functions, 1, sizeof(*np->functions)) ||
	    !room(&np->locations, 0, &b->cap_locations, 1, sizeof(*np->locations)) ||
	    !room(&np->mappings, 0, &b->cap_mappings, 1, sizeof(*np->mappings))) {
		fail(b);
		return;
	}
	np->functions[np->n_functions++] = (struct named_function){0};
	np->locations[np->n_locations++] = (struct named_location){0};
	np->mappings[np->n_mappings++] = (struct named_mapping){0};
}

struct named_builder *named_builder_new(void)
{
	struct named_builder *b = calloc(1, sizeof(*b));
	struct named_meta *m;

	if (!b)
		return NULL;
	b->seed = hash_secret();
	b->np = calloc(1, sizeof(*b->np));
	if (b->np)
		b->np->strings = strtab_new();
	if (b->np && b->np->strings)
		add_none(b);
	if (!b->np || !b->np->strings || b->failed) {
		named_builder_free(b);
		return NULL;
	}
	m = &b->np->meta;
	m->event = m->unit = m->command = m->jdk = m->jsampler = named_string(b->np, 0);
	return b;
}

void named_builder_free(struct named_builder *b)
{
	if (!b)
		return;
	slots_done(&b->functions);
	slots_done(&b->locations);
	slots_done(&b->mappings);
	slots_done(&b->stacks);
	slots_done(&b->samples);
	named_profile_free(b->np);
	free(b);
}

void named_profile_free(struct named_profile *np)
{
	if (!np)
		return;
	strtab_free(np->strings);
	free(np->functions);
	free(np->lines);
	free(np->locations);
	free(np->mappings);
	free(np->stack_locations);
	free(np->stacks);
	free(np->samples);
	free(np);
}

uint32_t named_builder_string(struct named_builder *b, const char *s)
{
	uint32_t id = strtab_add_z(b->np->strings, s ? s : "");

	return id == UINT32_MAX ? fail(b) : id;
}

const char *named_builder_text(const struct named_builder *b, uint32_t string)
{
	return named_string(b->np, string);
}

const char *named_builder_keep(struct named_builder *b, const char *s)
{
	uint32_t id = named_builder_string(b, s);

	return named_string(b->np, id == UINT32_MAX ? 0 : id);
}

static bool function_is(const void *ctx, const void *wanted, uint32_t position)
{
	const struct named_profile *np = ctx;
	const struct named_function *w = wanted, *f = &np->functions[position];

	return f->name == w->name && f->system_name == w->system_name && f->file == w->file;
}

uint32_t named_builder_function(struct named_builder *b, const char *name, const char *system_name, const char *file)
{
	struct named_profile *np = b->np;
	struct named_function f = {.name = named_builder_string(b, name),
				   .system_name = named_builder_string(b, system_name),
				   .file = named_builder_string(b, file)};
	uint64_t hash = hash_mix(hash_u64((uint64_t)f.name << 32 | f.system_name), f.file);
	uint32_t i = slots_find(&b->functions, hash, function_is, np, &f);

	if (b->failed || i != SLOTS_NONE)
		return b->failed ? UINT32_MAX : i;
	if (!room(&np->functions, np->n_functions, &b->cap_functions, 1, sizeof(f)) ||
	    !slots_add(&b->functions, hash, np->n_functions))
		return fail(b);
	np->functions[np->n_functions] = f;
	return np->n_functions++;
}

void named_builder_compile(struct named_builder *b, uint32_t function, const struct named_compile *c)
{
	struct named_compile *to;
	uint32_t not_entrant;

	if (!function || function >= b->np->n_functions || c->why_interpreted >= strtab_count(b->np->strings))
		return;
	to = &b->np->functions[function].compile;
	not_entrant = to->not_entrant > c->not_entrant ? to->not_entrant : c->not_entrant;
	named_compile_add(to, c);
	to->not_entrant = not_entrant;
}

static bool mapping_is(const void *ctx, const void *wanted, uint32_t position)
{
	const struct named_profile *np = ctx;

	return !memcmp(&np->mappings[position], wanted, sizeof(struct named_mapping));
}

uint32_t named_builder_mapping(struct named_builder *b, const char *file, const char *build_id)
{
	struct named_profile *np = b->np;
	struct named_mapping m = {named_builder_string(b, file), named_builder_string(b, build_id)};
	uint64_t hash = hash_u64((uint64_t)m.file << 32 | m.build_id);
	uint32_t i = slots_find(&b->mappings, hash, mapping_is, np, &m);

	if (b->failed || i != SLOTS_NONE)
		return b->failed ? UINT32_MAX : i;
	if (!room(&np->mappings, np->n_mappings, &b->cap_mappings, 1, sizeof(m)) ||
	    !slots_add(&b->mappings, hash, np->n_mappings))
		return fail(b);
	np->mappings[np->n_mappings] = m;
	return np->n_mappings++;
}

static bool line_equal(const struct named_line *a, const struct named_line *b)
{
	return a->function == b->function && a->line == b->line && a->bci == b->bci && a->kind == b->kind &&
	       a->tier == b->tier && a->exactness == b->exactness && a->osr == b->osr;
}

static uint64_t line_hash(uint64_t h, const struct named_line *l)
{
	h = hash_mix(h, (uint64_t)l->function << 32 | (uint32_t)l->line);
	return hash_mix(h,
			(uint64_t)(uint32_t)l->bci << 32 | l->kind << 24 | l->tier << 16 | l->exactness << 8 | l->osr);
}

static bool location_is(const void *ctx, const void *wanted, uint32_t position)
{
	const struct named_profile *np = ctx;
	const struct wanted_location *w = wanted;
	const struct named_location *l = &np->locations[position];

	if (l->mapping != w->mapping || l->address != w->address || l->n_lines != w->n)
		return false;
	for (uint32_t i = 0; i < w->n; i++)
		if (!line_equal(&np->lines[l->first_line + i], &w->lines[i]))
			return false;
	return true;
}

static uint32_t location_add(struct named_builder *b, const struct wanted_location *w, uint64_t hash)
{
	struct named_profile *np = b->np;

	if (!room(&np->locations, np->n_locations, &b->cap_locations, 1, sizeof(*np->locations)) ||
	    !room(&np->lines, np->n_lines, &b->cap_lines, w->n, sizeof(*np->lines)) ||
	    !slots_add(&b->locations, hash, np->n_locations))
		return fail(b);
	if (w->n)
		memcpy(np->lines + np->n_lines, w->lines, w->n * sizeof(*w->lines));
	np->locations[np->n_locations] = (struct named_location){
		.mapping = w->mapping,
		.address = w->address,
		.first_line = np->n_lines,
		.n_lines = w->n,
	};
	np->n_lines += w->n;
	return np->n_locations++;
}

uint32_t named_builder_location(struct named_builder *b, uint32_t mapping, uint64_t address,
				const struct named_line *lines, uint32_t n)
{
	struct wanted_location w = {mapping, address, lines, n};
	uint64_t hash = hash_mix(b->seed ^ address, (uint64_t)mapping << 32 | n);
	uint32_t i;

	if (b->failed || mapping >= b->np->n_mappings)
		return UINT32_MAX;
	for (i = 0; i < n; i++) {
		if (lines[i].function >= b->np->n_functions)
			return UINT32_MAX;
		hash = line_hash(hash, &lines[i]);
	}
	i = slots_find(&b->locations, hash, location_is, b->np, &w);
	return i != SLOTS_NONE ? i : location_add(b, &w, hash);
}

uint32_t named_builder_lines(const struct named_builder *b, uint32_t location)
{
	return location < b->np->n_locations ? b->np->locations[location].n_lines : 0;
}

uint32_t named_builder_innermost(struct named_builder *b, uint32_t location, uint32_t n)
{
	const struct named_profile *np = b->np;
	struct named_line *lines;
	uint32_t cut;

	if (b->failed || location >= np->n_locations || n > np->locations[location].n_lines)
		return UINT32_MAX;
	lines = malloc((n + 1) * sizeof(*lines)); /* adding may move the others */
	if (!lines)
		return fail(b);
	memcpy(lines, np->lines + np->locations[location].first_line, n * sizeof(*lines));
	cut = named_builder_location(b, np->locations[location].mapping, np->locations[location].address, lines, n);
	free(lines);
	return cut;
}

static bool stack_is(const void *ctx, const void *wanted, uint32_t position)
{
	const struct named_profile *np = ctx;
	const struct wanted_stack *w = wanted;
	const struct named_stack *s = &np->stacks[position];

	return s->n == w->n &&
	       (!s->n || !memcmp(np->stack_locations + s->first, w->locations, s->n * sizeof(uint32_t)));
}

static uint64_t stack_hash(uint64_t seed, const struct wanted_stack *w)
{
	uint64_t hash = slots_hash(seed, w->locations, w->n / 2);

	return w->n & 1 ? hash_mix(hash, w->locations[w->n - 1]) : hash;
}

static uint32_t stack_add(struct named_builder *b, const struct wanted_stack *w, uint64_t hash)
{
	struct named_profile *np = b->np;

	if (!room(&np->stacks, np->n_stacks, &b->cap_stacks, 1, sizeof(*np->stacks)) ||
	    !room(&np->stack_locations, np->n_stack_locations, &b->cap_stack_locations, w->n, sizeof(uint32_t)) ||
	    !slots_add(&b->stacks, hash, np->n_stacks))
		return fail(b);
	if (w->n)
		memcpy(np->stack_locations + np->n_stack_locations, w->locations, w->n * sizeof(uint32_t));
	np->stacks[np->n_stacks] = (struct named_stack){np->n_stack_locations, w->n};
	np->n_stack_locations += w->n;
	return np->n_stacks++;
}

uint32_t named_builder_stack(struct named_builder *b, const uint32_t *locations, uint32_t n)
{
	struct wanted_stack w = {locations, n};
	uint64_t hash;
	uint32_t i;

	if (b->failed)
		return UINT32_MAX;
	for (i = 0; i < n; i++)
		if (locations[i] >= b->np->n_locations)
			return UINT32_MAX;
	hash = stack_hash(b->seed, &w);
	i = slots_find(&b->stacks, hash, stack_is, b->np, &w);
	return i != SLOTS_NONE ? i : stack_add(b, &w, hash);
}

static bool sample_is(const void *ctx, const void *wanted, uint32_t position)
{
	const struct named_profile *np = ctx;
	const struct named_sample *w = wanted, *s = &np->samples[position];

	return s->stack == w->stack && s->tid == w->tid && s->pid == w->pid && s->thread == w->thread &&
	       s->state == w->state && s->slice == w->slice;
}

static uint64_t sample_hash(const struct named_sample *s)
{
	uint64_t h = hash_u64((uint64_t)s->stack << 32 | s->thread);

	h = hash_mix(h, (uint64_t)(uint32_t)s->pid << 32 | (uint32_t)s->tid);
	return hash_mix(h, (uint64_t)s->slice << 32 | s->state);
}

uint32_t named_builder_sample(struct named_builder *b, const struct named_sample *s)
{
	struct named_profile *np = b->np;
	uint64_t hash = sample_hash(s);
	uint32_t i, strings = strtab_count(np->strings);

	if (b->failed || s->stack >= np->n_stacks || s->thread >= strings || s->state >= strings)
		return UINT32_MAX;
	i = slots_find(&b->samples, hash, sample_is, np, s);
	if (i != SLOTS_NONE) {
		np->samples[i].count += s->count;
		np->samples[i].weight += s->weight;
		return i;
	}
	if (!room(&np->samples, np->n_samples, &b->cap_samples, 1, sizeof(*s)) ||
	    !slots_add(&b->samples, hash, np->n_samples))
		return fail(b);
	np->samples[np->n_samples] = *s;
	return np->n_samples++;
}

size_t named_builder_bytes(const struct named_builder *b)
{
	const struct named_profile *np = b->np;

	return strtab_bytes(np->strings) + b->cap_functions * sizeof(*np->functions) +
	       b->cap_lines * sizeof(*np->lines) + b->cap_locations * sizeof(*np->locations) +
	       b->cap_mappings * sizeof(*np->mappings) + b->cap_stack_locations * sizeof(*np->stack_locations) +
	       b->cap_stacks * sizeof(*np->stacks) + b->cap_samples * sizeof(*np->samples) +
	       slots_bytes(&b->functions) + slots_bytes(&b->locations) + slots_bytes(&b->mappings) +
	       slots_bytes(&b->stacks) + slots_bytes(&b->samples);
}

struct named_meta *named_builder_meta(struct named_builder *b)
{
	return &b->np->meta;
}

struct named_profile *named_builder_take(struct named_builder *b)
{
	struct named_profile *np = b->np;
	bool failed = b->failed;

	b->np = NULL;
	named_builder_free(b);
	if (!failed)
		return np;
	named_profile_free(np);
	return NULL;
}
