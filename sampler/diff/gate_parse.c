#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/diff/gate.h"
#include "sampler/views/name_pattern.h"
#include "symbolizer/base/err.h"

/* State of the parser. */
struct reading {
	const char *text, *at;
	struct err *err;
};

static void skip_blanks(struct reading *r)
{
	while (*r->at == ' ' || *r->at == '\t')
		r->at++;
}

static int wanted(const struct reading *r, const char *what)
{
	return err_set(r->err, -EINVAL, "'%.200s': column %d: %s", r->text, (int)(r->at - r->text) + 1, what);
}

/* Matches a word that is not followed by a letter. */
static bool take_word(struct reading *r, const char *word)
{
	size_t n = strlen(word);

	skip_blanks(r);
	if (strncmp(r->at, word, n) != 0 || isalnum((unsigned char)r->at[n]) || r->at[n] == '_')
		return false;
	r->at += n;
	return true;
}

static bool take_sign(struct reading *r, const char *sign)
{
	size_t n = strlen(sign);

	skip_blanks(r);
	if (strncmp(r->at, sign, n) != 0)
		return false;
	r->at += n;
	return true;
}

/* The parenthesis that closes the one before `s`; NULL: none. Names contain pairs: operator(). */
static const char *closing(const char *s)
{
	for (int open = 1; *s; s++) {
		open += (*s == '(') - (*s == ')');
		if (!open)
			return s;
	}
	return NULL;
}

static int read_pattern(struct reading *r, struct gate *g)
{
	const char *end = closing(r->at), *from;
	struct err why = {0};

	skip_blanks(r);
	from = r->at;
	if (!end)
		return wanted(r, "the ')' after the method is missing");
	r->at = end + 1;
	while (end > from && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	g->pattern = strndup(from, (size_t)(end - from));
	if (!g->pattern)
		return err_set(r->err, -ENOMEM, "out of memory");
	if (name_pattern_check(g->pattern, &why) == 0)
		return 0;
	r->at = from;
	return wanted(r, why.msg);
}

static int read_comparison(struct reading *r, struct gate *g)
{
	skip_blanks(r);
	g->less = *r->at == '<';
	if (*r->at != '<' && *r->at != '>')
		return wanted(r, "expected '>' or '<'");
	r->at++;
	g->or_equal = *r->at == '=';
	r->at += g->or_equal;
	return 0;
}

/*
 * Digits with at most one point, without the other forms that strtod() accepts (hexadecimal, inf,
 * exponents).
 */
static int read_number(struct reading *r, double *ret)
{
	size_t whole = strspn(r->at, "0123456789"), part = 0;
	const char *from = r->at;

	if (from[whole] == '.')
		part = 1 + strspn(from + whole + 1, "0123456789");
	if (whole + part < 1 || (!whole && part == 1) || whole > 9 || part > 10)
		return wanted(r, "expected a number such as 3 or 0.5");
	*ret = strtod(from, NULL);
	r->at += whole + part;
	return 0;
}

static int read_limit(struct reading *r, struct gate *g)
{
	bool minus;
	int e;

	skip_blanks(r);
	minus = *r->at == '-';
	if (*r->at != '+' && *r->at != '-')
		return wanted(r, "expected a change with its sign: +3pt or -10%");
	if (minus != g->less)
		return wanted(r, "growth is '> +', shrinking is '< -'");
	r->at++;
	e = read_number(r, &g->limit);
	if (e < 0)
		return e;
	g->limit = minus ? -g->limit : g->limit;
	g->relative = take_sign(r, "%");
	if (!g->relative && !take_word(r, "pt"))
		return wanted(r, "expected 'pt' (points of share) or '%' (of the share before)");
	skip_blanks(r);
	return *r->at ? wanted(r, "the expression ends here; use one --fail-if for each") : 0;
}

static int read_all(struct reading *r, struct gate *g)
{
	int e;

	g->any = take_word(r, "any");
	g->total = take_word(r, "total");
	if (!g->total && !take_word(r, "self"))
		return wanted(r, g->any ? "expected self(...) or total(...)" : "expected self(...), total(...) or any");
	if (!take_sign(r, "("))
		return wanted(r, "expected '('");
	e = read_pattern(r, g);
	if (e == 0)
		e = read_comparison(r, g);
	return e == 0 ? read_limit(r, g) : e;
}

int gate_parse(const char *text, struct gate *ret, struct err *err)
{
	struct reading r = {.text = text, .at = text, .err = err};
	struct gate g = {.text = text};
	int e;

	if (strlen(text) > GATE_TEXT_MAX)
		return err_set(err, -EINVAL, "'%.40s...': longer than %d characters", text, GATE_TEXT_MAX);
	e = read_all(&r, &g);
	if (e < 0)
		gate_done(&g);
	else
		*ret = g;
	return e;
}

void gate_done(struct gate *g)
{
	free(g->pattern);
	g->pattern = NULL;
}
