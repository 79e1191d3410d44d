#ifndef JS_NATIVE_MODMAP_H
#define JS_NATIVE_MODMAP_H

#include <stdint.h>

struct budget;
struct dso;
struct dso_record;
struct dso_tap;
struct err;
struct maps;
struct mem;
struct proc;

/*
 * Converts between run-time addresses and (dso, vaddr). Dso ids are small numbers that stay valid as long as the
 * modmap, even after dlclose(3), since keys of samples contain them. Id 0 is never a dso.
 * A DSO is opened when an address in it is first looked up. If that fails, it keeps its id (with a name, without
 * symbols or rows), and the reason is logged once.
 */
struct modmap;

enum modmap_kind {
	MODMAP_NONE, /* not mapped (or not executable) */
	MODMAP_DSO,
	MODMAP_ANON, /* executable anonymous memory */
};

struct modmap_hit {
	enum modmap_kind kind;
	uint32_t dso_id; /* MODMAP_DSO */
	uint64_t vaddr; /* MODMAP_DSO */
	struct dso *dso; /* MODMAP_DSO; NULL if it could not be opened */
};

/*
 * `proc` may be NULL (recordings, with `maps` from their text): then there are only the dsos of modmap_add_record().
 * `b` limits the cost of all files together (budget.h; NULL: no limits, and DWARF is read in this process). Everything
 * is borrowed and must outlive the modmap.
 */
int modmap_open(struct proc *proc, struct maps *maps, struct mem *mem, struct budget *b, struct modmap **ret,
		struct err *err);
void modmap_close(struct modmap *m);

/*
 * Makes look-ups in a mapping with this path (as in the maps, without " (deleted)") use the record, which is copied. To
 * be called before the first look-up of such an address.
 */
int modmap_add_record(struct modmap *m, const char *path, const struct dso_record *rec);

/* Sets the tap (dso_record.h) of all dsos, including those opened later. Borrowed; NULL removes it. */
void modmap_set_tap(struct modmap *m, const struct dso_tap *tap);

/*
 * Makes it use files that other modmaps of this thread have opened (shared_dsos.h; borrowed, must outlive the modmap).
 * To be called before the first look-up, and not with a tap.
 */
struct shared_dsos;
void modmap_share(struct modmap *m, struct shared_dsos *shared);

/*
 * Looks up an address. If it is not found, reads the maps again (at most once a millisecond, and for at most a
 * twentieth of the time if reading takes long).
 */
struct modmap_hit modmap_find(struct modmap *m, uint64_t addr);

struct dso *modmap_dso(const struct modmap *m, uint32_t dso_id); /* NULL: unknown or not opened */
/* The same, but opens it if necessary. Id 1 is usually the program's own file. */
struct dso *modmap_load_dso(struct modmap *m, uint32_t dso_id);
const char *modmap_dso_path(const struct modmap *m, uint32_t dso_id); /* never NULL */
uint32_t modmap_dso_count(const struct modmap *m); /* ids are 1..count */

/*
 * Finds the first DSO whose last path component is `name` and that can be opened. *ret_bias is the load bias. -ENOENT:
 * not mapped; -EACCES: mapped, with the id *ret_id, but no file of that name could be opened.
 */
int modmap_find_dso(struct modmap *m, const char *name, uint32_t *ret_id, uint64_t *ret_bias);

#endif
