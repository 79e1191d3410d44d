#include "sampler/views/table_fit.h"

#include <string.h>

#include "sampler/output/columns.h"
#include "sampler/views/table.h"

enum {
	LEAST_NAME = 16, /* columns; names are never cut to less */
	LEAST_LEAD = 4, /* columns; tree lines cut to less are useless */
	NOTE_INDENT = 10,
	NAME_BYTES = 1024, /* bytes that are printed of a cell */
	MAX_COLUMNS = 32,
};

void table_fit_cell(struct table_fit *f, const char *s, size_t len)
{
	if (!vec_push(&f->cells, f->text.len))
		f->failed = true;
	buf_add(&f->text, s, len);
	buf_add(&f->text, "", 1);
	f->failed |= f->text.failed;
}

void table_fit_note(struct table_fit *f, const char *s, size_t len)
{
	if (!vec_push(&f->notes, f->cells.n))
		f->failed = true;
	table_fit_cell(f, s, len);
}

void table_fit_done(struct table_fit *f)
{
	buf_done(&f->text);
	vec_done(&f->cells);
	vec_done(&f->notes);
}

/* Length in bytes of the spaces and lines before a name in a tree. */
static size_t lead_bytes(const char *s)
{
	static const char *const lines[] = {"│", "├", "└"};
	size_t n = 0, i;

	for (;;) {
		if (s[n] == ' ') {
			n++;
			continue;
		}
		for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
			if (strncmp(s + n, lines[i], strlen(lines[i])) == 0)
				break;
		if (i == sizeof(lines) / sizeof(lines[0]))
			return n;
		n += strlen(lines[i]);
	}
}

void table_fit_name(FILE *out, const char *name, size_t room)
{
	size_t lead = lead_bytes(name), most = room > LEAST_NAME ? room - LEAST_NAME : 0, used;
	const char *rest = name + lead;
	char shown[NAME_BYTES];

	if (lead >= sizeof(shown))
		lead = sizeof(shown) - 1;
	memcpy(shown, name, lead);
	shown[lead] = '\0';
	/* Deep in a tree, keep the lines next to the name, which lead to it. */
	if (columns_of(shown) > most) {
		char cut[NAME_BYTES] = "";

		if (most >= LEAST_LEAD)
			columns_fit(cut, sizeof(cut), shown, most, true);
		memcpy(shown, cut, strlen(cut) + 1);
	}
	used = columns_of(shown);
	fputs(shown, out);
	columns_fit(shown, sizeof(shown), rest, room > used ? room - used : 0, true);
	fputs(shown, out);
}

static const char *cell(const struct table_fit *f, size_t at)
{
	return f->text.data + f->cells.v[at];
}

/* Are there characters other than "-" and spaces? */
static bool says_something(const char *s)
{
	s += strspn(s, " ");
	return *s && strcmp(s, "-") != 0;
}

/* Widths of columns; 0: left out. */
static void measure(const struct table_fit *f, const struct table_column *columns, size_t n, size_t *ret)
{
	bool filled[MAX_COLUMNS] = {false};
	size_t note = 0, col = 0;

	for (size_t i = 0; i < n; i++)
		ret[i] = columns_of(columns[i].title);
	for (size_t at = 0; at < f->cells.n; at++) {
		size_t width;

		if (note < f->notes.n && f->notes.v[note] == at) {
			note++;
			continue;
		}
		width = columns_of(cell(f, at));
		if (width > ret[col])
			ret[col] = width;
		filled[col] |= says_something(cell(f, at));
		col = (col + 1) % n;
	}
	for (size_t i = 0; i + 1 < n && f->cells.n; i++)
		if (!filled[i])
			ret[i] = 0;
}

static void put_cell(FILE *out, const struct table_column *c, const char *s, size_t width)
{
	size_t used = columns_of(s), pad = used < width ? width - used : 0;

	if (c->width > 0)
		fprintf(out, "%*s%s ", (int)pad, "", s);
	else
		fprintf(out, "%s%*s ", s, (int)pad, "");
}

static void put_last(FILE *out, const char *s, size_t room)
{
	table_fit_name(out, s, room);
	fputc('\n', out);
}

void table_fit_print(const struct table_fit *f, FILE *out, const struct table_column *columns, size_t n, size_t width)
{
	size_t widths[MAX_COLUMNS], used = 0, room, note = 0, col = 0;

	if (f->failed || !n || n > MAX_COLUMNS) {
		fputs("out of memory\n", out);
		return;
	}
	measure(f, columns, n, widths);
	for (size_t i = 0; i + 1 < n; i++)
		used += widths[i] ? widths[i] + 1 : 0;
	room = used + LEAST_NAME < width ? width - used : LEAST_NAME;
	for (size_t i = 0; i + 1 < n; i++)
		if (widths[i])
			put_cell(out, &columns[i], columns[i].title, widths[i]);
	put_last(out, columns[n - 1].title, room);
	for (size_t at = 0; at < f->cells.n; at++) {
		if (note < f->notes.n && f->notes.v[note] == at) {
			note++;
			fprintf(out, "%*s", NOTE_INDENT, "");
			columns_wrap(out, cell(f, at), NOTE_INDENT, NOTE_INDENT + 2, width);
			continue;
		}
		if (col == n - 1)
			put_last(out, cell(f, at), room);
		else if (widths[col])
			put_cell(out, &columns[col], cell(f, at), widths[col]);
		col = (col + 1) % n;
	}
}
