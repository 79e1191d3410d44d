#include "sampler/input/other_file.h"

#include <string.h>

#define PAGE "an HTML page, from which no profile can be read; record with -o FILE.pb.gz as well, and read that"
#define HPROF "a binary HPROF dump; its text form (format=a) can be read"
#define TEXT "a text report, from which no profile can be read; record with -o FILE.pb.gz as well, and read that"

static const struct {
	const char *begin;
	size_t len;
	const char *within; /* NULL: no other bytes are checked */
	const char *advice;
} others[] = {
	{"<!DOCTYPE", 9, NULL, PAGE},
	{"<!doctype", 9, NULL, PAGE},
	{"<html", 5, NULL, PAGE},
	{"<?xml", 5, NULL, "a picture, or other XML; folded stacks and pprof can be read"},
	{"<svg", 4, NULL, "a picture; folded stacks and pprof can be read"},
	{"{", 1, "speedscope",
	 "a speedscope file, a format that is written but not read; record with -o FILE.pb.gz as well, and read that"},
	{"{", 1, NULL, "JSON; folded stacks and pprof can be read"},
	{"command    ", 11, NULL, TEXT},
	{"recorded   ", 11, NULL, TEXT},
	{"FLR\0", 4, NULL,
	 "a JFR recording; async-profiler's jfrconv converts it to pprof: jfrconv FILE.jfr FILE.pprof"},
	{"PERFILE2", 8, NULL, "a perf.data file; perf script and stackcollapse-perf.pl convert it to folded stacks"},
	{"JAVA PROFILE 1.0.1", 19, NULL, HPROF},
	{"JAVA PROFILE 1.0.2", 19, NULL, HPROF},
	{"PK\3\4", 4, NULL, "a zip archive; unpack it first"},
	{"\x28\xb5\x2f\xfd", 4, NULL, "compressed with zstd; unpack it first"},
	{"\xfd"
	 "7zXZ",
	 5, NULL, "compressed with xz; unpack it first"},
	{"BZh", 3, NULL, "compressed with bzip2; unpack it first"},
};

const char *other_file_advice(const char *head, size_t len)
{
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		const char *within = others[i].within;

		if (len < others[i].len || memcmp(head, others[i].begin, others[i].len) != 0)
			continue;
		if (!within || memmem(head, len, within, strlen(within)))
			return others[i].advice;
	}
	return NULL;
}
