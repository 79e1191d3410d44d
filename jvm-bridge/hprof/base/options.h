#ifndef JS_HPROF_OPTIONS_H
#define JS_HPROF_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

enum hprof_cpu { CPU_NOT, CPU_SAMPLES, CPU_TIMES, CPU_OLD };
enum { HEAP_DUMP = 1, HEAP_SITES = 2 }; /* bits of `heap` */
enum { FORMAT_TEXT, FORMAT_BINARY };
enum { DUMPER_VM, DUMPER_JVMPI };
enum { DEPTH_MAX = 2048, FILE_NAME_MAX = 1024, HOST_NAME_MAX_ = 256 };

/* The agent's options (docs/hprof.md). Flags and words are unsigned so that one table can set them all. */
struct hprof_options {
	unsigned heap, cpu, monitor, format, dumper;
	char file[FILE_NAME_MAX];
	char net[HOST_NAME_MAX_ + 6]; /* host name; used if port is set */
	unsigned port;
	unsigned depth, interval; /* frames; ms */
	double cutoff; /* fraction of the total */
	unsigned lineno, thread, doe, adaptive, msa, force, verbose, gc_okay, primfields, primarrays;
	bool help;
};

/*
 * `text` is the agent's argument, `more` comes from the environment and takes precedence; both may be NULL. 0, or
 * -EINVAL with a message in `why`.
 */
int hprof_options_parse(const char *text, const char *more, struct hprof_options *ret, char *why, size_t size);

/* Printed for `help`. */
extern const char hprof_help[];

#endif
