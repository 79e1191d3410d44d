#include "symbolizer/native/modmap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/hash.h"
#include "symbolizer/native/dso.h"
#include "symbolizer/native/dso_record.h"
#include "symbolizer/native/lines_child.h"
#include "symbolizer/native/modmap_priv.h"
#include "symbolizer/target/maps.h"

#define REFRESH_NS UINT64_C(1000000)
/* A program that starts maps one library after the other, and is in each at once. */
#define REFRESH_FREE_NS UINT64_C(20000000)
enum { REFRESH_SHARE = 20, MODULES_MAX = 1 << 16, FIRST_INDEX = 256 };

/* Below it nothing is mapped, above it is the kernel: such addresses are garbage, not news. */
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
	if (getrandom(&m->seed, sizeof(m->seed), GRND_NONBLOCK) < 0)
		m->seed = 0;
	m->free_ns = REFRESH_FREE_NS;
	m->proc = proc;
	m->maps = maps;
	m->mem = mem;
	*ret = m;
	return 0;
}

void modmap_close(struct modmap *m)
{
	size_t i;

	if (!m)
		return;
	lines_child_free(m->lines_child);
	for (i = 0; i < m->modules.n; i++) {
		dso_close(m->modules.v[i]->dso);
		free(m->modules.v[i]->path);
		free(m->modules.v[i]);
	}
	for (i = 0; i < m->records.n; i++)
		dso_close(m->records.v[i]);
	vec_done(&m->modules);
	vec_done(&m->records);
	vec_done(&m->spans);
	free(m->index);
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
	size_t i;

	m->tap = tap;
	for (i = 0; i < m->modules.n; i++)
		if (m->modules.v[i]->dso)
			dso_set_tap(m->modules.v[i]->dso, tap);
}

static uint64_t module_hash(const struct modmap *m, uint64_t inode, uint32_t dev_major,
			    uint32_t dev_minor, const char *path)
{
	uint64_t h = hash_bytes_seeded(m->seed, path, strlen(path));

	return hash_mix(hash_mix(h, inode), (uint64_t)dev_major << 32 | dev_minor);
}

static bool module_is(const struct module *mod, const struct mapping *map)
{
	return mod->inode == map->inode && mod->dev_major == map->dev_major &&
	       mod->dev_minor == map->dev_minor && !strcmp(mod->path, map->path);
}

/* Where the mapping's module is in the index, or the free place for it. */
static size_t index_find(const struct modmap *m, const struct mapping *map)
{
	size_t i = module_hash(m, map->inode, map->dev_major, map->dev_minor, map->path) &
		   (m->n_index - 1);

	while (m->index[i] && !module_is(m->modules.v[m->index[i] - 1], map))
		i = (i + 1) & (m->n_index - 1);
	return i;
}

static bool index_grow(struct modmap *m)
{
	size_t n = m->n_index ? m->n_index * 2 : FIRST_INDEX, i;
	uint32_t *index = calloc(n, sizeof(*index));

	if (!index)
		return false;
	for (i = 0; i < m->modules.n; i++) {
		const struct module *mod = m->modules.v[i];
		size_t at = module_hash(m, mod->inode, mod->dev_major, mod->dev_minor, mod->path) &
			    (n - 1);

		while (index[at])
			at = (at + 1) & (n - 1);
		index[at] = (uint32_t)i + 1;
	}
	free(m->index);
	m->index = index;
	m->n_index = n;
	return true;
}

static uint32_t module_add(struct modmap *m, const struct mapping *map, size_t at)
{
	struct module *mod = calloc(1, sizeof(*mod));

	if (mod)
		mod->path = strdup(map->path);
	if (!mod || !mod->path || !vec_push(&m->modules, mod)) {
		free(mod ? mod->path : NULL);
		free(mod);
		return 0;
	}
	mod->inode = map->inode;
	mod->dev_major = map->dev_major;
	mod->dev_minor = map->dev_minor;
	return m->index[at] = (uint32_t)m->modules.n;
}

/* The id of a mapping's module; 0: anonymous (or no memory to keep it, or absurdly many). */
static uint32_t module_of(struct modmap *m, const struct mapping *map)
{
	size_t at;

	if (path_is_anonymous(map->path))
		return 0;
	if (m->modules.n * 2 >= m->n_index && !index_grow(m))
		return 0;
	at = index_find(m, map);
	if (m->index[at])
		return m->index[at];
	return m->modules.n < MODULES_MAX ? module_add(m, map, at) : 0;
}

static void rebuild(struct modmap *m)
{
	size_t i, n = maps_count(m->maps);

	m->generation = maps_generation(m->maps);
	m->built = true;
	m->last = 0;
	m->spans.n = 0;
	for (i = 0; i < n; i++) {
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
	size_t lo = 0, hi = m->spans.n;
	const struct span *s;

	if (m->last < hi) {
		s = &m->spans.v[m->last];
		if (addr >= s->start && addr < s->end)
			return s;
	}
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		s = &m->spans.v[mid];
		if (addr >= s->end) {
			lo = mid + 1;
		} else if (addr < s->start) {
			hi = mid;
		} else {
			m->last = mid;
			return s;
		}
	}
	return NULL;
}

/* true: the maps were read again and are different. */
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
	hit.dso = mod->dso;
	if (!mod->dso || !dso_offset_to_vaddr(mod->dso, offset, &hit.vaddr))
		hit.vaddr = offset; /* nameless, but the same from run to run */
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

	return mod ? mod->dso : NULL;
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
	size_t i;

	follow_maps(m);
	for (i = 0; i < m->spans.n; i++) {
		const struct span *s = &m->spans.v[i];
		const struct module *mod = module_get(m, s->module);
		struct modmap_hit hit;

		if (!mod || !last_component_is(mod->path, name))
			continue;
		hit = make_hit(m, s, s->start);
		if (hit.kind != MODMAP_DSO || !hit.dso) {
			*ret_id = s->module;
			r = -EACCES;
			continue;
		}
		*ret_id = hit.dso_id;
		*ret_bias = s->start - hit.vaddr;
		return 0;
	}
	return r;
}
