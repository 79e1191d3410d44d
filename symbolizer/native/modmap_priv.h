#ifndef JS_NATIVE_MODMAP_PRIV_H
#define JS_NATIVE_MODMAP_PRIV_H

#include "symbolizer/base/vec.h"
#include "symbolizer/native/modmap.h"

/* A file that was mapped executable, under one path. Index in the table + 1 is the dso id. */
struct module {
	uint64_t inode;
	uint32_t dev_major, dev_minor;
	char *path;
	struct dso *dso; /* NULL: not opened (yet) */
	bool tried, anon; /* anon: opened, and no ELF file: code that a JIT put there */
};

/* An executable mapping. */
struct span {
	uint64_t start, end, offset;
	uint32_t module; /* id; 0: anonymous */
};

struct modmap {
	struct proc *proc;
	struct maps *maps;
	struct mem *mem;
	struct budget *budget; /* NULL: no limits */
	struct lines_child *lines_child; /* NULL: DWARF is read here */
	const struct dso_tap *tap;
	VEC(struct module *) modules;
	VEC(struct span) spans; /* by address */
	VEC(struct dso *) records; /* not yet taken by a module; NULL: taken */
	uint32_t *index; /* hash of modules: id, 0 free */
	size_t n_index;
	uint64_t seed; /* of its hash */
	uint64_t generation; /* of the maps that `spans` shows */
	bool built;
	size_t last; /* span of the last hit */
	uint64_t next_refresh_ns;
	uint64_t free_ns; /* of reading the maps anew that no pause has to follow */
};

/* Opens the module's file, once. Fills dso or anon. */
void module_open(struct modmap *m, struct module *mod, const struct span *span);
/* Executable memory that no file explains, by its path. */
bool path_is_anonymous(const char *path);

#endif
