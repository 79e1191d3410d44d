#ifndef JS_NATIVE_MODMAP_PRIV_H
#define JS_NATIVE_MODMAP_PRIV_H

#include "symbolizer/base/slots.h"
#include "symbolizer/base/vec.h"
#include "symbolizer/native/modules/modmap.h"

/* A file that was mapped executable, under one path. Its index in `modules` + 1 is the dso id. */
struct module {
	uint64_t inode;
	uint32_t dev_major, dev_minor;
	char *path;
	struct dso *dso; /* NULL: not opened (yet) */
	bool tried, anon; /* anon: opened, but not an ELF file: code that a JIT wrote there */
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
	VEC(struct dso *) records; /* not yet used by a module; NULL: used */
	struct slots by_file; /* positions in modules */
	uint64_t generation; /* of the maps that `spans` shows */
	bool built;
	size_t last; /* span of the last hit */
	uint64_t next_refresh_ns;
	uint64_t free_ns; /* time for reading the maps that need not be followed by a pause */
};

/* Opens the module's file, once. Fills dso or anon. */
void module_open(struct modmap *m, struct module *mod, const struct span *span);
/* Is this the path of executable memory without a file? */
bool path_is_anonymous(const char *path);

#endif
