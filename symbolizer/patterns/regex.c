/* A parser that emits a program for a nondeterministic automaton, and its simulation, all threads in step (Thompson 1968). */
#include "symbolizer/patterns/regex.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/base/err.h"

/* A byte of text makes at most two instructions. */
enum { INSTRUCTIONS = 2 * REGEX_MAX + 2, DEPTH_MAX = 50, BYTES = 256 };

enum op { OP_BYTE, OP_ANY, OP_SET, OP_SPLIT, OP_JUMP, OP_BEGIN, OP_END, OP_MATCH };

struct instruction {
	uint8_t op, byte;
	uint16_t x, y; /* where OP_SPLIT and OP_JUMP go on; x: the set of OP_SET */
};

struct byte_set {
	uint64_t bits[BYTES / 64];
};

/* Instructions at which threads are; each at most once. */
struct threads {
	uint16_t at[INSTRUCTIONS], where[INSTRUCTIONS], n;
};

struct regex {
	struct instruction code[INSTRUCTIONS];
	struct byte_set sets[REGEX_MAX];
	uint16_t n, n_sets;
	struct threads now, next;
	uint16_t stack[2 * INSTRUCTIONS];
};

struct parse {
	struct regex *re;
	const char *p;
	unsigned depth;
	const char *wrong; /* NULL: nothing yet */
};

/* --- the parser --- */

static void say(struct parse *s, const char *wrong)
{
	if (!s->wrong)
		s->wrong = wrong;
}

static uint16_t emit(struct parse *s, uint8_t op, uint8_t byte, uint16_t x, uint16_t y)
{
	s->re->code[s->re->n] = (struct instruction){op, byte, x, y};
	return s->re->n++;
}

/* Makes room for one instruction before those from `at` on, which refer to one another only. */
static struct instruction *insert(struct parse *s, uint16_t at)
{
	struct instruction *code = s->re->code;

	memmove(code + at + 1, code + at, (size_t)(s->re->n - at) * sizeof(*code));
	s->re->n++;
	for (uint16_t i = at + 1; i < s->re->n; i++) {
		if (code[i].op != OP_SPLIT && code[i].op != OP_JUMP)
			continue;
		code[i].x++;
		code[i].y++;
	}
	return &code[at];
}

static bool set_has(const struct byte_set *set, uint8_t c)
{
	return set->bits[c / 64] >> c % 64 & 1;
}

static void add_range(struct byte_set *set, unsigned first, unsigned last)
{
	for (unsigned c = first; c <= last; c++)
		set->bits[c / 64] |= UINT64_C(1) << c % 64;
}

/* After "[" and perhaps "^": up to "]", which counts as itself if it is the first. */
static void parse_members(struct parse *s, struct byte_set *set)
{
	bool first = true;

	for (; *s->p && (*s->p != ']' || first); first = false) {
		uint8_t from = (uint8_t)*s->p++, to = from;

		if (from == '[' && *s->p && strchr(":.=", *s->p))
			return say(s, "classes such as [:alpha:] are not supported");
		if (*s->p == '-' && s->p[1] && s->p[1] != ']') {
			to = (uint8_t)s->p[1];
			s->p += 2;
		}
		if (from > to)
			return say(s, "a range in brackets is empty");
		add_range(set, from, to);
	}
	if (!*s->p)
		return say(s, "[ without ]");
	s->p++;
}

static void parse_set(struct parse *s)
{
	struct byte_set *set = &s->re->sets[s->re->n_sets];
	bool negated = *s->p == '^';

	s->p += negated;
	parse_members(s, set);
	for (int i = 0; negated && i < BYTES / 64; i++)
		set->bits[i] = ~set->bits[i];
	emit(s, OP_SET, 0, s->re->n_sets++, 0);
}

static void parse_any_of(struct parse *s);

static void parse_group(struct parse *s)
{
	if (++s->depth > DEPTH_MAX)
		return say(s, "too many ( within (");
	parse_any_of(s);
	s->depth--;
	if (*s->p != ')')
		return say(s, "( without )");
	s->p++;
}

/* *p != 0 */
static void parse_one(struct parse *s)
{
	char c = *s->p++;

	switch (c) {
	case '(': return parse_group(s);
	case '[': return parse_set(s);
	case '.': emit(s, OP_ANY, 0, 0, 0); return;
	case '^': emit(s, OP_BEGIN, 0, 0, 0); return;
	case '$': emit(s, OP_END, 0, 0, 0); return;
	case '*':
	case '+':
	case '?': return say(s, "there is nothing before a *, + or ?");
	case '{': return say(s, "{n,m} is not supported; for a brace, write \\{");
	case '\\':
		c = *s->p ? *s->p++ : '\0';
		if (!c || strchr("123456789", c))
			return say(s, "\\ at the end, or before a digit");
		break;
	}
	emit(s, OP_BYTE, (uint8_t)c, 0, 0);
}

static void parse_repeated(struct parse *s)
{
	uint16_t start = s->re->n;
	const char *from = s->p;

	parse_one(s);
	if (!s->wrong && (*from == '^' || *from == '$') && *s->p && strchr("*+?", *s->p))
		say(s, "^ and $ cannot be repeated");
	for (; !s->wrong && *s->p && strchr("*+?", *s->p); s->p++) {
		uint16_t end = s->re->n;

		if (*s->p == '+') {
			emit(s, OP_SPLIT, 0, start, (uint16_t)(end + 1));
			continue;
		}
		end += *s->p == '*' ? 2 : 1;
		*insert(s, start) = (struct instruction){OP_SPLIT, 0, (uint16_t)(start + 1), end};
		if (*s->p == '*')
			emit(s, OP_JUMP, 0, start, start);
	}
}

static void parse_any_of(struct parse *s)
{
	uint16_t start = s->re->n, jump;

	while (!s->wrong && *s->p && *s->p != '|' && *s->p != ')')
		parse_repeated(s);
	if (s->wrong || *s->p != '|')
		return;
	s->p++;
	insert(s, start);
	jump = emit(s, OP_JUMP, 0, 0, 0);
	s->re->code[start] = (struct instruction){OP_SPLIT, 0, (uint16_t)(start + 1), s->re->n};
	parse_any_of(s);
	s->re->code[jump].x = s->re->code[jump].y = s->re->n;
}

int regex_new(const char *text, struct regex **ret, struct err *err)
{
	struct parse s = {.p = text};

	if (!*text || strlen(text) >= REGEX_MAX)
		return err_set(err, -EINVAL, "a regular expression has 1 to %d characters", REGEX_MAX - 1);
	s.re = calloc(1, sizeof(*s.re));
	if (!s.re)
		return err_set(err, -ENOMEM, "out of memory");
	parse_any_of(&s);
	if (*s.p == ')')
		say(&s, ") without (");
	if (s.wrong) {
		free(s.re);
		return err_set(err, -EINVAL, "regular expression '%s': %s", text, s.wrong);
	}
	emit(&s, OP_MATCH, 0, 0, 0);
	*ret = s.re;
	return 0;
}

void regex_free(struct regex *re)
{
	free(re);
}

/* --- the simulation --- */

static bool has_thread(const struct threads *t, uint16_t at)
{
	return t->where[at] < t->n && t->at[t->where[at]] == at;
}

/* A thread at `at`, and wherever one gets from there without reading a byte. */
static void add_threads(struct regex *re, struct threads *t, uint16_t at, bool begin, bool end)
{
	unsigned n = 0;

	re->stack[n++] = at;
	while (n) {
		const struct instruction *i;

		at = re->stack[--n];
		if (has_thread(t, at))
			continue;
		t->where[at] = t->n;
		t->at[t->n++] = at;
		i = &re->code[at];
		if (i->op == OP_SPLIT || i->op == OP_JUMP)
			re->stack[n++] = i->x;
		if (i->op == OP_SPLIT)
			re->stack[n++] = i->y;
		if ((i->op == OP_BEGIN && begin) || (i->op == OP_END && end))
			re->stack[n++] = (uint16_t)(at + 1);
	}
}

static bool reads(const struct regex *re, const struct instruction *i, uint8_t c)
{
	return i->op == OP_ANY || (i->op == OP_BYTE && i->byte == c) ||
	       (i->op == OP_SET && set_has(&re->sets[i->x], c));
}

int regex_matches(struct regex *re, const char *text, uint64_t *work)
{
	struct threads *now = &re->now, *next = &re->next, *last;
	uint16_t match = (uint16_t)(re->n - 1);

	now->n = 0;
	for (const char *p = text;; p++) {
		add_threads(re, now, 0, p == text, !*p);
		*work += now->n;
		if (has_thread(now, match) || !*p)
			return has_thread(now, match);
		next->n = 0;
		for (uint16_t i = 0; i < now->n; i++)
			if (reads(re, &re->code[now->at[i]], (uint8_t)*p))
				add_threads(re, next, (uint16_t)(now->at[i] + 1), false, !p[1]);
		last = now;
		now = next;
		next = last;
	}
}
