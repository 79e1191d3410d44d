#include "symbolizer/native/dso_record.h"

#include <errno.h>
#include <string.h>

#include "symbolizer/native/dso_priv.h"

static char *copy_string(struct dso *d, const char *s)
{
	return arena_strndup(&d->arena, s, strlen(s));
}

static bool load_rows(struct dso *d, const struct dso_record *rec)
{
	for (size_t i = 0; i < rec->n_rows; i++) {
		uint32_t row = row_cache_intern(d, rec->rows[i].row);

		/* An invalid row counts as missing. */
		if (row && !row_cache_put(&d->rows, rec->rows[i].vaddr, row))
			return false;
	}
	return true;
}

static bool load_symbols(struct dso *d, const struct dso_record *rec)
{
	for (size_t i = 0; i < rec->n_symbols; i++) {
		const struct dso_symbol *from = &rec->symbols[i];
		struct symbol s = {from->vaddr, from->vaddr + from->size, .rank = SYMBOL_SIZED};

		if (!from->size || from->size > UINT64_MAX - from->vaddr)
			continue;
		s.name = copy_string(d, from->name);
		if (!s.name || !symbol_table_add(&d->symbols, &s))
			return false;
	}
	d->symbols.full = rec->has_symtab;
	symbol_table_finish(&d->symbols);
	return true;
}

static bool load_names(struct dso *d, const struct dso_record *rec)
{
	for (size_t i = 0; i < rec->n_names; i++) {
		char *name = copy_string(d, rec->names[i].name);

		if (!name || !name_index_add(&d->dynamic_names, name, rec->names[i].vaddr, rec->names[i].size))
			return false;
	}
	return true;
}

static bool load_lines(struct dso *d, const struct dso_record *rec)
{
	for (size_t i = 0; i < rec->n_lines; i++) {
		struct dso_record_line l = rec->lines[i];

		if (l.line.function && !(l.line.function = copy_string(d, l.line.function)))
			return false;
		if (l.line.file && !(l.line.file = copy_string(d, l.line.file)))
			return false;
		if (!vec_push(&d->recorded_lines, l))
			return false;
	}
	return true;
}

static bool load_identity(struct dso *d, const struct dso_record *rec)
{
	d->build_id_len = rec->build_id_len < sizeof(d->build_id) ? rec->build_id_len : sizeof(d->build_id);
	if (d->build_id_len)
		memcpy(d->build_id, rec->build_id, d->build_id_len);
	for (size_t i = 0; i < rec->n_segments; i++)
		if (!vec_push(&d->segments, rec->segments[i]))
			return false;
	return true;
}

int dso_open_record(const struct dso_record *rec, const char *path, struct dso **ret)
{
	struct dso *d = dso_new(path, NULL);

	if (!d)
		return -ENOMEM;
	d->recorded = true;
	if (!load_identity(d, rec) || !load_rows(d, rec) || !load_symbols(d, rec) || !load_names(d, rec) ||
	    !load_lines(d, rec)) {
		dso_close(d);
		return -ENOMEM;
	}
	*ret = d;
	return 0;
}
