#ifndef JS_NATIVE_MODMAP_PRIV_H
#define JS_NATIVE_MODMAP_PRIV_H

#include "symbolizer/base/slots.h"
#include "symbolizer/base/vec.h"

/* A file that was mapped executable under a certain path. Its index in `modules` + 1 is the dso id. */
struct module {
	uint64_t inode;
	uint32_t dev_major, dev_minor;
	char *path;
	struct dso *dso; /* NULL: not opened (yet) */
	struct shared_dso *shared; /* has `dso`; NULL: it is the modmap's own */
	int far; /* why it could not be opened, for target_file_why_far(); 0: another reason, or it is open */
	bool tried, anon; /* anon: not an ELF file, or shared memory that cannot be opened: code of a JIT */
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
	struct lines_child *lines_child; /* NULL: DWARF is read in this process */
	const struct dso_tap *tap;
	struct shared_dsos *shared; /* NULL: none */
	VEC(struct module *) modules;
	VEC(struct span) spans; /* by address */
	VEC(struct dso *) records; /* not yet used by a module; NULL: already used */
	struct slots by_file; /* positions in modules */
	uint64_t generation; /* generation of the maps from which `spans` was made */
	bool built;
	size_t last; /* index of the last span found */
	uint64_t next_refresh_ns;
	uint64_t free_ns; /* time that may still be spent on reading the maps without pauses */
};

/* Opens the module's file, once. Sets dso or anon. */
void module_open(struct modmap *m, struct module *mod, const struct span *span);
/* Releases what module_open() has opened. */
void module_close(struct modmap *m, struct module *mod);
/* The dso, for look-ups of this modmap. */
struct dso *module_dso(const struct modmap *m, const struct module *mod);
/* Is this the path of executable memory without a file? */
bool path_is_anonymous(const char *path);

#endif
