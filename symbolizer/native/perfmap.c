#include "symbolizer/native/perfmap.h"

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
#include "symbolizer/base/fileio.h"
#include "symbolizer/base/log.h"
#include "symbolizer/base/vec.h"
#include "symbolizer/target/proc.h"
#include "symbolizer/target/target_file.h"

/* The format: linux/tools/perf/Documentation/jit-interface.txt. */
enum {
	TEXT_MAX = 64 << 20,
	SYMBOLS_MAX = 2 << 20,
	SYMBOL_BYTES = 2 * 24 + 24 + 8, /* a vector that grows; what sorting takes; reach */
	NAME_MAX_LEN = 1024,
	WALK_MAX = 64,
};

struct jit_symbol {
	uint64_t start, end;
	uint32_t name; /* offset in text */
	uint32_t line; /* a later line replaces earlier ones that it overlaps */
};

struct perfmap {
	char *text; /* names are terminated in place */
	VEC(struct jit_symbol) syms; /* by start, then line */
	uint64_t *reach; /* highest end so far */
	size_t malformed;
	struct budget *budget; /* borrowed; NULL: none */
	uint64_t taken; /* bytes out of it */
};

/* "0x" is accepted: some runtimes write it. NULL: no number, or more than 64 bits. */
static char *parse_hex(char *p, uint64_t *ret)
{
	uint64_t v = 0;
	unsigned n = 0;

	if (p[0] == '0' && (p[1] == 'x' || p[1] == 'X'))
		p += 2;
	for (;; p++, n++) {
		unsigned c = (unsigned char)*p;
		unsigned digit = c - '0' < 10		? c - '0' :
				 (c | 32) - 'a' < 6 ? (c | 32) - 'a' + 10 :
						      16;

		if (digit == 16)
			break;
		if (v >> 60)
			return NULL;
		v = v << 4 | digit;
	}
	*ret = v;
	return n ? p : NULL;
}

static bool parse_line(struct perfmap *pm, char *p, uint32_t line)
{
	struct jit_symbol s = {.line = line};
	uint64_t size;

	p = parse_hex(p, &s.start);
	if (!p || *p != ' ')
		goto malformed;
	p = parse_hex(p + 1, &size);
	if (!p || *p != ' ' || !p[1] || !size || size > UINT64_MAX - s.start)
		goto malformed;
	s.end = s.start + size;
	p++;
	if (strlen(p) > NAME_MAX_LEN)
		p[NAME_MAX_LEN] = 0;
	s.name = (uint32_t)(p - pm->text);
	return vec_push(&pm->syms, s);
malformed:
	pm->malformed++;
	return true;
}

static int symbol_cmp(const void *pa, const void *pb)
{
	const struct jit_symbol *a = pa, *b = pb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->line < b->line ? -1 : a->line > b->line;
}

static bool finish(struct perfmap *pm)
{
	uint64_t reach = 0;
	size_t i;

	if (!pm->syms.n)
		return true;
	qsort(pm->syms.v, pm->syms.n, sizeof(*pm->syms.v), symbol_cmp);
	pm->reach = malloc(pm->syms.n * sizeof(*pm->reach));
	if (!pm->reach)
		return false;
	for (i = 0; i < pm->syms.n; i++) {
		reach = pm->syms.v[i].end > reach ? pm->syms.v[i].end : reach;
		pm->reach[i] = reach;
	}
	return true;
}

static bool may_hold(struct perfmap *pm, size_t len)
{
	return pm->syms.n <= SYMBOLS_MAX && budget_hold(pm->budget, &pm->taken, len + pm->syms.n * SYMBOL_BYTES);
}

/* Takes `text` over: `len` bytes, NUL-terminated. */
static int parse_owned(char *text, size_t len, struct budget *b, struct perfmap **ret)
{
	struct perfmap *pm = calloc(1, sizeof(*pm));
	char *p, *eol, *end = text + len;
	uint32_t line = 0;
	int r = 0;

	if (!pm) {
		free(text);
		return -ENOMEM;
	}
	pm->text = text;
	pm->budget = b;
	for (p = text; r == 0 && p < end; p = eol + 1) {
		eol = memchr(p, '\n', (size_t)(end - p));
		if (!eol)
			eol = end;
		*eol = 0;
		if (*p && !parse_line(pm, p, line++))
			r = -ENOMEM;
		if (r == 0 && !may_hold(pm, len))
			r = -EFBIG;
	}
	if (r == 0 && !finish(pm))
		r = -ENOMEM;
	if (r < 0) {
		perfmap_close(pm);
		return r;
	}
	*ret = pm;
	return 0;
}

int perfmap_parse(const char *text, size_t len, struct perfmap **ret)
{
	char *copy;

	if (len > TEXT_MAX)
		return -EFBIG;
	copy = malloc(len + 1);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, text, len);
	copy[len] = 0;
	return parse_owned(copy, len, NULL, ret);
}

/*
 * Anybody may write to /tmp: only the target's own file says what its code is called. Not root's
 * either: a link of that name would lead to any file of root's.
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
	if (st.st_uid != status.euid)
		return err_set(err, -EPERM, "%s: belongs to user %u, not to the target's user %u: not used",
			       path, (unsigned)st.st_uid, (unsigned)status.euid);
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
		return err_set(err, r, "%s: %s", path, strerror(-r));
	if ((*ret)->malformed)
		log_info("%s: %zu lines make no sense, skipped", path, (*ret)->malformed);
	return 0;
}

void perfmap_close(struct perfmap *p)
{
	if (!p)
		return;
	budget_give(p->budget, p->taken);
	vec_done(&p->syms);
	free(p->reach);
	free(p->text);
	free(p);
}

const char *perfmap_find(const struct perfmap *p, uint64_t addr)
{
	size_t lo = 0, hi = p->syms.n;
	const struct jit_symbol *best = NULL;
	unsigned steps = 0;

	while (lo < hi) { /* first one behind addr */
		size_t mid = lo + (hi - lo) / 2;

		if (p->syms.v[mid].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	while (lo-- > 0 && p->reach[lo] > addr && steps++ < WALK_MAX) {
		const struct jit_symbol *s = &p->syms.v[lo];

		if (s->end > addr && (!best || s->line > best->line))
			best = s;
	}
	return best ? p->text + best->name : NULL;
}
