#include "symbolizer/native/names/kallsyms.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbolizer/base/address_sort.h"
#include "symbolizer/base/buf.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"
#include "symbolizer/base/parse.h"
#include "symbolizer/base/sorted.h"
#include "symbolizer/base/trim.h"
#include "symbolizer/base/vec.h"
#include "symbolizer/native/names/suffix.h"

/* Usually it has a few hundred thousand lines of 40 bytes. */
enum { TEXT_MAX = 256 << 20, PIECE = 64 << 10 /* read at once */ };
/* No kernel function is longer: an address further from its symbol is in a gap between modules. */
#define REACH_MAX UINT64_C(0x40000)

struct ksym {
	uint64_t addr; /* first, for address_sort() */
	uint32_t name; /* offset in names; the type is the byte before it */
};

struct kallsyms {
	int fd; /* -1: has been read to its end */
	char *text; /* what was read and is not parsed yet, with a NUL after it */
	size_t len, cap, all; /* bytes; `all`: that were read */
	struct buf names; /* of functions only, each with its type and a NUL */
	VEC(struct ksym) syms; /* by addr, all different, unless `unsorted` */
	bool seen_nonzero, unsorted, seen_module;
};

struct kallsyms *kallsyms_open(int fd)
{
	struct kallsyms *k = calloc(1, sizeof(*k));

	if (k)
		k->fd = fd;
	else
		close(fd);
	return k;
}

void kallsyms_close(struct kallsyms *k)
{
	if (!k)
		return;
	if (k->fd >= 0)
		close(k->fd);
	vec_done(&k->syms);
	buf_done(&k->names);
	free(k->text);
	free(k);
}

/* The end of the name: the line's, or a tab before the module's name. */
static size_t name_len(const char *name)
{
	return strcspn(name, "\t \n");
}

/* Symbols that mark places, or the padding before functions, rather than functions. */
static bool is_marker(const char *name)
{
	static const char *const places[] = {"_text", "_stext", "_etext"};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (!strcmp(name, places[i]))
			return true;
	return !strncmp(name, "__pfx_", 6);
}

/* Of the symbols at one address, the lowest is best, then the one whose line is first. */
static unsigned rank(const struct kallsyms *k, const struct ksym *s)
{
	const char *name = k->names.data + s->name;

	return is_marker(name) ? 3 : name[-1] == 'T' ? 0 : name[-1] == 't' ? 1 : 2;
}

/* Of the symbols of one address, the best stays. false: out of memory. */
static bool add(struct kallsyms *k, uint64_t addr, char type, const char *name, size_t len)
{
	struct ksym *last = k->syms.n ? &k->syms.v[k->syms.n - 1] : NULL, s = {addr, (uint32_t)k->names.len + 1};

	buf_add(&k->names, &type, 1);
	buf_add(&k->names, name, len);
	buf_add(&k->names, "", 1);
	if (k->names.failed)
		return false;
	if (!last || last->addr != addr) {
		k->unsorted |= last && last->addr > addr;
		return vec_push(&k->syms, s);
	}
	if (rank(k, &s) < rank(k, last))
		*last = s;
	else
		k->names.len = s.name - 1;
	return true;
}

/* "ffffffff81000000 T _text"; for symbols of modules, "\t[module]" follows. proc(5). false: out of memory. */
static bool parse_line(struct kallsyms *k, const char *line, const char *end)
{
	uint64_t addr = 0;
	const char *p = line;

	if (parse_digits(&p, end, 16, &addr) < 0 || end - p < 4 || p[0] != ' ' || p[2] != ' ')
		return true;
	k->seen_nonzero |= addr != 0;
	if (!addr || !strchr("tTwW", p[1]) || strchr("\t \n", p[3]))
		return true;
	k->seen_module |= end[-1] == ']';
	return add(k, addr, p[1], p + 3, name_len(p + 3));
}

/* All lines that are complete; at the end of the file, the last one is. */
static bool parse_lines(struct kallsyms *k, bool at_end)
{
	const char *p = k->text, *stop = k->text + k->len, *end;

	while (p < stop && ((end = memchr(p, '\n', (size_t)(stop - p))) || at_end)) {
		end = end ? end : stop;
		if (!parse_line(k, p, end))
			return false;
		p = end + (end < stop);
	}
	k->len = (size_t)(stop - p);
	memmove(k->text, p, k->len + 1);
	return true;
}

/* Keeps the best symbol of each address. */
static void sort_and_merge(struct kallsyms *k)
{
	size_t n = 0;

	address_sort(k->syms.v, k->syms.n, sizeof(*k->syms.v));
	for (size_t i = 0; i < k->syms.n; i++) {
		struct ksym s = k->syms.v[i];

		if (!n || k->syms.v[n - 1].addr != s.addr)
			k->syms.v[n++] = s;
		else if (rank(k, &s) < rank(k, &k->syms.v[n - 1]))
			k->syms.v[n - 1] = s;
	}
	k->syms.n = n;
}

/* Bytes read, 0 at the end, or -errno. */
static ssize_t read_piece(struct kallsyms *k)
{
	ssize_t n;

	if (k->all > TEXT_MAX)
		return -EFBIG;
	if (k->cap - k->len <= PIECE) {
		char *grown = realloc(k->text, k->cap = k->cap ? k->cap * 2 : 2 * PIECE);

		if (!grown)
			return -ENOMEM;
		k->text = grown;
	}
	do
		n = read(k->fd, k->text + k->len, PIECE);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	k->len += (size_t)n;
	k->all += (size_t)n;
	k->text[k->len] = '\0';
	return n;
}

/* The symbols around `addr` are known: a later line of the kernel itself would be above. */
static bool is_passed(const struct kallsyms *k, uint64_t addr)
{
	return k->syms.n && k->syms.v[k->syms.n - 1].addr > addr && !k->unsorted && !k->seen_module;
}

static int read_on(struct kallsyms *k, uint64_t addr)
{
	ssize_t n = 1;

	while (n > 0 && !is_passed(k, addr)) {
		n = read_piece(k);
		if (n >= 0 && !parse_lines(k, n == 0))
			n = -ENOMEM;
	}
	if (n > 0)
		return 0;
	close(k->fd);
	k->fd = -1;
	if (n == 0 && k->all && !k->seen_nonzero)
		n = -EACCES;
	if (n < 0)
		k->syms.n = 0;
	sort_and_merge(k);
	vec_trim(&k->syms);
	buf_trim(&k->names);
	free(take_ptr(k->text));
	return (int)n;
}

int kallsyms_load(struct kallsyms *k, uint64_t addr, struct err *err)
{
	int r = k->fd < 0 ? 0 : read_on(k, addr);

	if (r == -EACCES)
		return err_set(err, r,
			       "the kernel hides its addresses in /proc/kallsyms "
			       "(sysctl kernel.kptr_restrict)");
	return r < 0 ? err_set(err, r, "cannot read /proc/kallsyms: %s", strerror(-r)) : 0;
}

static const char *name_of(struct kallsyms *k, const struct ksym *s)
{
	char *name = k->names.data + s->name;

	cut_suffix(name);
	return name;
}

const char *kallsyms_find(struct kallsyms *k, uint64_t addr)
{
	struct err e = {0};
	size_t i;

	if (kallsyms_load(k, addr, &e) < 0)
		log_warn("kernel frames are [kernel], without names: %s", e.msg);
	i = first_above(k->syms.v, k->syms.n, addr, addr);
	if (i == 0 || addr - k->syms.v[i - 1].addr >= REACH_MAX)
		return NULL;
	return name_of(k, &k->syms.v[i - 1]);
}
