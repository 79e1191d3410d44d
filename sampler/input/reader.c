#include "sampler/input/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "sampler/input/folded.h"
#include "sampler/input/hprof_text.h"
#include "sampler/input/other_file.h"
#include "sampler/input/pprof.h"
#include "sampler/input/source.h"
#include "sampler/profile/named_builder.h"
#include "symbolizer/base/err.h"

void reader_report_problem(struct reader_report *r, uint64_t line, const char *what)
{
	if (r->unreadable < READER_PROBLEMS) {
		struct reader_problem *p = &r->first[r->unreadable];

		p->line = line;
		snprintf(p->what, sizeof(p->what), "%s", what);
	}
	r->unreadable++;
}

static bool has_ending(const char *name, const char *ending)
{
	size_t n = strlen(name), k = strlen(ending);

	return n >= k && !strcmp(name + n - k, ending);
}

/* Text has no control characters but tabs and line ends; a pprof message begins with small numbers. */
static bool is_text(const char *name, const char *bytes, size_t len)
{
	static const char *const endings[] = {".folded", ".collapsed", ".folded.gz", ".collapsed.gz"};

	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
		if (has_ending(name, endings[i]))
			return true;
	for (size_t i = 0; i < len && i < 512; i++)
		if ((unsigned char)bytes[i] < 0x20 && !memchr("\t\n\r", bytes[i], 3))
			return false;
	return true;
}

static int not_folded(const struct source *s, const struct reader_report *report, struct err *err)
{
	const struct reader_problem *p = &report->first[0];

	return err_set(err, -EINVAL,
		       "'%s' is not a profile: neither pprof, folded stacks nor HPROF's text (line %" PRIu64
		       ": %s; %" PRIu64 " of %" PRIu64 " lines are malformed)",
		       source_name(s), p->line, p->what, report->unreadable, report->lines);
}

/* What the first bytes of a file look like. */
struct head {
	char bytes[OTHER_FILE_HEAD];
	size_t len;
};

static int read_into(struct source *s, struct named_builder *b, struct reader_report *report, struct head *ret_head,
		     struct err *err)
{
	const char *head;
	size_t len;
	int rc = source_peek(s, &head, &len, err);

	if (rc)
		return rc;
	ret_head->len = len < sizeof(ret_head->bytes) ? len : sizeof(ret_head->bytes);
	memcpy(ret_head->bytes, head, ret_head->len);
	if (hprof_text_is(head, len)) {
		report->format = "HPROF";
		return hprof_text_read(s, b, report, err);
	}
	if (!is_text(source_name(s), head, len)) {
		report->format = "pprof";
		return pprof_read(s, b, err);
	}
	report->format = "folded";
	return folded_read(s, b, report, err);
}

static int read_as_it_is(struct source *s, struct named_profile **ret, struct reader_report *report, struct head *head,
			 struct err *err)
{
	struct named_builder *b = named_builder_new();
	struct named_profile *np;
	int rc = b ? read_into(s, b, report, head, err) : err_set(err, -ENOMEM, "out of memory");

	if (rc) {
		named_builder_free(b);
		return rc;
	}
	np = named_builder_take(b);
	if (!np)
		return err_set(err, -ENOMEM, "'%s': out of memory", source_name(s));
	if (report->unreadable > report->lines / 2) { /* some other text */
		named_profile_free(np);
		return not_folded(s, report, err);
	}
	*ret = np;
	return 0;
}

static int read_profile(struct source *s, struct named_profile **ret, struct reader_report *report, struct err *err)
{
	struct reader_report own;
	struct head head = {.len = 0};
	const char *advice = NULL;
	int rc;

	report = report ? report : &own;
	*report = (struct reader_report){.format = ""};
	rc = read_as_it_is(s, ret, report, &head, err);
	if (rc == -EINVAL)
		advice = other_file_advice(head.bytes, head.len);
	return advice ? err_set(err, rc, "'%s' is %s", source_name(s), advice) : rc;
}

int reader_open_profile(const char *path, struct named_profile **ret, struct reader_report *report, struct err *err)
{
	struct source *s;
	int rc = source_open(path, &s, err);

	if (rc)
		return rc;
	rc = read_profile(s, ret, report, err);
	source_close(s);
	return rc;
}

int reader_read_profile(int fd, const char *name, struct named_profile **ret, struct reader_report *report,
			struct err *err)
{
	struct source *s;
	int rc = source_open_fd(fd, name, &s, err);

	if (rc)
		return rc;
	rc = read_profile(s, ret, report, err);
	source_close(s);
	return rc;
}

int reader_parse_profile(const void *bytes, size_t len, const char *name, struct named_profile **ret,
			 struct reader_report *report, struct err *err)
{
	struct source *s = source_new_bytes(bytes, len, name);
	int rc;

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	rc = read_profile(s, ret, report, err);
	source_close(s);
	return rc;
}
