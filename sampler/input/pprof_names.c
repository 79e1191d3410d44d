#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sampler/input/folded_frame.h"
#include "sampler/input/pprof_parse.h"
#include "sampler/pprof/pprof_kind.h"
#include "sampler/profile/named_builder.h"
#include "symbolizer/base/err.h"

/* Mappings, functions and locations. */

enum { NAME_SIZE = 4096 };

static bool ends_in(const char *s, const char *end)
{
	size_t n = strlen(s), k = strlen(end);

	return n > k && !strcmp(s + n - k, end);
}

/* Kinds by name of the mapping: ours, and perf's names of the kernel. */
static int mapping_kind(const char *file)
{
	static const struct {
		const char *file;
		int kind;
	} known[] = {
		{"[kernel]", NAMED_KERNEL},
		{"[kernel.kallsyms]", NAMED_KERNEL},
		{"[interpreter]", NAMED_INTERPRETED},
		{"[stubs]", NAMED_STUB},
		{"[jit]", NAMED_UNKNOWN},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(file, known[i].file))
			return known[i].kind;
	return -1;
}

/* A frame without a line is named after its file: "[libfoo.so]", or "[unknown]". */
static int add_unnamed(struct pprof_run *r, const struct pprof_mapping *m)
{
	const char *file = m ? named_builder_text(r->b, m->file) : "", *slash = strrchr(file, '/');
	const char *name = slash ? slash + 1 : file;
	struct named_line line = {.bci = -1, .kind = NAMED_UNKNOWN};
	char text[NAME_SIZE];

	name = *name ? name : "[unknown]";
	if (*file)
		line.kind = m->kind >= 0 ? m->kind : NAMED_NATIVE;
	snprintf(text, sizeof(text), *name == '[' ? "%s" : "[%s]", name);
	line.function = named_builder_function(r->b, text, "", "");
	if (line.function == UINT32_MAX || !vec_push(&r->lines, line))
		return pprof_no_memory(r);
	return 0;
}

int pprof_add_mapping(struct pprof_run *r, const Pprof__Mapping *m)
{
	uint32_t file = pprof_string(r, m->filename), build_id = pprof_string(r, m->build_id);
	struct pprof_mapping to;
	const char *text;

	if (file == UINT32_MAX || build_id == UINT32_MAX)
		return r->err->code;
	if (!m->id)
		return pprof_bad(r, "its id is 0");
	text = named_builder_text(r->b, file);
	to = (struct pprof_mapping){
		.index = named_builder_mapping(r->b, text, named_builder_text(r->b, build_id)),
		.file = file,
		.kind = mapping_kind(text),
	};
	if (to.index == UINT32_MAX || !pprof_ids_add(&r->mapping_ids, m->id, r->mappings.n) ||
	    !vec_push(&r->mappings, to))
		return pprof_no_memory(r);
	return 0;
}

/* Guesses the kind by suffix, source file and name. */
static void guess(struct pprof_function *f, const char *name, const char *file, size_t *ret_len)
{
	static const char *const java[] = {".java", ".kt", ".scala", ".groovy", ".clj"};
	size_t len = strlen(name);
	struct folded_frame frame = folded_frame_parse(name, len);
	bool is_java = false;

	*ret_len = len;
	f->guess = (struct named_line){.bci = -1, .kind = frame.kind, .tier = frame.tier};
	f->suffix = frame.name_len < len && name[len - 1] == ']';
	if (f->suffix) {
		*ret_len = frame.name_len;
		f->guess.line = frame.line;
		return;
	}
	for (size_t i = 0; i < sizeof(java) / sizeof(java[0]); i++)
		is_java |= ends_in(file, java[i]);
	if (*file && *name != '[')
		f->guess.kind = is_java ? NAMED_UNKNOWN : NAMED_NATIVE;
}

static void set_compile(struct pprof_run *r, uint32_t function, const Pprof__Function *f, uint32_t why)
{
	const struct named_compile c = {
		.why_interpreted = why,
		.c1_ms = f->c1_ms,
		.c2_ms = f->c2_ms,
		.not_entrant = f->not_entrant,
	};

	named_builder_compile(r->b, function, &c);
}

int pprof_add_function(struct pprof_run *r, const Pprof__Function *f)
{
	uint32_t name = pprof_string(r, f->name), system = pprof_string(r, f->system_name),
		 file = pprof_string(r, f->filename), why = pprof_string(r, f->why_interpreted);
	const char *name_text, *system_text, *file_text;
	struct pprof_function to;
	size_t len;

	if (name == UINT32_MAX || system == UINT32_MAX || file == UINT32_MAX || why == UINT32_MAX)
		return r->err->code;
	if (!f->id)
		return pprof_bad(r, "its id is 0");
	name_text = named_builder_text(r->b, name);
	system_text = named_builder_text(r->b, system);
	file_text = named_builder_text(r->b, file);
	to.said = to.guessed = named_builder_function(r->b, name_text, system_text, file_text);
	guess(&to, name_text, file_text, &len);
	if (to.suffix) {
		buf_reset(&r->scratch);
		buf_add(&r->scratch, name_text, len);
		if (r->scratch.failed)
			return pprof_no_memory(r);
		to.guessed = named_builder_function(r->b, r->scratch.data, system_text, file_text);
	}
	if (to.said == UINT32_MAX || to.guessed == UINT32_MAX ||
	    !pprof_ids_add(&r->function_ids, f->id, r->functions.n) || !vec_push(&r->functions, to))
		return pprof_no_memory(r);
	set_compile(r, to.said, f, why);
	return 0;
}

static int32_t line_number(int64_t line)
{
	return line > 0 && line <= INT32_MAX ? (int32_t)line : 0;
}

/* A line in a jsampler profile, which says how the code ran. */
static struct named_line said_line(const Pprof__Line *l, const struct pprof_function *f, int kind)
{
	return (struct named_line){
		.function = f->said,
		.line = line_number(l->line),
		.bci = l->bci_plus_one <= INT32_MAX ? (int32_t)l->bci_plus_one - 1 : -1,
		.kind = kind,
		.tier = l->tier <= 4 ? l->tier : 0,
		.exactness = l->exactness <= PPROF__EXACTNESS__APPROXIMATE ? l->exactness : 0,
		.osr = l->osr,
	};
}

static struct named_line guessed_line(const Pprof__Line *l, const struct pprof_function *f,
				      const struct pprof_mapping *m, bool outer)
{
	struct named_line to = f->guess;
	int kind = m ? m->kind : -1;

	to.function = f->guessed;
	if (l->line > 0)
		to.line = line_number(l->line);
	if (f->suffix || kind < 0)
		return to;
	if (kind == NAMED_UNKNOWN && !outer)
		kind = NAMED_INLINED;
	if (kind == NAMED_INTERPRETED && f->guess.kind != NAMED_UNKNOWN)
		kind = NAMED_STUB; /* the interpreter's own code */
	to.kind = kind;
	return to;
}

static int add_line(struct pprof_run *r, const Pprof__Location *l, size_t i, const struct pprof_mapping *m)
{
	const Pprof__Line *line = l->line[i];
	const uint32_t *at = pprof_ids_find(&r->function_ids, line->function_id);
	static const struct pprof_function none = {.guess = {.bci = -1}};
	const struct pprof_function *f = at ? &r->functions.v[*at] : &none;
	int kind = pprof_named_kind(line->kind);
	struct named_line to;

	if (!at && line->function_id)
		return pprof_bad(r, "there is no function %" PRIu64, line->function_id);
	to = kind >= 0 ? said_line(line, f, kind) : guessed_line(line, f, m, i + 1 == l->n_line);
	return vec_push(&r->lines, to) ? 0 : pprof_no_memory(r);
}

/* Kernel addresses differ from machine to machine and are left out. */
static uint64_t shown_address(const struct pprof_run *r, uint64_t address)
{
	bool kernel = r->lines.n && r->lines.v[0].kind == NAMED_KERNEL;

	return kernel || address >> 63 ? 0 : address;
}

int pprof_add_location(struct pprof_run *r, const Pprof__Location *l)
{
	const uint32_t *at = pprof_ids_find(&r->mapping_ids, l->mapping_id);
	const struct pprof_mapping *m = at ? &r->mappings.v[*at] : NULL;
	uint32_t index;
	int rc;

	if (!l->id)
		return pprof_bad(r, "its id is 0");
	if (!m && l->mapping_id)
		return pprof_bad(r, "there is no mapping %" PRIu64, l->mapping_id);
	r->lines.n = 0;
	for (size_t i = 0; i < l->n_line; i++)
		if ((rc = add_line(r, l, i, m)))
			return rc;
	if (!l->n_line && (rc = add_unnamed(r, m)))
		return rc;
	index = named_builder_location(r->b, m ? m->index : 0, shown_address(r, l->address), r->lines.v, r->lines.n);
	if (index == UINT32_MAX || !pprof_ids_add(&r->location_ids, l->id, index))
		return pprof_no_memory(r);
	return 0;
}

int pprof_unknown_location(struct pprof_run *r, uint32_t *ret)
{
	int rc = 0;

	if (!r->has_unknown) {
		r->lines.n = 0;
		rc = add_unnamed(r, NULL);
		r->unknown = rc ? 0 : named_builder_location(r->b, 0, 0, r->lines.v, r->lines.n);
		r->has_unknown = !rc;
	}
	*ret = r->unknown;
	return rc || *ret != UINT32_MAX ? rc : pprof_no_memory(r);
}
