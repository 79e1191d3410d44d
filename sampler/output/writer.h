#ifndef JS_OUTPUT_WRITER_H
#define JS_OUTPUT_WRITER_H

#include <stdbool.h>
#include <stdio.h>

struct err;
struct named_profile;

/* Output formats: one const struct per format, in the table of writer_list.c. */
struct writer_options {
	bool annotate; /* _[0], _[1], _[j], _[i], _[k] suffixes */
	bool lines; /* append :LINE to Java frames */
};

struct writer {
	const char *name; /* as given to -f: "folded" */
	const char *endings; /* space-separated file endings: ".folded .collapsed" */
	int (*write)(const struct named_profile *np, const struct writer_options *o, FILE *out, struct err *err);
};

/* Two writers with the same name are one format, compressed or not; the ending decides. */
extern const struct writer writer_folded, writer_folded_gz, writer_html, writer_pprof, writer_pprof_plain,
	writer_speedscope, writer_text, writer_null, writer_digest;

const struct writer *writer_find(const char *format); /* the first with that name; NULL: unknown */
const struct writer *writer_for_path(const char *path); /* by ending; NULL: unknown */
const struct writer *writer_in_gzip(const char *format); /* NULL: it is never compressed */
/*
 * 0, or the error that prevented complete output. r: what writing has returned, or 0 if only `out` knows; set errno to 0
 * before writing then.
 */
int writer_end(FILE *out, int r, struct err *err);
void writer_names(char *dst, size_t size); /* "folded, html, ..." for messages */

#endif
