#include "symbolizer/native/names/kallsyms.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbolizer/base/address_sort.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/fileio.h"
#include "symbolizer/base/log.h"
#include "symbolizer/base/parse.h"
#include "symbolizer/base/sorted.h"
#include "symbolizer/base/vec.h"
#include "symbolizer/native/names/suffix.h"

/* Usually it has a few hundred thousand lines of 40 bytes. */
enum { TEXT_MAX = 256 << 20 };
/* No kernel function is longer: an address further from its symbol is in a gap between modules. */
#define REACH_MAX UINT64_C(0x40000)

struct ksym {
	uint64_t addr; /* first, for address_sort() */
	uint32_t name; /* offset in text; the type is two bytes before it */
};

struct kallsyms {
	int fd; /* -1: has been read */
	char *text; /* ends with a NUL; a name is terminated in place when it is looked up */
	VEC(struct ksym) syms; /* once loaded: by addr, all different */
	bool seen_nonzero;
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
	size_t len = name_len(name);

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (len == strlen(places[i]) && !strncmp(name, places[i], len))
			return true;
	return !strncmp(name, "__pfx_", 6);
}

/* Of the symbols at one address, the lowest is best, then the one whose line is first. */
static unsigned rank(const struct kallsyms *k, const struct ksym *s)
{
	const char *name = k->text + s->name;

	return is_marker(name) ? 3 : name[-2] == 'T' ? 0 : name[-2] == 't' ? 1 : 2;
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
	return vec_push(&k->syms, ((struct ksym){addr, (uint32_t)(p + 3 - k->text)}));
}

static bool parse_lines(struct kallsyms *k, size_t len)
{
	const char *p = k->text, *end = p + len;

	while (p < end) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		const char *line_end = newline ? newline : end;

		if (!parse_line(k, p, line_end))
			return false;
		p = line_end + 1;
	}
	return true;
}

/* Keeps the best symbol of each address. */
static void sort_and_merge(struct kallsyms *k)
{
	size_t i, n = 0;

	address_sort(k->syms.v, k->syms.n, sizeof(*k->syms.v));
	for (i = 0; i < k->syms.n; i++) {
		struct ksym s = k->syms.v[i];

		if (!n || k->syms.v[n - 1].addr != s.addr)
			k->syms.v[n++] = s;
		else if (rank(k, &s) < rank(k, &k->syms.v[n - 1]))
			k->syms.v[n - 1] = s;
	}
	k->syms.n = n;
}

static int read_all(struct kallsyms *k)
{
	size_t len;
	int r = file_read_fd(k->fd, TEXT_MAX, &k->text, &len);

	if (r < 0)
		return r;
	if (!parse_lines(k, len))
		r = -ENOMEM;
	else if (len && !k->seen_nonzero)
		r = -EACCES;
	if (r == 0)
		sort_and_merge(k);
	else
		k->syms.n = 0;
	return r;
}

int kallsyms_load(struct kallsyms *k, struct err *err)
{
	int r;

	if (k->fd < 0)
		return 0;
	r = read_all(k);
	close(k->fd);
	k->fd = -1;
	if (r == -EACCES)
		return err_set(err, r,
			       "the kernel hides its addresses in /proc/kallsyms "
			       "(sysctl kernel.kptr_restrict)");
	return r < 0 ? err_set(err, r, "cannot read /proc/kallsyms: %s", strerror(-r)) : 0;
}

static const char *name_of(struct kallsyms *k, const struct ksym *s)
{
	char *name = k->text + s->name;

	name[name_len(name)] = '\0';
	cut_suffix(name);
	return name;
}

const char *kallsyms_find(struct kallsyms *k, uint64_t addr)
{
	struct err e = {0};
	size_t i;

	if (kallsyms_load(k, &e) < 0)
		log_warn("kernel frames are [kernel], without names: %s", e.msg);
	i = first_above(k->syms.v, k->syms.n, addr, addr);
	if (i == 0 || addr - k->syms.v[i - 1].addr >= REACH_MAX)
		return NULL;
	return name_of(k, &k->syms.v[i - 1]);
}
