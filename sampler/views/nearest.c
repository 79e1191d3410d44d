#include "sampler/views/nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "sampler/model/named_profile.h"
#include "symbolizer/base/text.h"

/* WORD: limit of characters compared; FAR: not similar. */
enum { NEAREST = 3, WORD = 64, FAR = 1000 };

struct candidates {
	const struct named_profile *np;
	char wanted[WORD + 1]; /* lower case, without operators */
	bool is_part; /* `wanted` has no class or package: compare it with parts of names, too */
	struct {
		uint32_t id;
		int distance;
	} best[NEAREST];
	size_t n;
};

/* The letters of a regular expression or pattern. */
static void plain_word(const char *text, char *dst)
{
	size_t n = 0;

	for (; *text && n < WORD; text++)
		if (!strchr("^$*+?()[]{}|\\", *text))
			dst[n++] = *text == '.' || *text == '#' ? '/' : (char)tolower((unsigned char)*text);
	while (n && dst[n - 1] == '/')
		n--;
	dst[n] = '\0';
}

static int least(int a, int b, int c)
{
	int m = a < b ? a : b;

	return m < c ? m : c;
}

/* Levenshtein distance to the first WORD characters of `name`, in one row. */
static int distance(const char *wanted, const char *name, size_t len)
{
	int row[WORD + 1], n = (int)strlen(wanted);

	if (len > WORD || !len)
		return FAR;
	for (int i = 0; i <= n; i++)
		row[i] = i;
	for (size_t k = 0; k < len; k++) {
		int diagonal = row[0], c = name[k] == '.' ? '/' : tolower((unsigned char)name[k]);

		row[0] = (int)k + 1;
		for (int i = 1; i <= n; i++) {
			int above = row[i];

			row[i] = least(above + 1, row[i - 1] + 1, diagonal + (wanted[i - 1] != c));
			diagonal = above;
		}
	}
	return row[n];
}

int nearest_distance(const char *a, const char *b)
{
	return strlen(a) > WORD ? FAR : distance(a, b, strlen(b));
}

static const char *behind(const char *name, char c)
{
	const char *p = strrchr(name, c);

	return p ? p + 1 : name;
}

/* The smallest distance to the whole name, Class.method, Class and method. */
static int likeness(const struct candidates *c, const char *name)
{
	const char *class = behind(name, '/'), *method = behind(class, '.');
	int d = least(distance(c->wanted, name, strlen(name)), distance(c->wanted, class, strlen(class)), FAR);

	if (!c->is_part)
		return d;
	if (method > class)
		d = least(d, distance(c->wanted, class, (size_t)(method - class) - 1), FAR);
	method = behind(method, ':');
	return least(d, distance(c->wanted, method, strlen(method)), FAR);
}

/* The largest distance that is still similar. */
static int distance_max(const char *wanted)
{
	return 1 + (int)strlen(wanted) / 4;
}

int nearest_word(const char *text, const char *name)
{
	char wanted[WORD + 1];
	int d;

	plain_word(text, wanted);
	d = distance(wanted, name, strlen(name));
	return *wanted && d <= distance_max(wanted) ? d : -1;
}

static void consider(struct candidates *c, uint32_t id)
{
	const char *name = named_string(c->np, id);
	int d = likeness(c, name);
	size_t at;

	for (size_t i = 0; i < c->n; i++)
		if (c->best[i].id == id)
			return;
	if (d > distance_max(c->wanted))
		return;
	for (at = c->n; at && d < c->best[at - 1].distance; at--)
		if (at < NEAREST)
			c->best[at] = c->best[at - 1];
	if (at == NEAREST)
		return;
	c->best[at].id = id;
	c->best[at].distance = d;
	c->n += c->n < NEAREST;
}

static void begin(struct candidates *c, const struct named_profile *np, const char *text)
{
	*c = (struct candidates){.np = np};
	plain_word(text, c->wanted);
	c->is_part = !strchr(c->wanted, '/');
}

static void end(const struct candidates *c, char *dst, size_t size)
{
	size_t len = 0;

	if (size)
		*dst = '\0';
	for (size_t i = 0; i < c->n && len < size; i++) {
		const char *name = named_string(c->np, c->best[i].id);
		char clean[WORD * 4 + 1];

		text_sanitise(clean, sizeof(clean), name, strlen(name));
		len += (size_t)snprintf(dst + len, size - len, "%s%s", i ? ", " : "nearest: ", clean);
	}
}

void nearest_methods(const struct named_profile *np, const char *text, char *dst, size_t size)
{
	struct candidates c;

	begin(&c, np, text);
	for (uint32_t i = 1; *c.wanted && i < np->n_functions; i++)
		consider(&c, np->functions[i].name);
	end(&c, dst, size);
}

void nearest_threads(const struct named_profile *np, const char *text, char *dst, size_t size)
{
	struct candidates c;

	begin(&c, np, text);
	for (uint32_t i = 0; *c.wanted && i < np->n_samples; i++)
		consider(&c, np->samples[i].thread);
	end(&c, dst, size);
}
