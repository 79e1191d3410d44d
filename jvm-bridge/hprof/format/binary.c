#include "jvm-bridge/hprof/format/binary.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "jvm-bridge/hprof/base/addresses.h"
#include "jvm-bridge/hprof/base/hprof.h"
#include "jvm-bridge/hprof/base/out.h"

enum {
	RECORD_UTF8 = 0x01,
	RECORD_LOAD_CLASS = 0x02,
	RECORD_UNLOAD_CLASS = 0x03,
	RECORD_FRAME = 0x04,
	RECORD_TRACE = 0x05,
	RECORD_ALLOC_SITES = 0x06,
	RECORD_HEAP_SUMMARY = 0x07,
	RECORD_START_THREAD = 0x0a,
	RECORD_END_THREAD = 0x0b,
	RECORD_CPU_SAMPLES = 0x0d,
	RECORD_CONTROL_SETTINGS = 0x0e
};

enum { SETTING_ALLOC_TRACES = 1, SETTING_CPU_SAMPLING = 2 };

#define NAME_IDS (1ull << 60)
#define FRAME_IDS (1ull << 61)

struct name {
	struct link link;
	uint64_t id;
	char text[];
};

struct known_frame {
	struct link link;
	struct frame frame;
	uint64_t id;
};

static struct {
	struct timespec begin; /* time of the header */
	struct map names, frames; /* that are in the file */
	uint64_t last_name, last_frame;
	bool has_heap; /* the file has a heap dump */
} binary = {.last_name = NAME_IDS, .last_frame = FRAME_IDS};

static struct timespec now(void)
{
	struct timespec t = {0};

	clock_gettime(CLOCK_REALTIME, &t);
	return t;
}

/* Microseconds since the header, modulo 2^32. */
static uint32_t age(void)
{
	struct timespec t = now();

	return (uint32_t)((t.tv_sec - binary.begin.tv_sec) * 1000000 + (t.tv_nsec - binary.begin.tv_nsec) / 1000);
}

void binary_record(unsigned tag, const struct bytes *body)
{
	static struct bytes head;

	bytes_clear(&head);
	put_u1(&head, tag);
	put_u4(&head, age());
	put_u4(&head, body->n);
	if (head.failed || body->failed) {
		hprof_error("out of memory: omitted a record of type 0x%02x", tag);
		return;
	}
	out_put(head.at, head.n);
	out_put(body->at, body->n);
	out_whole();
}

/* NULL: out of memory; the name then has an id without a record. */
static struct name *name_new(const char *text, uint64_t hash)
{
	size_t size = strlen(text) + 1;
	struct name *n = calloc(1, sizeof(*n) + size);
	struct bytes body = {0};

	if (!n || !map_add(&binary.names, &n->link, hash)) {
		free(n);
		return NULL;
	}
	memcpy(n->text, text, size);
	n->id = ++binary.last_name;
	put_u8(&body, n->id);
	put_bytes(&body, text, size - 1);
	binary_record(RECORD_UTF8, &body);
	free(body.at);
	return n;
}

uint64_t binary_name(const char *text)
{
	uint64_t hash = 0;
	struct link *l;
	struct name *n;

	for (const char *c = text; *c; c++)
		hash = map_mix(hash, (unsigned char)*c);
	l = map_first(&binary.names, hash);
	while (l && strcmp(((struct name *)l)->text, text))
		l = map_next(l);
	n = l ? (struct name *)l : name_new(text, hash);
	return n ? n->id : ++binary.last_name;
}

/* With slashes, as in the JVM's own dumps. */
static uint64_t class_name_id(const struct class *c)
{
	char *name = strdup(c->name);
	uint64_t id;

	for (char *at = name; at && *at; at++)
		if (*at == '.')
			*at = '/';
	id = binary_name(name ? name : c->name);
	free(name);
	return id;
}

static void class_write(struct class *c, uint64_t object)
{
	struct bytes body = {0};

	c->written_to = hprof.file;
	c->written_object = object;
	put_u4(&body, c->serial);
	put_u8(&body, object);
	put_u4(&body, TRACE_NONE);
	put_u8(&body, class_name_id(c));
	binary_record(RECORD_LOAD_CLASS, &body);
	free(body.at);
}

/*
 * With heap dumps, the class gets no object id until its object has a record: some readers look up the record of each
 * class that has an id, and stop if there is none. The JVM's own dump has other ids.
 */
uint32_t binary_class(struct class *c)
{
	if (c && c->written_to != hprof.file)
		class_write(c, hprof.options.heap & HEAP_DUMP ? 0 : class_address(c));
	return c ? c->serial : 0;
}

void binary_class_object(struct class *c)
{
	if (c->written_to != hprof.file || !c->written_object)
		class_write(c, class_address(c));
}

static uint64_t frame_new(const struct frame *f, uint64_t hash)
{
	struct class *c = f->method ? f->method->class : NULL;
	struct known_frame *known = calloc(1, sizeof(*known));
	struct bytes body = {0};
	uint64_t id = ++binary.last_frame, method, signature, source;
	uint32_t class;

	method = binary_name(f->method ? f->method->name : "<Unknown Method>");
	signature = binary_name(f->method ? f->method->signature : "()V");
	source = binary_name(c && c->source ? c->source : "<Unknown Source>");
	class = binary_class(c);
	put_u8(&body, id);
	put_u8(&body, method);
	put_u8(&body, signature);
	put_u8(&body, source);
	put_u4(&body, class);
	put_number(&body, (uint32_t)f->line, 4);
	binary_record(RECORD_FRAME, &body);
	free(body.at);
	if (!known || !map_add(&binary.frames, &known->link, hash)) {
		free(known); /* it will be written again */
		return id;
	}
	known->frame = *f;
	known->id = id;
	return id;
}

static uint64_t frame_id(const struct frame *f)
{
	uint64_t hash = map_mix(map_mix(0, (uint64_t)(uintptr_t)f->method), (uint32_t)f->line);
	struct link *l = map_first(&binary.frames, hash);

	for (; l; l = map_next(l)) {
		const struct known_frame *known = (struct known_frame *)l;

		if (known->frame.method == f->method && known->frame.line == f->line)
			return known->id;
	}
	return frame_new(f, hash);
}

static void trace_write(uint32_t serial, uint32_t thread, const struct frame *frames, uint32_t n)
{
	struct bytes body = {0};

	put_u4(&body, serial);
	put_u4(&body, thread);
	put_u4(&body, n);
	for (uint32_t i = 0; i < n; i++)
		put_u8(&body, frame_id(&frames[i]));
	binary_record(RECORD_TRACE, &body);
	free(body.at);
}

void binary_trace(struct trace *t)
{
	if (t->written == hprof.file)
		return;
	t->written = hprof.file;
	trace_write(t->serial, t->thread, t->frames, t->n);
}

static void settings_write(void)
{
	const struct hprof_options *o = &hprof.options;
	struct bytes body = {0};

	put_u4(&body, (o->heap ? SETTING_ALLOC_TRACES : 0u) | (o->cpu == CPU_SAMPLES ? SETTING_CPU_SAMPLING : 0u));
	put_u2(&body, o->depth);
	binary_record(RECORD_CONTROL_SETTINGS, &body);
	free(body.at);
}

void binary_header(void)
{
	static const char magic[] = "JAVA PROFILE 1.0.2";
	struct bytes head = {0};

	binary.begin = now();
	put_bytes(&head, magic, sizeof(magic));
	put_u4(&head, 8);
	put_u8(&head, (uint64_t)binary.begin.tv_sec * 1000 + (uint64_t)binary.begin.tv_nsec / 1000000);
	out_put(head.at, head.n);
	out_whole();
	free(head.at);
	settings_write();
	trace_write(TRACE_NONE, 0, NULL, 0);
}

void binary_thread_start(struct java_thread *t)
{
	struct bytes body = {0};
	uint64_t name = binary_name(t->name), group = binary_name(t->group), parent = binary_name(t->parent);

	if (!t->address)
		t->address = address_lasting();
	put_u4(&body, t->serial);
	put_u8(&body, t->address);
	put_u4(&body, TRACE_NONE);
	put_u8(&body, name);
	put_u8(&body, group);
	put_u8(&body, parent);
	binary_record(RECORD_START_THREAD, &body);
	free(body.at);
}

static void map_forget(struct map *m)
{
	for (size_t i = 0; i < m->cap; i++)
		while (m->heads[i]) {
			struct link *l = m->heads[i];

			m->heads[i] = l->next;
			free(l);
		}
	m->n = 0;
}

static void thread_again(struct java_thread *t, void *arg)
{
	(void)arg;
	binary_thread_start(t);
}

void binary_heap_begin(void)
{
	const char *name = binary.has_heap ? out_next() : NULL;

	binary.has_heap = true;
	if (!name)
		return;
	if (hprof.options.verbose)
		fprintf(stderr, " (to %s)", name);
	hprof.file++;
	map_forget(&binary.names);
	map_forget(&binary.frames);
	binary_header();
	threads_each(thread_again, NULL);
}

static void number_record(unsigned tag, uint32_t number)
{
	struct bytes body = {0};

	put_u4(&body, number);
	binary_record(tag, &body);
	free(body.at);
}

void binary_thread_end(uint32_t serial)
{
	number_record(RECORD_END_THREAD, serial);
}

void binary_class_unloaded(uint32_t serial)
{
	number_record(RECORD_UNLOAD_CLASS, serial);
}

void binary_cpu_samples(const struct table *table)
{
	struct bytes body = {0};

	for (size_t i = 0; i < table->n; i++)
		binary_trace(table->rows[i].trace);
	put_u4(&body, table->total);
	put_u4(&body, table->n);
	for (size_t i = 0; i < table->n; i++) {
		put_u4(&body, table->rows[i].cost);
		put_u4(&body, table->rows[i].trace->serial);
	}
	binary_record(RECORD_CPU_SAMPLES, &body);
	free(body.at);
}

static void totals_put(struct bytes *body, const struct site_totals *t)
{
	put_u4(body, t->live_bytes);
	put_u4(body, t->live);
	put_u8(body, t->bytes);
	put_u8(body, t->objects);
}

static void site_put(struct bytes *body, const struct site *s)
{
	put_u1(body, (unsigned)s->kind.is_array);
	put_u4(body, binary_class(s->kind.class));
	put_u4(body, s->trace->serial);
	put_u4(body, s->live_bytes);
	put_u4(body, s->live);
	put_u4(body, s->bytes);
	put_u4(body, s->objects);
}

void binary_sites(const struct site_table *t, unsigned flags, double cutoff)
{
	struct bytes body = {0};
	float ratio = (float)cutoff;
	uint32_t bits;

	for (size_t i = 0; i < t->n; i++) {
		binary_trace(t->rows[i]->trace);
		binary_class(t->rows[i]->kind.class);
	}
	memcpy(&bits, &ratio, sizeof(bits));
	put_u2(&body, flags);
	put_number(&body, bits, 4);
	totals_put(&body, &t->totals);
	put_u4(&body, t->n);
	for (size_t i = 0; i < t->n; i++)
		site_put(&body, t->rows[i]);
	binary_record(RECORD_ALLOC_SITES, &body);
	free(body.at);
}

void binary_heap_summary(void)
{
	struct site_totals totals = sites_totals();
	struct bytes body = {0};

	totals_put(&body, &totals);
	binary_record(RECORD_HEAP_SUMMARY, &body);
	free(body.at);
}
