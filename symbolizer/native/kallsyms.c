#include "symbolizer/native/kallsyms.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/fileio.h"
#include "symbolizer/base/vec.h"
#include "symbolizer/native/suffix.h"

/* A few hundred thousand lines of 40 bytes; a quarter of that in names. */
enum { TEXT_MAX = 256 << 20 };
/* No kernel function is this long: further from a symbol there is nothing (gaps between modules). */
#define REACH_MAX UINT64_C(0x40000)

struct ksym {
	uint64_t addr;
	uint32_t name; /* offset in text */
	uint32_t order; /* rank among symbols of one address */
};

struct kallsyms {
	char *text; /* names are terminated in place */
	VEC(struct ksym) syms;
	bool seen_nonzero;
};

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

/* Names of places rather than of functions; padding in front of functions. */
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

/* "ffffffff81000000 T _text", behind module symbols "\t[module]". proc(5). */
static bool parse_line(struct kallsyms *k, char *line, char *end, size_t number)
{
	uint64_t addr = 0;
	char *p = line, *name;
	int digit;

	while (p < end && p - line < 16 && (digit = hex_digit(*p)) >= 0) {
		addr = addr << 4 | (uint64_t)digit;
		p++;
	}
	if (p == line || end - p < 4 || p[0] != ' ' || p[2] != ' ')
		return true;
	k->seen_nonzero |= addr != 0;
	if (!strchr("tTwW", p[1]))
		return true;
	name = p + 3;
	*end = 0;
	name[strcspn(name, "\t ")] = 0;
	cut_suffix(name);
	if (!*name || !addr)
		return true;
	return vec_push(&k->syms, ((struct ksym){addr, (uint32_t)(name - k->text),
						 order_of(p[1], name, number)}));
}

static int ksym_cmp(const void *pa, const void *pb)
{
	const struct ksym *a = pa, *b = pb;

	if (a->addr != b->addr)
		return a->addr < b->addr ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static void sort_and_merge(struct kallsyms *k)
{
	size_t i, n = 0;

	if (k->syms.n)
		qsort(k->syms.v, k->syms.n, sizeof(*k->syms.v), ksym_cmp);
	for (i = 0; i < k->syms.n; i++)
		if (!n || k->syms.v[n - 1].addr != k->syms.v[i].addr)
			k->syms.v[n++] = k->syms.v[i];
	k->syms.n = n;
}

/* Takes `text` over: `len` bytes, NUL-terminated. */
static int parse_owned(char *text, size_t len, struct kallsyms **ret)
{
	struct kallsyms *k = calloc(1, sizeof(*k));
	char *p = text, *end = text + len, *eol;
	size_t number = 0;

	if (!k) {
		free(text);
		return -ENOMEM;
	}
	k->text = text;
	for (; p < end; p = eol + 1) {
		eol = memchr(p, '\n', (size_t)(end - p));
		if (!eol)
			eol = end;
		if (!parse_line(k, p, eol, number++)) {
			kallsyms_close(k);
			return -ENOMEM;
		}
	}
	if (number && !k->seen_nonzero) {
		kallsyms_close(k);
		return -EACCES;
	}
	sort_and_merge(k);
	*ret = k;
	return 0;
}

int kallsyms_parse(const char *text, uint64_t len, struct kallsyms **ret)
{
	char *copy;

	if (len > TEXT_MAX)
		return -EFBIG;
	copy = malloc(len + 1);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, text, len);
	copy[len] = 0;
	return parse_owned(copy, len, ret);
}

int kallsyms_open(struct kallsyms **ret, struct err *err)
{
	CLEANUP(close_at_exit) int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return err_set(err, -errno, "cannot read /proc/kallsyms: %m");
	return kallsyms_read(fd, ret, err);
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
		return err_set(err, r, "the kernel hides its addresses in /proc/kallsyms "
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
	size_t lo = 0, hi = k->syms.n;
	const struct ksym *s;

	while (lo < hi) { /* first one behind addr */
		size_t mid = lo + (hi - lo) / 2;

		if (k->syms.v[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo)
		return NULL;
	s = &k->syms.v[lo - 1];
	return addr - s->addr < REACH_MAX ? k->text + s->name : NULL;
}
