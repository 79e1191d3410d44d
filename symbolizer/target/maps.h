#ifndef JS_TARGET_MAPS_H
#define JS_TARGET_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct budget;
struct proc;
struct err;

enum { MAP_R = 1, MAP_W = 2, MAP_X = 4, MAP_SHARED_ = 8 };

/* One line of /proc/PID/maps (proc(5)). Strings are borrowed from the maps. */
struct mapping {
	uint64_t start, end, offset;
	uint64_t inode;
	uint32_t dev_major, dev_minor;
	uint8_t flags; /* MAP_* */
	bool deleted; /* " (deleted)" was cut off the path */
	const char *path; /* "" if anonymous; "[stack]", "[vdso]", ... as printed */
};

/*
 * The mappings of a process, sorted by address. maps_refresh() reads them again and, if the text has changed,
 * increments the generation. Pointers into it are valid until the next refresh.
 */
struct maps;

/* From text (tests, recordings). -EINVAL: the lines are not those of /proc/PID/maps, or not in order. */
int maps_parse(const char *text, size_t len, struct maps **ret);
/* Memory for the text and its parsed form is taken from `b` (borrowed; NULL: no limit). */
int maps_open(struct proc *p, struct budget *b, struct maps **ret, struct err *err);
/*
 * -ESRCH: the process has ended, or called execve(2); -EINVAL: malformed; -EFBIG: too large. On failure, the old
 * content stays.
 */
int maps_refresh(struct maps *m);
/* For maps without a budget that are not refreshed: frees the text, which takes most memory, and closes the file. */
void maps_freeze(struct maps *m);
void maps_close(struct maps *m);

uint64_t maps_generation(const struct maps *m);
size_t maps_count(const struct maps *m);
const struct mapping *maps_at(const struct maps *m, size_t i);
const struct mapping *maps_find(const struct maps *m, uint64_t addr); /* NULL: not mapped */
bool maps_has_file(const struct maps *m, const char *name); /* is a file of that name mapped, in any folder? */
const char *maps_text(const struct maps *m, size_t *len); /* as read, for recordings */

#endif
