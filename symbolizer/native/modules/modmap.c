#include "symbolizer/native/modules/modmap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/hash.h"
#include "symbolizer/base/sorted.h"
#include "symbolizer/native/dso.h"
#include "symbolizer/native/dso_record.h"
#include "symbolizer/native/lines_child.h"
#include "symbolizer/native/modules/modmap_priv.h"
#include "symbolizer/target/maps.h"

#define REFRESH_NS UINT64_C(1000000)
/* A starting program maps one library after the other and executes code of each at once. */
#define REFRESH_FREE_NS UINT64_C(20000000)
enum { REFRESH_SHARE = 20, MODULES_MAX = 1 << 16 };

/*
 * Nothing is mapped below USER_FIRST, and the kernel is above USER_LIMIT: such addresses are garbage, not new mappings.
 */
#define USER_FIRST UINT64_C(0x1000)
#define USER_LIMIT UINT64_C(0x800000000000)

int modmap_open(struct proc *proc, struct maps *maps, struct mem *mem, struct budget *b, struct modmap **ret,
		struct err *err)
{
	struct modmap *m = calloc(1, sizeof(*m));

	if (!m || (b && !(m->lines_child = lines_child_new(b)))) {
		free(m);
		return err_set(err, -ENOMEM, "module map: out of memory");
	}
	m->budget = b;
	m->free_ns = REFRESH_FREE_NS;
	m->proc = proc;
	m->maps = maps;
	m->mem = mem;
	*ret = m;
	return 0;
}

void modmap_close(struct modmap *m)
{
	if (!m)
		return;
	lines_child_free(m->lines_child);
	for (size_t i = 0; i < m->modules.n; i++) {
		module_close(m, m->modules.v[i]);
		free(m->modules.v[i]->path);
		free(m->modules.v[i]);
	}
	for (size_t i = 0; i < m->records.n; i++)
		dso_close(m->records.v[i]);
	vec_done(&m->modules);
	vec_done(&m->records);
	vec_done(&m->spans);
	slots_done(&m->by_file);
	free(m);
}

int modmap_add_record(struct modmap *m, const char *path, const struct dso_record *rec)
{
	struct dso *d;
	int r = dso_open_record(rec, path, &d);

	if (r < 0)
		return r;
	if (!vec_push(&m->records, d)) {
		dso_close(d);
		return -ENOMEM;
	}
	return 0;
}

void modmap_set_tap(struct modmap *m, const struct dso_tap *tap)
{
	m->tap = tap;
	for (size_t i = 0; i < m->modules.n; i++)
		if (m->modules.v[i]->dso)
			dso_set_tap(m->modules.v[i]->dso, tap);
}

void modmap_share(struct modmap *m, struct shared_dsos *shared)
{
	m->shared = shared;
}

static uint64_t module_hash(const struct mapping *map)
{
	uint64_t h = hash_bytes_secret(map->path, strlen(map->path));

	return hash_mix(hash_mix(h, map->inode), (uint64_t)map->dev_major << 32 | map->dev_minor);
}

static bool module_is(const void *ctx, const void *wanted, uint32_t position)
{
	const struct module *mod = ((const struct modmap *)ctx)->modules.v[position];
	const struct mapping *map = wanted;

	return mod->inode == map->inode && mod->dev_major == map->dev_major && mod->dev_minor == map->dev_minor &&
	       !strcmp(mod->path, map->path);
}

/* Returns its id; 0: out of memory. */
static uint32_t module_add(struct modmap *m, const struct mapping *map)
{
	struct module *mod = calloc(1, sizeof(*mod));

	if (mod)
		*mod = (struct module){map->inode, map->dev_major, map->dev_minor, strdup(map->path), .dso = NULL};
	if (mod && mod->path && slots_push(&m->by_file, module_hash(map), &m->modules, mod))
		return (uint32_t)m->modules.n;
	free(mod ? mod->path : NULL);
	free(mod);
	return 0;
}

/* Returns the id of a mapping's module; 0: anonymous, out of memory, or absurdly many modules. */
static uint32_t module_of(struct modmap *m, const struct mapping *map)
{
	uint32_t at;

	if (path_is_anonymous(map->path))
		return 0;
	at = slots_find(&m->by_file, module_hash(map), module_is, m, map);
	if (at != SLOTS_NONE)
		return at + 1;
	return m->modules.n < MODULES_MAX ? module_add(m, map) : 0;
}

static void rebuild(struct modmap *m)
{
	size_t n = maps_count(m->maps);

	m->generation = maps_generation(m->maps);
	m->built = true;
	m->last = 0;
	m->spans.n = 0;
	for (size_t i = 0; i < n; i++) {
		const struct mapping *map = maps_at(m->maps, i);
		struct span s = {map->start, map->end, map->offset, 0};

		if (!(map->flags & MAP_X))
			continue;
		s.module = module_of(m, map);
		if (!vec_push(&m->spans, s))
			return;
	}
}

static void follow_maps(struct modmap *m)
{
	if (!m->built || m->generation != maps_generation(m->maps))
		rebuild(m);
}

static const struct span *find_span(struct modmap *m, uint64_t addr)
{
	const struct span *v = m->spans.v;
	size_t i = m->last;

	if (i < m->spans.n && addr >= v[i].start && addr < v[i].end)
		return &v[i];
	i = first_above(v, m->spans.n, end, addr);
	if (i == m->spans.n || addr < v[i].start)
		return NULL;
	m->last = i;
	return &v[i];
}

/* true: the maps were read again and have changed. */
static bool refresh(struct modmap *m, uint64_t addr)
{
	uint64_t start, now;
	int r;

	if (!m->proc || addr < USER_FIRST || addr >= USER_LIMIT)
		return false;
	start = clock_monotonic_ns();
	if (start < m->next_refresh_ns)
		return false;
	r = maps_refresh(m->maps);
	now = clock_monotonic_ns();
	m->next_refresh_ns = now + (now - start) * (REFRESH_SHARE - 1);
	if (m->next_refresh_ns < start + REFRESH_NS)
		m->next_refresh_ns = start + REFRESH_NS;
	if (m->free_ns > now - start) {
		m->free_ns -= now - start;
		m->next_refresh_ns = now;
	}
	return r == 0 && m->generation != maps_generation(m->maps);
}

static struct module *module_get(const struct modmap *m, uint32_t id)
{
	return id && id <= m->modules.n ? m->modules.v[id - 1] : NULL;
}

static struct modmap_hit make_hit(struct modmap *m, const struct span *s, uint64_t addr)
{
	struct modmap_hit hit = {.kind = MODMAP_ANON};
	struct module *mod = module_get(m, s->module);
	uint64_t offset = addr - s->start + s->offset;

	if (mod && !mod->tried)
		module_open(m, mod, s);
	if (!mod || mod->anon)
		return hit;
	hit.kind = MODMAP_DSO;
	hit.dso_id = s->module;
	hit.dso = module_dso(m, mod);
	if (!mod->dso || !dso_offset_to_vaddr(mod->dso, offset, &hit.vaddr))
		hit.vaddr = offset; /* nameless, but the same in every run */
	return hit;
}

struct modmap_hit modmap_find(struct modmap *m, uint64_t addr)
{
	const struct span *s;

	follow_maps(m);
	s = find_span(m, addr);
	if (!s && refresh(m, addr)) {
		follow_maps(m);
		s = find_span(m, addr);
	}
	return s ? make_hit(m, s, addr) : (struct modmap_hit){.kind = MODMAP_NONE};
}

struct dso *modmap_dso(const struct modmap *m, uint32_t dso_id)
{
	struct module *mod = module_get(m, dso_id);

	return mod ? module_dso(m, mod) : NULL;
}

struct dso *modmap_load_dso(struct modmap *m, uint32_t dso_id)
{
	follow_maps(m);
	for (size_t i = 0; i < m->spans.n && !modmap_dso(m, dso_id); i++)
		if (dso_id && m->spans.v[i].module == dso_id)
			make_hit(m, &m->spans.v[i], m->spans.v[i].start);
	return modmap_dso(m, dso_id);
}

const char *modmap_dso_path(const struct modmap *m, uint32_t dso_id)
{
	struct module *mod = module_get(m, dso_id);

	return mod ? mod->path : "";
}

uint32_t modmap_dso_count(const struct modmap *m)
{
	return (uint32_t)m->modules.n;
}

static bool last_component_is(const char *path, const char *name)
{
	const char *slash = strrchr(path, '/');

	return !strcmp(slash ? slash + 1 : path, name);
}

int modmap_find_dso(struct modmap *m, const char *name, uint32_t *ret_id, uint64_t *ret_bias)
{
	int r = -ENOENT;

	follow_maps(m);
	for (size_t i = 0; i < m->spans.n; i++) {
		const struct span *s = &m->spans.v[i];
		const struct module *mod = module_get(m, s->module);
		struct modmap_hit hit;

		if (!mod || !last_component_is(mod->path, name))
			continue;
		hit = make_hit(m, s, s->start);
		if (hit.kind != MODMAP_DSO || !hit.dso) {
			*ret_id = s->module;
			r = mod->far ? mod->far : -EACCES;
			continue;
		}
		*ret_id = hit.dso_id;
		*ret_bias = s->start - hit.vaddr;
		return 0;
	}
	return r;
}
