#include "sampler/daemon/config/ini.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "symbolizer/base/err.h"
#include "symbolizer/base/text.h"

struct parser {
	const struct ini_reader *reader;
	enum { BEFORE_ALL, IN_SECTION, IN_WRONG_SECTION } state;
	unsigned line;
};

static void problem(const struct parser *p, const char *text)
{
	p->reader->problem(p->reader->ctx, p->line, text);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Removes blanks at both ends; writes a NUL at the end. */
static char *trim(char *s)
{
	size_t n = strlen(s);

	while (n && is_blank(s[n - 1]))
		n--;
	s[n] = '\0';
	while (is_blank(*s))
		s++;
	return s;
}

/* "[rule NAME]" */
static int read_heading(struct parser *p, char *line, struct err *err)
{
	char *end = strchr(line, ']'), *name;

	p->state = IN_WRONG_SECTION;
	if (!end || end[1])
		return err_set(err, -EINVAL, "'%s': a heading is '[section]' and nothing else", line);
	*end = '\0';
	line = trim(line + 1);
	name = line + strcspn(line, " \t");
	if (*name)
		*name++ = '\0';
	if (!*line)
		return err_set(err, -EINVAL, "a heading without a name");
	if (p->reader->section(p->reader->ctx, p->line, line, trim(name), err) < 0)
		return -EINVAL;
	p->state = IN_SECTION;
	return 0;
}

static int read_setting(struct parser *p, char *line, struct err *err)
{
	char *equals = strchr(line, '='), *key, *value;

	if (!equals)
		return err_set(err, -EINVAL, "'%s': neither '[section]' nor 'key = value'", line);
	*equals = '\0';
	key = trim(line);
	value = trim(equals + 1);
	if (!*key)
		return err_set(err, -EINVAL, "a value without a key");
	if (p->state == BEFORE_ALL)
		return err_set(err, -EINVAL, "%s: it must be below a heading such as [sampling]", key);
	if (!*value)
		return err_set(err, -EINVAL, "%s: the value is missing; to use the default, leave out the line", key);
	return p->reader->setting(p->reader->ctx, p->line, key, value, err);
}

static void read_line(struct parser *p, char *line)
{
	struct err err = {0};
	int r = 0;

	line = trim(line);
	if (!*line || *line == '#' || *line == ';')
		return;
	if (*line == '[')
		r = read_heading(p, line, &err);
	else if (p->state != IN_WRONG_SECTION)
		r = read_setting(p, line, &err);
	if (r < 0)
		problem(p, err.msg);
}

static void take_line(struct parser *p, const char *text, size_t len)
{
	char line[INI_LINE_MAX + 1], clean[INI_LINE_MAX + 1];

	p->line++;
	if (len > INI_LINE_MAX) {
		problem(p, "the line is too long; a line has at most 4096 bytes");
		return;
	}
	line[len] = '\0';
	for (size_t i = 0; i < len; i++) /* blanks are the only control characters allowed */
		line[i] = is_blank(text[i]) ? ' ' : text[i];
	text_sanitise(clean, sizeof(clean), line, len);
	if (memcmp(clean, line, len) != 0)
		problem(p, "the line is not valid UTF-8");
	else
		read_line(p, clean);
}

void ini_read(const char *text, size_t len, const struct ini_reader *reader)
{
	struct parser p = {.reader = reader};

	for (const char *end = text + len, *eol; text < end; text = eol + 1) {
		eol = memchr(text, '\n', (size_t)(end - text));
		if (!eol)
			eol = end;
		take_line(&p, text, (size_t)(eol - text));
	}
}
