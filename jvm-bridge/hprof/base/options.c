/* The agent's options: one table, and the combinations that are not allowed. */
#include "jvm-bridge/hprof/base/options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum kind { YES_NO, WORD, NUMBER, RATIO, TEXT, ADDRESS };

struct option {
	const char *name;
	enum kind kind;
	size_t at; /* offset in struct hprof_options */
	unsigned min, max; /* for NUMBER; for TEXT: bytes */
	const char *words; /* for WORD: "one|two|"; the first has the value min, the next min + 1, and so on */
};

#define AT(field) offsetof(struct hprof_options, field)

static const struct option options[] = {
	{"heap", WORD, AT(heap), HEAP_DUMP, 0, "dump|sites|all|"},
	{"cpu", WORD, AT(cpu), CPU_SAMPLES, 0, "samples|times|old|"},
	{"monitor", YES_NO, AT(monitor), 0, 0, NULL},
	{"format", WORD, AT(format), FORMAT_TEXT, 0, "a|b|"},
	{"dumper", WORD, AT(dumper), DUMPER_VM, 0, "vm|jvmpi|"},
	{"file", TEXT, AT(file), 0, FILE_NAME_MAX, NULL},
	{"net", ADDRESS, AT(net), 0, 0, NULL},
	{"depth", NUMBER, AT(depth), 0, DEPTH_MAX, NULL},
	{"interval", NUMBER, AT(interval), 1, 3600000, NULL},
	{"adaptive", YES_NO, AT(adaptive), 0, 0, NULL},
	{"cutoff", RATIO, AT(cutoff), 0, 0, NULL},
	{"lineno", YES_NO, AT(lineno), 0, 0, NULL},
	{"thread", YES_NO, AT(thread), 0, 0, NULL},
	{"doe", YES_NO, AT(doe), 0, 0, NULL},
	{"msa", YES_NO, AT(msa), 0, 0, NULL},
	{"force", YES_NO, AT(force), 0, 0, NULL},
	{"verbose", YES_NO, AT(verbose), 0, 0, NULL},
	{"gc_okay", YES_NO, AT(gc_okay), 0, 0, NULL},
	{"primfields", YES_NO, AT(primfields), 0, 0, NULL},
	{"primarrays", YES_NO, AT(primarrays), 0, 0, NULL},
};

enum { OPTIONS = sizeof(options) / sizeof(*options) };

const char hprof_help[] = "HPROF: heap and CPU profiling agent\n"
			  "\n"
			  "usage: -agentpath:libjsampler-bridge.so=agent=hprof[:help]|[:<option>=<value>,...]\n"
			  "\n"
			  "Option and value         Meaning                                        Default\n"
			  "---------------------    -------------------------------------------    --------------\n"
			  "heap=dump|sites|all      heap dump, allocation sites, or both           all\n"
			  "cpu=samples|times|old    sampling, timing of calls, timing by pairs     off\n"
			  "monitor=y|n              contention of monitors                         n\n"
			  "format=a|b               text, or binary                                a\n"
			  "dumper=vm|jvmpi          who writes the heap dump of format=b           vm\n"
			  "file=<name>              output file                                    java.hprof.txt\n"
			  "                         (java.hprof for format=b)\n"
			  "net=<host>:<port>        connect there, and send instead of writing     off\n"
			  "depth=<n>                frames in a trace                              4\n"
			  "interval=<ms>            time between samples                           10\n"
			  "adaptive=y|n             longer intervals when samples take long        n\n"
			  "cutoff=<ratio>           omit rows below this share of the total        0.0001\n"
			  "lineno=y|n               line numbers in traces                         y\n"
			  "thread=y|n               separate traces for each thread                n\n"
			  "doe=y|n                  dump when the JVM exits                        y\n"
			  "msa=y|n                  accepted, has no effect                        n\n"
			  "force=y|n                overwrite the file; n: add the PID to its name y\n"
			  "verbose=y|n              report dumps on stderr                         y\n"
			  "gc_okay=y|n              accepted, has no effect\n"
			  "primfields=y|n           values of primitive fields in format=b         y\n"
			  "primarrays=y|n           values of primitive arrays in format=b         y\n"
			  "\n"
			  "Options are separated by commas, without blanks. The environment variable\n"
			  "_JAVA_HPROF_OPTIONS may add options, which take precedence. Dumps are written\n"
			  "when the JVM exits and on SIGQUIT.\n";

/* What a value of the option must be. */
static void wanted(const struct option *o, char *ret, size_t size)
{
	switch (o->kind) {
	case YES_NO: snprintf(ret, size, "must be y or n"); break;
	case WORD: snprintf(ret, size, "must be %.*s", (int)strlen(o->words) - 1, o->words); break;
	case NUMBER: snprintf(ret, size, "must be a number from %u to %u", o->min, o->max); break;
	case RATIO: snprintf(ret, size, "must be a ratio, such as 0.01"); break;
	case TEXT: snprintf(ret, size, "must be a name of 1 to %u bytes", o->max - 1); break;
	case ADDRESS: snprintf(ret, size, "must be host:port, with a port from 1 to 65535"); break;
	}
}

/* 1 + the value of `word` among the option's words; 0: not among them. */
static unsigned word_find(const struct option *o, const char *word, size_t n)
{
	unsigned value = o->min + 1; /* so that 0 means none */
	const char *at = o->words, *bar;

	for (; (bar = strchr(at, '|')); at = bar + 1, value++)
		if ((size_t)(bar - at) == n && !memcmp(at, word, n))
			return value;
	/* The manual's cpu=y. */
	return o->at == AT(cpu) && n == 1 && *word == 'y' ? CPU_SAMPLES + 1 : 0;
}

/* Not strtoul(): its symbol differs between glibc versions. */
static bool number(const char *text, size_t n, unsigned max, unsigned *ret)
{
	*ret = 0;
	for (size_t i = 0; i < n; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		*ret = *ret * 10 + (unsigned)(text[i] - '0');
		if (*ret > max)
			return false;
	}
	return n > 0;
}

/* Digits with at most one point, independent of the locale. */
static bool ratio(const char *text, size_t n, double *ret)
{
	double unit = 1;
	bool point = false, digits = false;

	*ret = 0;
	for (size_t i = 0; i < n; i++) {
		if (text[i] == '.' && !point) {
			point = true;
			continue;
		}
		if (text[i] < '0' || text[i] > '9' || n > 32)
			return false;
		digits = true;
		unit *= point ? 0.1 : 1;
		*ret = point ? *ret + (text[i] - '0') * unit : *ret * 10 + (text[i] - '0');
	}
	return digits;
}

static bool address(struct hprof_options *o, const char *text, size_t n)
{
	const char *colon = memrchr(text, ':', n);
	size_t host = colon ? (size_t)(colon - text) : 0;

	if (!host || host > HOST_NAME_MAX_ || !number(colon + 1, n - host - 1, 65535, &o->port) || !o->port)
		return false;
	memcpy(o->net, text, host);
	o->net[host] = 0;
	return true;
}

/* false: not such a value. */
static bool value_set(struct hprof_options *ret, const struct option *o, const char *value, size_t n)
{
	char *field = (char *)ret + o->at;
	unsigned word;

	switch (o->kind) {
	case YES_NO: *(unsigned *)field = *value == 'y'; return n == 1 && (*value == 'y' || *value == 'n');
	case WORD:
		word = word_find(o, value, n);
		*(unsigned *)field = word - 1;
		return word;
	case NUMBER: return number(value, n, o->max, (unsigned *)field) && *(unsigned *)field >= o->min;
	case RATIO: return ratio(value, n, (double *)field);
	case TEXT:
		if (!n || n >= o->max)
			return false;
		memcpy(field, value, n);
		field[n] = 0;
		return true;
	case ADDRESS: return address(ret, value, n);
	}
	return false;
}

static const struct option *option_find(const char *name, size_t n)
{
	for (size_t i = 0; i < OPTIONS; i++)
		if (strlen(options[i].name) == n && !memcmp(options[i].name, name, n))
			return &options[i];
	return NULL;
}

/* Parses one name=value of n bytes; `given` has a bit for each option already in this text. */
static int item_parse(struct hprof_options *ret, const char *item, size_t n, unsigned *given, char *why, size_t size)
{
	const char *equals = memchr(item, '=', n);
	size_t name = equals ? (size_t)(equals - item) : n;
	const struct option *o = option_find(item, name);
	char named[48], value[128], wrong[64] = "";
	unsigned bit;

	snprintf(named, sizeof(named), "%.*s", (int)(name < 40 ? name : 40), item);
	snprintf(value, sizeof(value), "%.*s", equals ? (int)(n - name - 1 < 120 ? n - name - 1 : 120) : 0,
		 equals ? equals + 1 : "");
	if (!o || !equals) {
		snprintf(why, size, o ? "option has no value: %s" : "unknown option: %s", named);
		return -EINVAL;
	}
	bit = 1u << (o - options);
	if (*given & bit)
		snprintf(wrong, sizeof(wrong), "option is given twice");
	else if (!value_set(ret, o, equals + 1, n - name - 1))
		wanted(o, wrong, sizeof(wrong));
	*given |= bit;
	if (*wrong)
		snprintf(why, size, "%s: %s=%s", wrong, named, value);
	return *wrong ? -EINVAL : 0;
}

static int text_parse(struct hprof_options *ret, const char *text, unsigned *all, char *why, size_t size)
{
	unsigned given = 0;
	int r = 0;

	while (text && *text && !r) {
		const char *comma = strchrnul(text, ',');

		r = item_parse(ret, text, (size_t)(comma - text), &given, why, size);
		if (!r && *comma && !comma[1]) {
			snprintf(why, size, "no option after the last comma");
			r = -EINVAL;
		}
		text = *comma ? comma + 1 : comma;
	}
	*all |= given;
	return r;
}

static bool is_given(unsigned all, const char *name)
{
	return all & 1u << (option_find(name, strlen(name)) - options);
}

static const char *combination(const struct hprof_options *o, unsigned given)
{
	if (o->format == FORMAT_BINARY && (o->cpu == CPU_TIMES || o->cpu == CPU_OLD))
		return "cpu=times|old is not supported with format=b";
	if (o->format == FORMAT_BINARY && o->monitor)
		return "monitor=y is not supported with format=b";
	if (o->port && is_given(given, "file"))
		return "file and net cannot both be given";
	return NULL;
}

int hprof_options_parse(const char *text, const char *more, struct hprof_options *ret, char *why, size_t size)
{
	unsigned given = 0;
	const char *wrong;
	int r;

	*ret = (struct hprof_options){.depth = 4,
				      .interval = 10,
				      .cutoff = 0.0001,
				      .lineno = 1,
				      .doe = 1,
				      .force = 1,
				      .verbose = 1,
				      .primfields = 1,
				      .primarrays = 1};
	if (text && !strcmp(text, "help")) {
		ret->help = true;
		return 0;
	}
	r = text_parse(ret, text, &given, why, size);
	if (!r)
		r = text_parse(ret, more, &given, why, size);
	if (r)
		return r;
	wrong = combination(ret, given);
	if (wrong) {
		snprintf(why, size, "%s", wrong);
		return -EINVAL;
	}
	if (!ret->heap && !ret->cpu && !ret->monitor)
		ret->heap = HEAP_DUMP | HEAP_SITES;
	if (!is_given(given, "file"))
		snprintf(ret->file, sizeof(ret->file), "java.hprof%s", ret->format == FORMAT_TEXT ? ".txt" : "");
	return 0;
}
