#include "symbolizer/native/names/kallsyms.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/base/address_sort.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/fileio.h"
#include "symbolizer/base/parse.h"
#include "symbolizer/base/sorted.h"
#include "symbolizer/base/text.h"
#include "symbolizer/base/vec.h"
#include "symbolizer/native/names/suffix.h"

/* Usually it has a few hundred thousand lines of 40 bytes. */
enum { TEXT_MAX = 256 << 20 };
/* No kernel function is longer: an address further from its symbol is in a gap between modules. */
#define REACH_MAX UINT64_C(0x40000)

struct ksym {
	uint64_t addr; /* first, for address_sort() */
	uint32_t name; /* offset in text */
	uint32_t order; /* rank among symbols of one address */
};

struct kallsyms {
	char *text; /* names are terminated in place */
	VEC(struct ksym) syms;
	bool seen_nonzero;
};

/* Symbols that mark places, or the padding before functions, rather than functions. */
static bool is_marker(const char *name)
{
	return !strcmp(name, "_text") || !strcmp(name, "_stext") || !strcmp(name, "_etext") ||
	       !strncmp(name, "__pfx_", 6);
}

static uint32_t order_of(char type, const char *name, size_t line)
{
	uint32_t order = is_marker(name) ? 4 : type == 'T' ? 0 : type == 't' ? 1 : 2;

	return order << 28 | ((uint32_t)line & 0x0fffffff);
}

/* "ffffffff81000000 T _text"; for symbols of modules, "\t[module]" follows. proc(5). false: out of memory. */
static bool parse_line(struct kallsyms *k, char *line, size_t number)
{
	uint64_t addr = 0;
	const char *p = line, *end = line + strlen(line);
	char type, *name;

	if (parse_digits(&p, end, 16, &addr) < 0 || end - p < 4 || p[0] != ' ' || p[2] != ' ')
		return true;
	type = p[1];
	name = line + (p - line) + 3;
	k->seen_nonzero |= addr != 0;
	if (!strchr("tTwW", type))
		return true;
	name[strcspn(name, "\t ")] = 0;
	cut_suffix(name);
	if (!*name || !addr)
		return true;
	return vec_push(&k->syms, ((struct ksym){addr, (uint32_t)(name - k->text), order_of(type, name, number)}));
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
		else if (s.order < k->syms.v[n - 1].order)
			k->syms.v[n - 1] = s;
	}
	k->syms.n = n;
}

/* Takes over `text`, of `len` bytes and a NUL. */
static int parse_owned(char *text, size_t len, struct kallsyms **ret)
{
	struct kallsyms *k = calloc(1, sizeof(*k));
	char *p = text, *line;
	size_t number = 0;
	int r = k ? 0 : -ENOMEM;

	if (k)
		k->text = text;
	else
		free(text);
	while (r == 0 && (line = text_line(&p, text + len)))
		r = parse_line(k, line, number++) ? 0 : -ENOMEM;
	if (r == 0 && number && !k->seen_nonzero)
		r = -EACCES;
	if (r < 0) {
		kallsyms_close(k);
		return r;
	}
	sort_and_merge(k);
	*ret = k;
	return 0;
}

int kallsyms_read(int fd, struct kallsyms **ret, struct err *err)
{
	char *text;
	size_t len;
	int r = file_read_fd(fd, TEXT_MAX, &text, &len);

	if (r < 0)
		return err_set(err, r, "cannot read /proc/kallsyms: %s", strerror(-r));
	r = parse_owned(text, len, ret);
	if (r == -EACCES)
		return err_set(err, r,
			       "the kernel hides its addresses in /proc/kallsyms "
			       "(sysctl kernel.kptr_restrict)");
	return r < 0 ? err_set(err, r, "/proc/kallsyms: %s", strerror(-r)) : 0;
}

void kallsyms_close(struct kallsyms *k)
{
	if (!k)
		return;
	vec_done(&k->syms);
	free(k->text);
	free(k);
}

const char *kallsyms_find(const struct kallsyms *k, uint64_t addr)
{
	size_t i = first_above(k->syms.v, k->syms.n, addr, addr);

	if (i == 0 || addr - k->syms.v[i - 1].addr >= REACH_MAX)
		return NULL;
	return k->text + k->syms.v[i - 1].name;
}
