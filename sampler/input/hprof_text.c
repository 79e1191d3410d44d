#include "sampler/input/hprof_text.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "sampler/input/reader.h"
#include "sampler/input/source.h"
#include "sampler/profile/named_builder.h"
#include "symbolizer/base/buf.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/u64map.h"
#include "symbolizer/base/vec.h"

#define BEGINNING "JAVA PROFILE 1.0"
#define NS_PER_MS 1000000

enum table { TABLE_NONE, TABLE_SAMPLES, TABLE_TIME };

struct trace {
	uint32_t stack;
	uint64_t thread; /* 0: all threads */
};

struct hprof_run {
	struct named_builder *b;
	struct reader_report *report;
	uint64_t line; /* number of the current line */
	struct u64map names; /* thread number -> string of its name */
	struct u64map by_number; /* trace number -> index into traces + 1 */
	VEC(struct trace) traces;
	uint64_t number, thread; /* the trace being read; number 0: none */
	VEC(uint32_t) locations; /* its frames, leaf first */
	enum table table, first; /* the table being read; the kind of the file's tables */
	uint64_t total_ms; /* of the table being read */
	uint64_t sum, counts; /* of all weights and counts so far */
	struct buf text; /* the current line, followed by a NUL */
	bool failed; /* out of memory */
};

bool hprof_text_is(const char *head, size_t len)
{
	const size_t n = strlen(BEGINNING);

	return len > n + 2 && memcmp(head, BEGINNING, n) == 0 && !memchr(head, '\0', n + 3);
}

/* Advances *at past a decimal number; false: there is none, or it is not in 0 .. 2^53. */
static bool take_number(const char **at, uint64_t *ret)
{
	const char *p = *at;
	uint64_t v = 0;

	for (; *p >= '0' && *p <= '9'; p++)
		if ((v = v * 10 + (uint64_t)(*p - '0')) > UINT64_C(1) << 53)
			return false;
	if (p == *at)
		return false;
	*at = p;
	*ret = v;
	return true;
}

static bool take_text(const char **at, const char *text)
{
	size_t n = strlen(text);

	if (strncmp(*at, text, n) != 0)
		return false;
	*at += n;
	return true;
}

static void skip_blanks(const char **at)
{
	while (**at == ' ')
		(*at)++;
}

/* THREAD START (obj=50000128, id = 200001, name="main", group="main") */
static void thread_start(struct hprof_run *r, char *text)
{
	const char *id = strstr(text, "id = ");
	char *name = strstr(text, "name=\""), *end = name ? strstr(name, "\", group=") : NULL;
	uint64_t number;
	uint32_t string;

	if (!id || !end)
		return;
	id += strlen("id = ");
	if (!take_number(&id, &number) || !number)
		return;
	*end = '\0';
	string = named_builder_string(r->b, name + strlen("name=\""));
	r->failed |= string == UINT32_MAX || !u64map_put(&r->names, number, string);
}

/* The text in parentheses: "File.java:12", "File.java:Native method", "Unknown Source". */
static void take_place(char *place, const char **ret_file, struct named_line *l)
{
	char *colon = strrchr(place, ':');
	const char *at = colon ? colon + 1 : "";
	uint64_t line;

	*ret_file = strstr(place, "Unknown Source") ? "" : place;
	if (colon)
		*colon = '\0';
	if (strcmp(at, "Native method") == 0)
		l->kind = NAMED_JAVA_NATIVE;
	else if (take_number(&at, &line) && !*at && line <= INT32_MAX)
		l->line = (int32_t)line;
}

/* java.lang.String.hashCode -> java/lang/String.hashCode, as in other profiles */
static void slashes(char *name)
{
	char *method = strrchr(name, '.');

	for (char *p = name; method && p < method; p++)
		if (*p == '.')
			*p = '/';
}

/* <tab>java.lang.String.hashCode(String.java:1470) */
static void trace_frame(struct hprof_run *r, char *text, size_t len)
{
	struct named_line l = {.bci = -1, .kind = NAMED_UNKNOWN};
	char *place = strrchr(text, '(');
	const char *file = "";
	uint32_t location;

	r->report->lines++;
	if (!place || place == text || text[len - 1] != ')') {
		reader_report_problem(r->report, r->line, "not a frame such as Class.method(File.java:1)");
		return;
	}
	text[len - 1] = *place = '\0';
	slashes(text);
	take_place(place + 1, &file, &l);
	l.function = named_builder_function(r->b, text, "", file);
	location = l.function == UINT32_MAX ? UINT32_MAX : named_builder_location(r->b, 0, 0, &l, 1);
	r->failed |= location == UINT32_MAX || !vec_push(&r->locations, location);
}

static void trace_end(struct hprof_run *r)
{
	struct trace t = {.thread = r->thread};

	if (!r->number)
		return;
	t.stack = named_builder_stack(r->b, r->locations.v, (uint32_t)r->locations.n);
	r->failed |= t.stack == UINT32_MAX || !vec_push(&r->traces, t) ||
		     !u64map_put(&r->by_number, r->number, (uint32_t)r->traces.n);
	r->number = 0;
}

/* TRACE 300001: (thread=200001) */
static void trace_begin(struct hprof_run *r, const char *at)
{
	r->locations.n = 0;
	r->thread = 0;
	if (!take_number(&at, &r->number) || *at != ':') {
		r->number = 0;
		return;
	}
	if (take_text(&at, ": (thread=") && !take_number(&at, &r->thread))
		r->thread = 0;
}

/* *ret: hundredths, from "98.16%" or "98.5%"; false: not such a number. */
static bool take_percent(const char **at, uint64_t *ret)
{
	uint64_t whole, fraction;
	const char *digits;

	if (!take_number(at, &whole) || whole > 100 || *(*at)++ != '.')
		return false;
	digits = *at;
	if (!take_number(at, &fraction) || *at - digits > 2)
		return false;
	*ret = whole * 100 + (*at - digits == 1 ? fraction * 10 : fraction);
	return *(*at)++ == '%';
}

static bool add_sample(struct hprof_run *r, uint64_t count, uint64_t weight, const struct trace *t)
{
	struct named_sample s = {.count = count, .weight = weight, .stack = t->stack};

	if (t->thread) {
		s.tid = (int32_t)t->thread;
		s.thread = u64map_get(&r->names, t->thread);
	}
	r->sum += weight;
	r->counts += count;
	return named_builder_sample(r->b, &s) != UINT32_MAX;
}

/*    1 98.16% 98.16%     160 300004 Busy.f */
static void table_row(struct hprof_run *r, const char *at)
{
	uint64_t rank, self, accum, count, number, weight;
	uint32_t index;

	skip_blanks(&at);
	if (strncmp(at, "rank ", 5) == 0)
		return;
	r->report->lines++;
	if (!take_number(&at, &rank) || (skip_blanks(&at), !take_percent(&at, &self)) ||
	    (skip_blanks(&at), !take_percent(&at, &accum)) || (skip_blanks(&at), !take_number(&at, &count)) ||
	    (skip_blanks(&at), !take_number(&at, &number))) {
		reader_report_problem(r->report, r->line, "not a row such as 1 50.00% 50.00% 12 300001 Class.method");
		return;
	}
	index = number ? u64map_get(&r->by_number, number) : 0;
	weight = r->table == TABLE_TIME ? r->total_ms * self * (NS_PER_MS / 10000) : count;
	if (!index)
		reader_report_problem(r->report, r->line, "its trace is not in the file");
	else if (weight > INT64_MAX - r->sum || count > INT64_MAX - r->counts)
		reader_report_problem(r->report, r->line, "counts add up to more than 2^63");
	else if (count)
		r->failed |= !add_sample(r, count, weight, &r->traces.v[index - 1]);
}

/* Totals above 2^40 ms (35 years) are rejected: 2^53 ms times 10,000 would overflow. */
static void table_begin(struct hprof_run *r, enum table kind, const char *at)
{
	if (!take_number(&at, &r->total_ms) || r->total_ms > UINT64_C(1) << 40) {
		r->report->lines++;
		reader_report_problem(r->report, r->line, "no total in the first line of the table");
		return;
	}
	if (r->first == TABLE_NONE)
		r->first = kind;
	if (r->first == kind) {
		r->table = kind;
		return;
	}
	r->report->lines++;
	reader_report_problem(r->report, r->line, "CPU TIME and CPU SAMPLES cannot be added: this table is left out");
}

static void take_line(struct hprof_run *r, char *text, size_t len)
{
	const char *at = text;

	if (*text == '\t' && r->number) {
		if (strcmp(text, "\t<empty>") != 0)
			trace_frame(r, text + 1, len - 1);
		return;
	}
	trace_end(r);
	if (take_text(&at, "TRACE "))
		trace_begin(r, at);
	else if (take_text(&at, "THREAD START "))
		thread_start(r, text);
	else if (take_text(&at, "CPU SAMPLES BEGIN (total = "))
		table_begin(r, TABLE_SAMPLES, at);
	else if (take_text(&at, "CPU TIME (ms) BEGIN (total = "))
		table_begin(r, TABLE_TIME, at);
	else if (strcmp(text, "CPU SAMPLES END") == 0 || strcmp(text, "CPU TIME (ms) END") == 0)
		r->table = TABLE_NONE;
	else if (r->table != TABLE_NONE)
		table_row(r, text);
}

static int read_lines(struct hprof_run *r, struct source *s, struct err *err)
{
	char *text;
	size_t len;
	int rc;

	while ((rc = source_line(s, &text, &len, err)) > 0) {
		r->line++;
		buf_reset(&r->text);
		buf_add(&r->text, text ? text : "", len);
		if (!r->text.failed && r->text.len && !memchr(r->text.data, '\0', r->text.len))
			take_line(r, r->text.data, r->text.len);
		if (r->failed || r->text.failed)
			return err_set(err, -ENOMEM, "'%s': out of memory at line %" PRIu64, source_name(s), r->line);
	}
	return rc;
}

static void set_meta(const struct hprof_run *r)
{
	struct named_meta *m = named_builder_meta(r->b);
	bool time = r->first == TABLE_TIME;

	m->event = named_builder_keep(r->b, time ? "cpu" : "samples");
	m->unit = named_builder_keep(r->b, time ? "nanoseconds" : "count");
	m->period = 1;
}

int hprof_text_read(struct source *s, struct named_builder *b, struct reader_report *report, struct err *err)
{
	struct hprof_run r = {.b = b, .report = report};
	int rc = read_lines(&r, s, err);

	if (rc == 0 && r.first == TABLE_NONE)
		rc = err_set(err, -ENODATA,
			     "'%s': HPROF's text has neither CPU SAMPLES nor CPU TIME: record it with cpu=samples or "
			     "cpu=times",
			     source_name(s));
	set_meta(&r);
	u64map_done(&r.names);
	u64map_done(&r.by_number);
	vec_done(&r.traces);
	vec_done(&r.locations);
	buf_done(&r.text);
	return rc;
}
