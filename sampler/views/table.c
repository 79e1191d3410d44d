#include "sampler/views/table.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/base/text.h"

int table_format_parse(const char *word, enum table_format *ret)
{
	static const char *const words[] = {"text", "json", "csv"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(word, words[i]) != 0)
			continue;
		*ret = (enum table_format)i;
		return 0;
	}
	return -EINVAL;
}

static size_t clean(struct buf *b, const char *lead, const char *text)
{
	buf_reset(b);
	buf_add_z(b, lead);
	buf_add_z(b, text);
	if (b->failed || !b->len)
		return 0;
	b->len = text_sanitise(b->data, b->len + 1, b->data, b->len);
	return b->len;
}

void table_put_clean(FILE *out, struct buf *scratch, const char *text)
{
	size_t len = clean(scratch, "", text);

	if (len)
		fwrite(scratch->data, 1, len, out);
}

static bool column_is_shown(const struct table *t, const struct table_column *c)
{
	return t->format == TABLE_TEXT ? c->title != NULL : c->key != NULL;
}

static bool fits_terminal(const struct table *t)
{
	return t->width && t->format == TABLE_TEXT;
}

/* Pads by characters, because printf() counts bytes. No spaces after the last cell. */
static void put_aligned(struct table *t, const struct table_column *c, const char *s, size_t len)
{
	int width = abs(c->width), used = (int)text_characters(s, len);
	bool last = c == t->columns + t->n - 1;

	if (fits_terminal(t)) {
		table_fit_cell(&t->fit, s, len);
		return;
	}
	if (c->width > 0 && used < width)
		fprintf(t->out, "%*s", width - used, "");
	fwrite(s, 1, len, t->out);
	if (c->width < 0 && used < width && !last)
		fprintf(t->out, "%*s", width - used, "");
}

static void put_titles(struct table *t)
{
	bool first = true;

	for (size_t i = 0; i < t->n; i++) {
		const struct table_column *c = &t->columns[i];
		const char *title = t->format == TABLE_TEXT ? c->title : c->key;

		if (!title)
			continue;
		if (!first)
			fputc(t->format == TABLE_TEXT ? ' ' : ',', t->out);
		if (t->format == TABLE_TEXT)
			put_aligned(t, c, title, strlen(title));
		else
			fputs(title, t->out);
		first = false;
	}
	fputs(t->format == TABLE_CSV ? "\r\n" : "\n", t->out);
}

void table_begin(struct table *t, struct json *json, enum table_format format, size_t width,
		 const struct table_column *columns, size_t n)
{
	*t = (struct table){
		.out = json->out, .json = json, .format = format, .columns = columns, .n = n, .width = width};
	if (format == TABLE_JSON) {
		json_line(json);
		json_member_open(json, "rows", '[');
	} else if (!fits_terminal(t)) {
		put_titles(t);
	}
}

static void cell_begin_json(struct table *t, const char *key)
{
	if (!t->filled) {
		json_line(t->json);
		json_open(t->json, '{');
	}
	json_key(t->json, key);
}

/* Prints what precedes a cell; NULL: the format leaves the column out. */
static const struct table_column *cell_begin(struct table *t)
{
	const struct table_column *c = &t->columns[t->at];

	if (!column_is_shown(t, c))
		return NULL;
	if (t->format == TABLE_JSON)
		cell_begin_json(t, c->key);
	else if (t->filled && !fits_terminal(t))
		fputc(t->format == TABLE_CSV ? ',' : ' ', t->out);
	t->filled = true;
	return c;
}

static void cell_end(struct table *t)
{
	if (++t->at < t->n)
		return;
	if (t->format == TABLE_JSON)
		json_close(t->json, '}');
	else if (!fits_terminal(t))
		fputs(t->format == TABLE_CSV ? "\r\n" : "\n", t->out);
	t->at = 0;
	t->filled = false;
}

static void put_plain(struct table *t, const struct table_column *c, const char *s)
{
	if (t->format == TABLE_TEXT)
		put_aligned(t, c, s, strlen(s));
	else if (t->format == TABLE_JSON)
		json_raw(t->json, s);
	else
		fputs(s, t->out);
}

void table_count(struct table *t, uint64_t value)
{
	const struct table_column *c = cell_begin(t);
	char s[24];

	snprintf(s, sizeof(s), "%" PRIu64, value);
	if (c)
		put_plain(t, c, s);
	cell_end(t);
}

void table_number(struct table *t, double value)
{
	const struct table_column *c;
	char s[400];

	if (!isfinite(value)) {
		table_null(t);
		return;
	}
	c = cell_begin(t);
	if (c && t->format == TABLE_TEXT)
		snprintf(s, sizeof(s), "%.*f", c->decimals, value);
	else
		snprintf(s, sizeof(s), "%.9g", value);
	if (c)
		put_plain(t, c, s);
	cell_end(t);
}

static void put_csv(FILE *out, const char *s, size_t len)
{
	fputc('"', out);
	for (size_t i = 0; i < len; i++) {
		if (s[i] == '"')
			fputc('"', out);
		fputc(s[i], out);
	}
	fputc('"', out);
}

void table_text(struct table *t, const char *text)
{
	const struct table_column *c = cell_begin(t);
	size_t len = c ? clean(&t->text, t->format == TABLE_TEXT && *c->title == ' ' ? " " : "", text) : 0;
	const char *s = len ? t->text.data : "";

	if (c && t->format == TABLE_TEXT)
		put_aligned(t, c, s, len);
	else if (c && t->format == TABLE_CSV)
		put_csv(t->out, s, len);
	else if (c)
		json_text(t->json, s);
	cell_end(t);
}

void table_null(struct table *t)
{
	const struct table_column *c = cell_begin(t);

	if (c && t->format != TABLE_CSV)
		put_plain(t, c, t->format == TABLE_JSON ? "null" : "-");
	cell_end(t);
}

void table_note(struct table *t, const char *text)
{
	size_t len = t->format == TABLE_TEXT ? clean(&t->text, "", text) : 0;

	if (len && fits_terminal(t))
		table_fit_note(&t->fit, t->text.data, len);
	else if (len)
		fprintf(t->out, "          %.*s\n", (int)len, t->text.data);
}

static void put_fitted(struct table *t)
{
	struct table_column *shown = calloc(t->n, sizeof(*shown));
	size_t n = 0;

	for (size_t i = 0; shown && i < t->n; i++)
		if (column_is_shown(t, &t->columns[i]))
			shown[n++] = t->columns[i];
	table_fit_print(&t->fit, t->out, shown, n, t->width);
	free(shown);
}

void table_end(struct table *t)
{
	if (fits_terminal(t))
		put_fitted(t);
	if (t->format == TABLE_JSON) {
		json_line(t->json);
		json_close(t->json, ']');
	}
	table_fit_done(&t->fit);
	buf_done(&t->text);
}
