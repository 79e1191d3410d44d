#include "symbolizer/native/lines_child.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "symbolizer/base/bounded_child.h"
#include "symbolizer/base/buf.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/cursor.h"
#include "symbolizer/base/strtab.h"
#include "symbolizer/native/dso_lines.h"
#include "symbolizer/native/dso_priv.h"

enum {
	LINES_MAX = 32,
	TEXT_MAX = 8 << 10, /* of a function or path; longer ones are cut */
	ANSWER_MAX = LINES_MAX * (2 * TEXT_MAX + 16) + BUDGET_NOTE_SIZE,
	TICK_MS = 50, /* how soon a cancelled budget is noticed */
	WAIT_MAX_MS = 60000, /* for one answer */
	PER_LINE_BYTES = 64, /* of an interned string, in addition to its text */
};

struct lines_child {
	struct budget *budget;
	struct bounded_child child;
	uint64_t forked_ns; /* the child knows the dsos opened until then */
	uint64_t ns; /* CPU time left in the budget then */
	uint64_t cpu_ns; /* CPU time of the child charged to the budget so far */
};

/* The dso is a pointer, since the child has a copy of the parent's address space. */
struct question {
	struct dso *dso;
	uint64_t vaddr;
};

struct answer {
	uint32_t len; /* of the lines and the note, which follow */
	uint32_t n;
	uint32_t note_len; /* of a note for the budget about data that was given up */
	uint32_t none; /* nonzero: this file has no lines at all */
	uint64_t refused_bytes;
};

static bool send_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t n = send(fd, p, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		p += n;
		len -= (size_t)n;
	}
	return true;
}

/* --- the child --- */

static void add_text(struct buf *b, const char *s)
{
	uint16_t len = s ? (uint16_t)strnlen(s, TEXT_MAX) + 1 : 0; /* 0: none */

	buf_add(b, &len, sizeof(len));
	if (len)
		buf_add(b, s, len - 1u);
}

static void answer(int fd, struct dso *d, uint64_t vaddr)
{
	struct dso_line at[LINES_MAX];
	struct answer a = {0};
	struct buf b = {0};

	budget_begin(d->budget);
	if (!d->lines_tried) {
		d->lines_tried = true;
		lines_open(d, true, &d->lines);
	}
	a.none = !d->lines;
	a.n = d->lines ? (uint32_t)lines_find(d->lines, vaddr, at, LINES_MAX) : 0;
	budget_end(d->budget);
	for (uint32_t i = 0; i < a.n; i++) {
		int32_t line = at[i].line;

		buf_add(&b, &line, sizeof(line));
		add_text(&b, at[i].function);
		add_text(&b, at[i].file);
	}
	if (d->lines && lines_too_large(d->lines)) {
		lines_close(d->lines);
		d->lines = NULL;
		a.none = true;
		dso_refuse(d, 0, "source lines, which take too much memory,");
	}
	if (d->budget && d->budget->n_notes) {
		a.note_len = (uint32_t)strlen(d->budget->note[0]);
		a.refused_bytes = d->budget->refused_bytes;
		buf_add(&b, d->budget->note[0], a.note_len);
		d->budget->n_notes = 0;
		d->budget->refused_bytes = 0;
	}
	a.len = (uint32_t)b.len;
	if (b.failed || !send_all(fd, &a, sizeof(a)) || !send_all(fd, b.data, b.len))
		_exit(LINES_NO_MEMORY);
	buf_done(&b);
}

static void read_lines(void *ctx, int fd)
{
	struct lines_child *c = ctx;
	struct question q;

	budget_restart(c->budget, c->ns);
	while (recv(fd, &q, sizeof(q), MSG_WAITALL) == sizeof(q))
		answer(fd, q.dso, q.vaddr);
}

/* --- the parent --- */

struct lines_child *lines_child_new(struct budget *b)
{
	struct lines_child *c = calloc(1, sizeof(*c));

	if (c)
		c->budget = b;
	return c;
}

static void note_cpu_time(struct lines_child *c)
{
	uint64_t ns;

	if (!clock_cpu_of_ns(c->child.pid, &ns) || ns <= c->cpu_ns)
		return;
	budget_spend(c->budget, ns - c->cpu_ns);
	c->cpu_ns = ns;
}

/* Ends the child and returns its status (waitpid(2)); 0: it could not be ended. */
static int end_child(struct lines_child *c)
{
	int status;

	if (c->child.pid)
		note_cpu_time(c);
	bounded_child_end(&c->child, &status);
	return status;
}

void lines_child_free(struct lines_child *c)
{
	if (c)
		end_child(c);
	free(c);
}

static bool start_child(struct lines_child *c)
{
	struct bounded_limits limits = {budget_bytes_left(c->budget), budget_ns_left(c->budget)};

	c->ns = limits.cpu_ns;
	c->cpu_ns = 0;
	c->forked_ns = clock_monotonic_ns();
	return bounded_child_start(&c->child, &limits, read_lines, c) == 0;
}

/*
 * 0, -ETIME, -ECANCELED, or -EPIPE: the child has ended. Wall time is limited, too, since a child that waits for a disk
 * uses no CPU time.
 */
static int wait_readable(struct lines_child *c)
{
	struct pollfd p = {.fd = c->child.fd, .events = POLLIN};

	for (unsigned ticks = 0;; ticks++) {
		int n = poll(&p, 1, TICK_MS);

		if (n > 0)
			return p.revents & POLLIN ? 0 : -EPIPE;
		note_cpu_time(c);
		if (budget_cancelled(c->budget))
			return -ECANCELED;
		if (budget_expired(c->budget) || ticks > WAIT_MAX_MS / TICK_MS)
			return -ETIME;
	}
}

static int receive(struct lines_child *c, void *dst, size_t len)
{
	char *p = dst;

	while (len) {
		int r = wait_readable(c);
		ssize_t n = r == 0 ? recv(c->child.fd, p, len, MSG_DONTWAIT) : 0;

		if (r < 0)
			return r;
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0)
			return -EPIPE;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

/* *ret: a string of the answer, interned in the dso; NULL: none. */
static bool take_text(struct dso *d, struct cursor *c, const char **ret)
{
	uint16_t len = cursor_u16(c);
	const char *s = len ? cursor_take(c, len - 1u) : NULL;
	size_t before;
	uint32_t id;

	*ret = NULL;
	if (!len)
		return !c->bad;
	if (!s || (!d->line_texts && !(d->line_texts = strtab_new())) ||
	    budget_bytes_left(d->budget) < len + (uint64_t)PER_LINE_BYTES)
		return false;
	before = strtab_bytes(d->line_texts);
	id = strtab_add(d->line_texts, s, len - 1u);
	dso_take(d, strtab_bytes(d->line_texts) - before);
	*ret = id == UINT32_MAX ? NULL : strtab_get(d->line_texts, id);
	return *ret != NULL;
}

static size_t take_lines(struct dso *d, const struct answer *a, struct cursor *c, struct dso_line *ret, size_t max)
{
	size_t n = 0;

	for (uint32_t i = 0; i < a->n; i++) {
		struct dso_line l = {.line = cursor_i32(c)};

		if (!take_text(d, c, &l.function) || !take_text(d, c, &l.file))
			return n;
		if (n < max)
			ret[n++] = l;
	}
	return n;
}

/* 0 or a negative errno; -EPIPE, too, for an invalid answer. *n is the number of lines. */
static int ask(struct lines_child *c, struct dso *d, uint64_t vaddr, struct dso_line *ret, size_t max, size_t *n)
{
	struct question q = {d, vaddr};
	struct answer a;
	struct cursor cur;
	char *text;
	int r = send_all(c->child.fd, &q, sizeof(q)) ? receive(c, &a, sizeof(a)) : -EPIPE;

	*n = 0;
	if (r < 0)
		return r;
	if (a.len > ANSWER_MAX || a.note_len > a.len || a.note_len >= BUDGET_NOTE_SIZE || a.n > LINES_MAX)
		return -EPIPE;
	text = malloc(a.len + 1);
	r = text ? receive(c, text, a.len) : -ENOMEM;
	if (r == 0) {
		cur = cursor_make(text, a.len - a.note_len);
		*n = take_lines(d, &a, &cur, ret, max);
		if (a.note_len)
			budget_refuse(c->budget, a.refused_bytes, "%.*s", (int)a.note_len, text + a.len - a.note_len);
		d->lines_tried |= a.none;
	}
	free(text);
	return r;
}

static void given_up(struct lines_child *c, struct dso *d, int r)
{
	int status = end_child(c);

	d->lines_tried = true;
	if (r == -ETIME || (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU))
		dso_refuse(d, 0, "source lines, for lack of time,");
	else if (WIFEXITED(status) && WEXITSTATUS(status) == LINES_NO_MEMORY)
		dso_refuse(d, 0, "source lines, which take too much memory,");
	else
		dso_refuse(d, 0, "source lines, which made their reader crash,");
}

/* The child does not know dsos that were opened after it was started; a new one does. */
static bool child_knows(struct lines_child *c, const struct dso *d)
{
	if (c->child.pid && d->opened_ns < c->forked_ns)
		return true;
	end_child(c);
	return start_child(c);
}

size_t lines_child_ask(struct lines_child *c, struct dso *d, uint64_t vaddr, struct dso_line *ret, size_t max)
{
	size_t n = 0;
	int r;

	if (d->lines_tried)
		return 0;
	budget_begin(c->budget);
	if (!lines_may_be_in(d)) {
		d->lines_tried = true;
	} else if (budget_expired(c->budget)) {
		given_up(c, d, -ETIME);
	} else if (child_knows(c, d)) {
		r = ask(c, d, vaddr, ret, max, &n);
		if (r < 0)
			given_up(c, d, r);
	}
	budget_end(c->budget);
	return n;
}
