#include "sampler/pprof/pprof_notes.h"

#include <inttypes.h>
#include <string.h>

#include "sampler/model/named_profile.h"
#include "symbolizer/base/buf.h"
#include "symbolizer/base/parse.h"

enum note_type { NOTE_TEXT, NOTE_NUMBER, NOTE_FLAG };

#define META(member) offsetof(struct named_meta, member)

static const struct note {
	const char *key;
	enum note_type type;
	size_t offset;
} notes[] = {
	{"command", NOTE_TEXT, META(command)},
	{"jdk", NOTE_TEXT, META(jdk)},
	{"recorded by", NOTE_TEXT, META(jsampler)},
	{"lost", NOTE_NUMBER, META(lost)},
	{"complete", NOTE_NUMBER, META(complete)},
	{"resynchronised", NOTE_NUMBER, META(resynchronised)},
	{"incomplete", NOTE_NUMBER, META(incomplete)},
	{"frozen", NOTE_NUMBER, META(frozen)},
	{"leaf exact", NOTE_NUMBER, META(exactness[0])},
	{"leaf agreed by flow", NOTE_NUMBER, META(exactness[1])},
	{"leaf inferred", NOTE_NUMBER, META(exactness[2])},
	{"leaf approximate", NOTE_NUMBER, META(exactness[3])},
	{"leaf without record", NOTE_NUMBER, META(no_record)},
	{"slice nanoseconds", NOTE_NUMBER, META(slice_ns)},
	{"lines shown", NOTE_FLAG, META(lines_shown)},
};

enum { N_NOTES = sizeof(notes) / sizeof(notes[0]) };

size_t pprof_notes_count(void)
{
	return N_NOTES;
}

bool pprof_note_add(struct buf *b, const struct named_meta *m, size_t i)
{
	const struct note *n = &notes[i];
	const char *at = (const char *)m + n->offset;
	const char *text = n->type == NOTE_TEXT ? *(const char *const *)at : "";
	uint64_t number = n->type == NOTE_NUMBER ? *(const uint64_t *)at : n->type == NOTE_FLAG ? *(const bool *)at : 0;

	if (text && *text)
		buf_printf(b, "%s: %s", n->key, text);
	else if (number)
		buf_printf(b, "%s: %" PRIu64, n->key, number);
	else
		return false;
	return true;
}

/* Behind "KEY: ", or NULL. */
static const char *value_of(const char *comment, const char *key)
{
	size_t len = strlen(key);

	return !strncmp(comment, key, len) && !strncmp(comment + len, ": ", 2) ? comment + len + 2 : NULL;
}

bool pprof_note_parse(const char *comment, struct named_meta *m, const char ***ret_text, const char **ret_value)
{
	*ret_text = NULL;
	for (size_t i = 0; i < N_NOTES; i++) {
		const char *value = value_of(comment, notes[i].key);
		char *at = (char *)m + notes[i].offset;
		uint64_t number;

		if (!value)
			continue;
		*ret_value = value;
		if (notes[i].type == NOTE_TEXT)
			*ret_text = (const char **)at;
		else if (parse_u64(value, 0, UINT64_MAX, &number) < 0)
			return false;
		else if (notes[i].type == NOTE_NUMBER)
			*(uint64_t *)at = number;
		else
			*(bool *)at = number != 0;
		return true;
	}
	return false;
}
