#ifndef JS_INPUT_HPROF_TEXT_H
#define JS_INPUT_HPROF_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct named_builder;
struct reader_report;
struct source;

/* Does a file begin like HPROF's text format? The binary format has a NUL after the version. */
bool hprof_text_is(const char *head, size_t len);

/*
 * Reads the tables CPU SAMPLES and CPU TIME (ms) of HPROF's text format (written by JDK 8's
 * jdk/src/share/demo/jvmti/hprof, hprof_trace.c and hprof_site.c) with the stacks of their traces. Tables of several
 * dumps are added up, because HPROF resets its counts after each. Unreadable rows and frames go into the report. 0,
 * -ENOMEM, -ENODATA (no such table) or an error of the source.
 */
int hprof_text_read(struct source *s, struct named_builder *b, struct reader_report *report, struct err *err);

#endif
