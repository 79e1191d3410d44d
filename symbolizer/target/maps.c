#include "symbolizer/target/maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbolizer/base/arena.h"
#include "symbolizer/base/budget.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/parse.h"
#include "symbolizer/base/sorted.h"
#include "symbolizer/base/vec.h"
#include "symbolizer/files/fileio.h"
#include "symbolizer/target/proc.h"

enum {
	LINE_MAX_ = 32 << 10, /* a path of 4 KiB, each byte printed as \ooo, and the numbers */
	TEXT_MAX = 64 << 20, /* 260,000 mappings of Elasticsearch: 30 MB */
	TIMES_TEXT = 2,
	REREAD_MAX = 4,
};

/* The text of one read, and the mappings in it. */
struct content {
	char *text;
	size_t len;
	VEC(struct mapping) v;
	struct arena paths;
	uint64_t taken; /* bytes taken from the budget */
};

struct maps {
	struct content now;
	uint64_t generation;
	int fd; /* -1: not a live process */
	struct budget *budget; /* borrowed; NULL: none */
};

static void content_done(struct content *c, struct budget *b)
{
	budget_give(b, c->taken);
	free(c->text);
	vec_done(&c->v);
	arena_done(&c->paths);
	*c = (struct content){0};
}

/* Unparsed text. Readers advance p; false: unexpected text. */
struct maps_cursor {
	const char *p, *end;
};

static bool read_char(struct maps_cursor *t, char c)
{
	if (t->p == t->end || *t->p != c)
		return false;
	t->p++;
	return true;
}

static bool read_number(struct maps_cursor *t, unsigned base, uint64_t max, uint64_t *ret)
{
	return parse_digits(&t->p, t->end, base, ret) == 0 && *ret <= max;
}

static bool read_flags(struct maps_cursor *t, uint8_t *ret)
{
	static const struct {
		char set, clear;
		uint8_t flag;
	} columns[] = {{'r', '-', MAP_R}, {'w', '-', MAP_W}, {'x', '-', MAP_X}, {'s', 'p', MAP_SHARED_}};

	*ret = 0;
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		if (read_char(t, columns[i].set))
			*ret |= columns[i].flag;
		else if (!read_char(t, columns[i].clear))
			return false;
	}
	return true;
}

/* "start-end perms offset major:minor inode", show_map_vma() in linux/fs/proc/task_mmu.c. */
static bool read_numbers(struct maps_cursor *t, struct mapping *m)
{
	uint64_t major, minor;

	if (!read_number(t, 16, UINT64_MAX, &m->start) || !read_char(t, '-') ||
	    !read_number(t, 16, UINT64_MAX, &m->end) || !read_char(t, ' ') || !read_flags(t, &m->flags) ||
	    !read_char(t, ' ') || !read_number(t, 16, UINT64_MAX, &m->offset) || !read_char(t, ' ') ||
	    !read_number(t, 16, UINT32_MAX, &major) || !read_char(t, ':') || !read_number(t, 16, UINT32_MAX, &minor) ||
	    !read_char(t, ' ') || !read_number(t, 10, UINT64_MAX, &m->inode))
		return false;
	m->dev_major = (uint32_t)major;
	m->dev_minor = (uint32_t)minor;
	return m->start < m->end;
}

/* Most neighbouring mappings are of the same file, and share its path. */
static const char *path_keep(struct content *c, const char *s, size_t len)
{
	const char *last = c->v.n ? c->v.v[c->v.n - 1].path : "";

	if (len == 0)
		return "";
	if (strlen(last) == len && memcmp(last, s, len) == 0)
		return last;
	return arena_strndup(&c->paths, s, len);
}

static int read_path(struct content *c, struct maps_cursor *t, struct mapping *m)
{
	static const char deleted[] = " (deleted)";
	size_t len, cut = sizeof(deleted) - 1;

	while (t->p < t->end && *t->p == ' ')
		t->p++;
	len = (size_t)(t->end - t->p);
	if (memchr(t->p, '\0', len))
		return -EINVAL;
	m->deleted = len > cut && memcmp(t->end - cut, deleted, cut) == 0;
	m->path = path_keep(c, t->p, m->deleted ? len - cut : len);
	return m->path ? 0 : -ENOMEM;
}

static int parse_line(struct content *c, struct maps_cursor line)
{
	struct mapping m = {0};
	int r;

	if (line.end - line.p > LINE_MAX_ || !read_numbers(&line, &m))
		return -EINVAL;
	if (c->v.n > 0 && m.start < c->v.v[c->v.n - 1].end)
		return -EINVAL;
	if (line.p < line.end && *line.p != ' ')
		return -EINVAL;
	r = read_path(c, &line, &m);
	if (r < 0)
		return r;
	return vec_push(&c->v, m) ? 0 : -ENOMEM;
}

static int content_parse(struct content *c)
{
	const char *end = c->text + c->len;

	for (const char *p = c->text, *nl; p < end; p = nl + 1) {
		int r;

		nl = memchr(p, '\n', (size_t)(end - p));
		if (!nl)
			return -EINVAL;
		r = parse_line(c, (struct maps_cursor){p, nl});
		if (r < 0)
			return r;
	}
	return 0;
}

static struct maps *maps_new(int fd)
{
	struct maps *m = calloc(1, sizeof(*m));

	if (m)
		m->fd = fd;
	return m;
}

void maps_freeze(struct maps *m)
{
	free(m->now.text);
	m->now.text = NULL;
	m->now.len = 0;
	if (m->fd >= 0)
		close(m->fd);
	m->fd = -1;
}

void maps_close(struct maps *m)
{
	if (!m)
		return;
	maps_freeze(m);
	content_done(&m->now, m->budget);
	free(m);
}

static void maps_close_at_exit(struct maps **m)
{
	maps_close(*m);
}

int maps_parse(const char *text, size_t len, struct maps **ret)
{
	CLEANUP(maps_close_at_exit) struct maps *m = maps_new(-1);
	int r;

	if (len > TEXT_MAX)
		return -EFBIG;
	if (!m || !(m->now.text = malloc(len + 1)))
		return -ENOMEM;
	if (len > 0)
		memcpy(m->now.text, text, len);
	m->now.text[len] = '\0';
	m->now.len = len;
	m->generation = 1;
	r = content_parse(&m->now);
	if (r == 0)
		*ret = take_ptr(m);
	return r;
}

/* Paths are copied. Without its path, a mapping takes about as much memory as its line. */
static uint64_t content_bytes(const struct content *c)
{
	return TIMES_TEXT * (uint64_t)c->len;
}

/*
 * The file is bound to the address space that it was opened for: it reads as empty after the process has ended or
 * called execve(2), and access is not checked again.
 */
static int read_again(struct maps *m, struct content *c)
{
	uint64_t left = budget_bytes_left(m->budget) / TIMES_TEXT;
	int r = lseek(m->fd, 0, SEEK_SET) < 0 ? -errno : 0;

	if (r == 0)
		r = file_read_fd(m->fd, left < TEXT_MAX ? (size_t)left : TEXT_MAX, &c->text, &c->len);
	if (r == 0 && !budget_hold(m->budget, &c->taken, content_bytes(c)))
		r = -EFBIG;
	return r == 0 && c->len == 0 ? -ESRCH : r;
}

/* Adopts the new content, or drops it if it is unchanged or invalid. */
static int refresh_once(struct maps *m)
{
	struct content c = {0};
	int r = read_again(m, &c);

	if (r == 0 && c.len == m->now.len && memcmp(c.text, m->now.text, c.len) == 0) {
		content_done(&c, m->budget);
		return 0;
	}
	if (r == 0)
		r = content_parse(&c);
	if (r < 0) {
		content_done(&c, m->budget);
		return r;
	}
	content_done(&m->now, m->budget);
	m->now = c;
	m->generation++;
	return 0;
}

/*
 * The kernel returns the text page by page. If mappings are merged between two pages, the merged one overlaps an
 * earlier one, and the text is read again. (In a target that does nothing but mprotect(2), 110 of 3,000 readings were
 * such; all succeeded after up to three more.)
 */
int maps_refresh(struct maps *m)
{
	int r = -EINVAL;

	if (m->fd < 0)
		return 0;
	for (int i = 0; i < REREAD_MAX && r == -EINVAL; i++)
		r = refresh_once(m);
	return r;
}

int maps_open(struct proc *p, struct budget *b, struct maps **ret, struct err *err)
{
	CLEANUP(close_at_exit) int fd = proc_file(p, 0, "maps");
	CLEANUP(maps_close_at_exit) struct maps *m = NULL;
	int r = fd < 0 ? fd : 0;

	if (r == 0) {
		m = maps_new(fd);
		if (m)
			m->budget = b;
		r = m ? (take_fd(&fd), maps_refresh(m)) : -ENOMEM;
	}
	if (r == -ENOENT || r == -ESRCH)
		return err_set(err, -ESRCH, "process %d has no mappings: it has ended, or is a kernel thread",
			       (int)proc_pid(p));
	if (r < 0) {
		errno = -r;
		return err_set(err, r, "cannot read the mappings of process %d: %m", (int)proc_pid(p));
	}
	*ret = take_ptr(m);
	return 0;
}

uint64_t maps_generation(const struct maps *m)
{
	return m->generation;
}

size_t maps_count(const struct maps *m)
{
	return m->now.v.n;
}

const struct mapping *maps_at(const struct maps *m, size_t i)
{
	return i < m->now.v.n ? &m->now.v.v[i] : NULL;
}

const struct mapping *maps_find(const struct maps *m, uint64_t addr)
{
	size_t i = first_above(m->now.v.v, m->now.v.n, end, addr);

	return i < m->now.v.n && m->now.v.v[i].start <= addr ? &m->now.v.v[i] : NULL;
}

bool maps_has_file(const struct maps *m, const char *name)
{
	for (size_t i = 0; i < m->now.v.n; i++) {
		const char *slash = strrchr(m->now.v.v[i].path, '/');

		if (slash && m->now.v.v[i].inode && strcmp(slash + 1, name) == 0)
			return true;
	}
	return false;
}

const char *maps_text(const struct maps *m, size_t *len)
{
	if (len)
		*len = m->now.len;
	return m->now.text;
}
