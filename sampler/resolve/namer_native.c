#include <stdio.h>
#include <string.h>

#include "sampler/resolve/namer_text.h"
#include "symbolizer/attribution/exactness.h"
#include "symbolizer/base/budget.h"
#include "symbolizer/native/dso.h"
#include "symbolizer/native/modules/modmap.h"
#include "symbolizer/native/names/demangle.h"
#include "symbolizer/native/names/demangled.h"
#include "symbolizer/native/names/kallsyms.h"
#include "symbolizer/native/names/perfmap.h"

enum {
	NAME_SIZE = 4096, /* longer C++ names are cut */
	MAX_INLINED = 32,
	BUILD_ID_MAX = 64, /* bytes; usually 20 */
};

#define PLT "@plt"

struct named_frame namer_plain(struct namer *n, const char *name, enum named_kind kind, const char *mapping)
{
	struct named_line line = {.bci = -1, .kind = kind};
	uint32_t m = mapping && *mapping ? named_builder_mapping(n->b, mapping, "") : 0;

	line.function = named_builder_function(n->b, name, "", "");
	return (struct named_frame){named_builder_location(n->b, m, 0, &line, 1), EXACTNESS_COUNT};
}

struct named_frame namer_unknown(struct namer *n)
{
	return namer_plain(n, "[unknown]", NAMED_UNKNOWN, NULL);
}

static uint32_t mapping_new(struct namer *n, uint32_t dso_id, const struct dso *dso)
{
	char hex[2 * BUILD_ID_MAX + 1] = "";
	size_t len = 0;
	const uint8_t *id = dso ? dso_build_id(dso, &len) : NULL;

	for (size_t i = 0; id && i < len && i < BUILD_ID_MAX; i++)
		snprintf(hex + 2 * i, 3, "%02x", id[i]);
	return named_builder_mapping(n->b, modmap_dso_path(n->s->maps, dso_id), hex);
}

static uint32_t mapping_of(struct namer *n, uint32_t dso_id, const struct dso *dso)
{
	if (dso_id >= n->n_mappings)
		return mapping_new(n, dso_id, dso);
	if (n->mappings[dso_id] == UINT32_MAX)
		n->mappings[dso_id] = mapping_new(n, dso_id, dso);
	return n->mappings[dso_id];
}

void namer_program(struct namer *n)
{
	const char *program = n->s->program;

	if (!program || !*program || !n->s->maps)
		return;
	for (uint32_t id = 1; id <= modmap_dso_count(n->s->maps); id++)
		if (strcmp(modmap_dso_path(n->s->maps, id), program) == 0) {
			mapping_of(n, id, modmap_dso(n->s->maps, id));
			return;
		}
	named_builder_mapping(n->b, program, "");
}

/* "[libfoo.so]" if the DSO has no symbol there; the name of [vdso] already has brackets. */
static void dso_text(const char *path, char *dst, size_t size)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	if (!*name)
		snprintf(dst, size, "[unknown]");
	else
		snprintf(dst, size, *name == '[' ? "%s" : "[%s]", name);
}

/*
 * The function that a stub of the procedure linkage table calls, marked as such: "operator
 * new@plt".
 */
static void demangle_stub(const char *mangled, size_t len, char *dst, size_t size)
{
	char target[NAME_SIZE];

	snprintf(target, sizeof(target), "%.*s", (int)len, mangled);
	demangle(target, dst, size);
	len = strlen(dst);
	snprintf(dst + len, size - len, "%s", PLT);
}

static void make_readable(const char *mangled, char *dst, size_t size)
{
	size_t len = strlen(mangled);

	if (len > strlen(PLT) && strcmp(mangled + len - strlen(PLT), PLT) == 0)
		demangle_stub(mangled, len - strlen(PLT), dst, size);
	else
		demangle(mangled, dst, size);
}

/* false: there was no time for it. */
static bool demangle_within_budget(struct budget *files, const char *mangled, char *dst, size_t size)
{
	bool late;

	budget_begin(files);
	late = budget_poll(files);
	if (late) {
		snprintf(dst, size, "%s", mangled);
		budget_refuse(files, 0, "demangled names, for lack of time");
	} else {
		make_readable(mangled, dst, size);
	}
	budget_end(files);
	return !late;
}

/* In `dst`, or one that was made before. */
static const char *readable(struct namer *n, const char *mangled, char *dst, size_t size)
{
	struct demangled *before = n->s->demangled;
	const char *known = before ? demangled_find(before, mangled) : NULL;

	if (known)
		return known;
	if (demangle_within_budget(n->s->files, mangled, dst, size) && before)
		demangled_add(before, mangled, dst);
	return dst;
}

static uint32_t native_function(struct namer *n, const char *mangled, const char *file)
{
	char name[NAME_SIZE];

	if (is_mangled(mangled))
		return namer_function(n, readable(n, mangled, name, sizeof(name)), mangled, file);
	/* Other names are readable as they are, in less time than the clock of the budget takes. */
	make_readable(mangled, name, sizeof(name));
	return namer_function(n, name, mangled, file);
}

/* Inlined functions from DWARF, innermost first; the last one is the symbol itself. */
static uint32_t native_lines(struct namer *n, struct dso *dso, uint64_t vaddr, const char *symbol,
			     struct named_line *ret)
{
	struct dso_line at[MAX_INLINED];
	size_t count = n->o->show.lines ? dso_find_lines(dso, vaddr, at, MAX_INLINED) : 0;

	for (size_t i = 0; i < count; i++) {
		const char *function = i + 1 < count || !symbol ? at[i].function : symbol;

		if (!function)
			function = symbol ? symbol : "[unknown]";
		ret[i] = (struct named_line){
			.function = native_function(n, function, at[i].file),
			.line = at[i].line,
			.bci = -1,
			.kind = NAMED_NATIVE,
		};
	}
	return count;
}

struct named_frame namer_module(struct namer *n, const struct frame_key *key)
{
	struct named_line line = {.bci = -1, .kind = NAMED_NATIVE};
	char text[NAME_SIZE];

	if (!n->s->maps || !key->id || key->id > modmap_dso_count(n->s->maps))
		return namer_unknown(n);
	dso_text(modmap_dso_path(n->s->maps, key->id), text, sizeof(text));
	line.function = namer_function(n, text, "", "");
	return (struct named_frame){named_builder_location(n->b,
							   mapping_of(n, key->id, modmap_dso(n->s->maps, key->id)),
							   namer_lookup_pc(key), &line, 1),
				    EXACTNESS_COUNT};
}

struct named_frame namer_native(struct namer *n, const struct frame_key *key)
{
	struct named_line lines[MAX_INLINED];
	uint64_t vaddr = namer_lookup_pc(key);
	struct dso *dso = n->s->maps ? modmap_dso(n->s->maps, key->id) : NULL;
	struct dso_symbol symbol = {0};
	bool found = dso && dso_find_symbol(dso, vaddr, &symbol) == 0;
	char text[NAME_SIZE];
	uint32_t count, mapping;

	if (!n->s->maps || !key->id || key->id > modmap_dso_count(n->s->maps))
		return namer_unknown(n);
	mapping = mapping_of(n, key->id, dso);
	count = dso ? native_lines(n, dso, vaddr, found ? symbol.name : NULL, lines) : 0;
	if (!count) {
		dso_text(modmap_dso_path(n->s->maps, key->id), text, sizeof(text));
		lines[0] = (struct named_line){.bci = -1, .kind = NAMED_NATIVE};
		lines[0].function = found ? native_function(n, symbol.name, "") : namer_function(n, text, "", "");
		count = 1;
	}
	return (struct named_frame){named_builder_location(n->b, mapping, vaddr, lines, count), EXACTNESS_COUNT};
}

struct named_frame namer_kernel(struct namer *n, const struct frame_key *key)
{
	const char *name = n->s->kernel ? kallsyms_find(n->s->kernel, namer_lookup_pc(key)) : NULL;

	return namer_plain(n, name ? name : "[kernel]", NAMED_KERNEL, "[kernel]");
}

struct named_frame namer_anon(struct namer *n, const struct frame_key *key)
{
	const char *name = n->s->perfmap ? perfmap_find(n->s->perfmap, namer_lookup_pc(key)) : NULL;

	return name ? namer_plain(n, name, NAMED_NATIVE, "[jit]") : namer_unknown(n);
}
