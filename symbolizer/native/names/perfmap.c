#include "symbolizer/native/names/perfmap.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbolizer/base/budget.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"
#include "symbolizer/base/parse.h"
#include "symbolizer/base/sorted.h"
#include "symbolizer/base/text.h"
#include "symbolizer/base/vec.h"
#include "symbolizer/files/fileio.h"
#include "symbolizer/target/proc.h"
#include "symbolizer/target/target_file.h"

/* The format: linux/tools/perf/Documentation/jit-interface.txt. */
enum {
	TEXT_MAX = 64 << 20,
	SYMBOLS_MAX = 2 << 20,
	SYMBOL_BYTES = 3 * 32, /* in a growing vector, and for sorting */
	NAME_MAX_LEN = 1024,
	WALK_MAX = 64,
};

struct jit_symbol {
	uint64_t start, end;
	uint64_t reach; /* highest end up to this symbol */
	uint32_t name; /* offset in text */
	uint32_t line; /* where symbols overlap, the later line wins */
};

struct perfmap {
	char *text; /* names are terminated in place */
	VEC(struct jit_symbol) syms; /* by start, then line */
	size_t malformed;
	struct budget *budget; /* borrowed; NULL: none */
	uint64_t taken; /* bytes taken from it */
};

/* Parses a number and the space after it; some runtimes write "0x". */
static bool read_hex(const char **p, const char *end, uint64_t *ret)
{
	if ((*p)[0] == '0' && ((*p)[1] | 32) == 'x')
		*p += 2;
	return parse_digits(p, end, 16, ret) == 0 && *(*p)++ == ' ';
}

/* false: out of memory. */
static bool parse_line(struct perfmap *pm, char *line, uint32_t number)
{
	struct jit_symbol s = {.line = number};
	size_t len = strlen(line), name;
	const char *p = line;
	uint64_t size;

	if (!read_hex(&p, line + len, &s.start) || !read_hex(&p, line + len, &size) || !*p || !size ||
	    size > UINT64_MAX - s.start) {
		pm->malformed++;
		return true;
	}
	s.end = s.start + size;
	name = (size_t)(p - line);
	if (len - name > NAME_MAX_LEN)
		line[name + NAME_MAX_LEN] = 0;
	s.name = (uint32_t)(p - pm->text);
	return vec_push(&pm->syms, s);
}

static int symbol_cmp(const void *pa, const void *pb)
{
	const struct jit_symbol *a = pa, *b = pb;

	return ascending(a->start, b->start) ?: ascending(a->line, b->line);
}

static bool may_hold(struct perfmap *pm, size_t len)
{
	return pm->syms.n <= SYMBOLS_MAX && budget_hold(pm->budget, &pm->taken, len + pm->syms.n * SYMBOL_BYTES);
}

/* Takes over `text`, of `len` bytes and a NUL; NULL: out of memory. */
static int parse_owned(char *text, size_t len, struct budget *b, struct perfmap **ret)
{
	struct perfmap *pm = text ? calloc(1, sizeof(*pm)) : NULL;
	char *p = text, *line;
	uint32_t number = 0;
	int r = pm ? 0 : -ENOMEM;

	if (pm)
		*pm = (struct perfmap){.text = text, .budget = b};
	else
		free(text);
	while (r == 0 && (line = text_line(&p, text + len))) {
		if (*line && !parse_line(pm, line, number++))
			r = -ENOMEM;
		else if (!may_hold(pm, len))
			r = -EFBIG;
		else if (budget_cancelled(b))
			r = -ETIME;
	}
	if (r < 0) {
		perfmap_close(pm);
		return r;
	}
	if (pm->syms.n)
		qsort(pm->syms.v, pm->syms.n, sizeof(*pm->syms.v), symbol_cmp);
	set_reach(pm->syms.v, pm->syms.n);
	*ret = pm;
	return 0;
}

int perfmap_parse(const char *text, size_t len, struct perfmap **ret)
{
	return len > TEXT_MAX ? -EFBIG : parse_owned(text_copy(text, len), len, NULL, ret);
}

/*
 * Anybody may write to /tmp, so the file must belong to the target's user. Even one of root is refused, since the name
 * could be a link to any file of root.
 */
static int check_owner(struct proc *proc, int fd, const char *path, struct err *err)
{
	struct proc_status status;
	struct stat st;
	int r = proc_status(proc, &status);

	if (r < 0)
		return err_set(err, r, "%s: %s", path, strerror(-r));
	if (fstat(fd, &st) < 0)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(err, -EINVAL, "%s: not a regular file", path);
	if (!target_file_is_copy(fd) && st.st_uid != status.euid)
		return err_set(err, -EPERM, "%s: belongs to user %u, not to the target's user %u: not used", path,
			       (unsigned)st.st_uid, (unsigned)status.euid);
	return 0;
}

int perfmap_open(struct proc *proc, struct budget *b, struct perfmap **ret, struct err *err)
{
	CLEANUP(close_at_exit) int fd = -1;
	struct proc_status status;
	char path[64], *text;
	size_t len;
	int r = proc_status(proc, &status);

	if (r < 0)
		return err_set(err, r, "cannot read the target's status: %s", strerror(-r));
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)status.ns_pid);
	r = target_file_open(proc, path, &fd, err);
	if (r < 0)
		return r;
	r = check_owner(proc, fd, path, err);
	if (r < 0)
		return r;
	r = file_read_fd(fd, budget_bytes_left(b) < TEXT_MAX ? (size_t)budget_bytes_left(b) : TEXT_MAX, &text, &len);
	if (r < 0)
		return err_set(err, r, "%s: %s", path, strerror(-r));
	r = parse_owned(text, len, b, ret);
	if (r < 0)
		return err_set(err, r, "%s: %s", path, r == -ETIME ? "nobody waits for it any more" : strerror(-r));
	if ((*ret)->malformed)
		log_info("%s: %zu malformed lines were skipped", path, (*ret)->malformed);
	return 0;
}

void perfmap_close(struct perfmap *p)
{
	if (!p)
		return;
	budget_give(p->budget, p->taken);
	vec_done(&p->syms);
	free(p->text);
	free(p);
}

const char *perfmap_find(const struct perfmap *p, uint64_t addr)
{
	size_t i = first_above(p->syms.v, p->syms.n, start, addr);
	const struct jit_symbol *best = NULL;
	unsigned steps = 0;

	while (i-- > 0 && p->syms.v[i].reach > addr && steps++ < WALK_MAX) {
		const struct jit_symbol *s = &p->syms.v[i];

		if (s->end > addr && (!best || s->line > best->line))
			best = s;
	}
	return best ? p->text + best->name : NULL;
}
