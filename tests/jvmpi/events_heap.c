/* Heap dumps, parsed record by record. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/jvmpi/events.h"

enum { NODES = 1000 };

/* Of one dump. */
static struct {
	jint level;
	int dumps, left_over, objects, classes, instances, arrays, roots, nodes, untold, wrong_size;
	int numbers, halves, chars, tops, texts, nexts;
	int globals, frames_of_main, stickies;
	long long sum;
	bool statics, int_array, object_array, super, interfaces;
	const char *record; /* of the Node that OBJECT_DUMP is asked for */
	size_t record_size;
	jint traces;
} h;

static struct {
	int n;
	bool same;
	jint size;
} o; /* OBJECT_DUMP */

static char *kept; /* the record of that Node, in the dump of level 2 */
static size_t kept_size;

static struct table supers; /* of classes: index + 1 into super_ids */
static jobjectID super_ids[20000];
static int n_supers;

static uint64_t big(const char *p, int n)
{
	uint64_t v = 0;

	for (int i = 0; i < n; i++)
		v = v << 8 | (unsigned char)p[i];
	return v;
}

static void *pointer(const char *p)
{
	void *v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static size_t size_of(char type)
{
	if (type == 'L' || type == '[')
		return 8;
	if (h.level == 1)
		return 0;
	return type == 'Z' || type == 'B' ? 1 : type == 'C' || type == 'S' ? 2 : type == 'I' || type == 'F' ? 4 : 8;
}

static size_t sizes_of(const char *types)
{
	size_t n = 0;

	for (; types && *types; types++)
		n += size_of(*types);
	return n;
}

static jobjectID super_of(jobjectID id)
{
	struct entry *e = table_find(&supers, id);

	return e ? super_ids[e->value - 1] : NULL;
}

/* As an agent of that time finds out how many bytes an object has. */
static size_t chain_size(jobjectID id)
{
	size_t n = 0;

	for (int i = 0; id && i < 1000; i++, id = super_of(id)) {
		const struct class_info *c = class_info_of(id);

		if (!c)
			return SIZE_MAX;
		n += sizes_of(c->instances);
	}
	return n;
}

static const char *class_parse(const char *p)
{
	jobjectID id = pointer(p), super = pointer(p + 8);
	const struct class_info *c = class_info_of(id);
	size_t statics;

	h.classes++;
	if (!c) {
		h.untold++;
		return NULL;
	}
	if (n_supers < 20000 && !table_find(&supers, id)) {
		super_ids[n_supers++] = super;
		table_add(&supers, id, NULL)->value = n_supers;
	}
	p += 7 * 8 + 4;
	if (id == jvmpi_events.watched[0]) {
		const struct class_info *above = class_info_of(super);

		h.super = above && !strcmp(above->name, "Events$Top");
		h.interfaces = c->interfaces == 1 && class_info_of(pointer(p)) &&
			       !strcmp(class_info_of(pointer(p))->name, "Events$More");
	}
	p += 8 * c->interfaces;
	if (big(p, 2))
		return NULL;
	p += 2;
	statics = sizes_of(c->statics);
	/* The last declared first: yes, head, count. */
	if (id == jvmpi_events.watched[0])
		h.statics = h.level == 1 ? pointer(p) == jvmpi_events.watched[1] :
					   p[0] == 1 && pointer(p + 1) == jvmpi_events.watched[1] &&
						   big(p + 9, 8) == 0x1122334455667788ull;
	return p + statics;
}

/* Own fields, the last first: c, half, number, next; then those of Top: topObject, top. */
static void node_parse(const char *p, jobjectID id, size_t n)
{
	const char *next;
	double half;
	uint64_t bits;

	h.nodes++;
	if (h.level == 1) {
		h.nexts += pointer(p) != NULL;
		h.texts += n == 16 && pointer(p + 8);
		return;
	}
	next = p + 14;
	bits = big(p + 2, 8);
	memcpy(&half, &bits, 8);
	h.chars += big(p, 2) == 'x';
	h.sum += (long long)big(p + 10, 4);
	h.halves += half == (double)big(p + 10, 4) + 0.5;
	h.nexts += pointer(next) != NULL;
	h.texts += pointer(next + 8) != NULL;
	h.tops += n == 31 && next[16] == 7;
	if (id == jvmpi_events.watched[1])
		h.numbers = (int)big(p + 10, 4) == NODES - 1 && pointer(next) == jvmpi_events.watched[4];
}

static const char *instance_parse(const char *p)
{
	jobjectID id = pointer(p), of = pointer(p + 8);
	size_t n = big(p + 16, 4);

	h.instances++;
	h.untold += !class_info_of(of);
	if (of == jvmpi_events.watched[0])
		node_parse(p + 20, id, n);
	if (id == jvmpi_events.watched[1]) {
		h.record = p - 1;
		h.record_size = 21 + n;
	}
	/* Classes come in any order: only those that are known by now. */
	h.wrong_size += of == jvmpi_events.watched[0] && n != (h.level == 1 ? 16u : 31u);
	return p + 20 + n;
}

static const char *objects_parse(const char *p)
{
	jobjectID id = pointer(p);
	size_t n = big(p + 8, 4);

	h.arrays++;
	if (id == jvmpi_events.watched[3])
		h.object_array =
			n == 3 && pointer(p + 20) == jvmpi_events.watched[2] && !pointer(p + 28) && pointer(p + 36);
	return p + 20 + 8 * n;
}

static const char *primitives_parse(const char *p)
{
	static const char types[] = "ZCFDBSIJ";
	jobjectID id = pointer(p);
	size_t n = big(p + 8, 4), each;
	int type = p[12];

	if (type < JVMPI_BOOLEAN || type > JVMPI_LONG)
		return NULL;
	h.arrays++;
	each = size_of(types[type - JVMPI_BOOLEAN]);
	if (id == jvmpi_events.watched[2])
		h.int_array = n == 3 && type == JVMPI_INT &&
			      (h.level == 1 ||
			       (big(p + 13, 4) == 1 && (int)big(p + 17, 4) == -2 && big(p + 21, 4) == 0x01020304));
	return p + 13 + n * each;
}

/* NULL: it is none. */
static const char *root_parse(const char *p, int kind)
{
	switch (kind) {
	case JVMPI_GC_ROOT_JNI_GLOBAL: h.globals++; return p + 16;
	case JVMPI_GC_ROOT_THREAD_BLOCK:
	case JVMPI_GC_ROOT_NATIVE_STACK: return p + 16;
	case JVMPI_GC_ROOT_JNI_LOCAL:
	case JVMPI_GC_ROOT_JAVA_FRAME: h.frames_of_main += pointer(p + 8) == jvmpi_events.main; return p + 20;
	case JVMPI_GC_ROOT_STICKY_CLASS: h.stickies++; return p + 8;
	case JVMPI_GC_ROOT_MONITOR_USED:
	case JVMPI_GC_ROOT_UNKNOWN: return p + 8;
	default: return NULL;
	}
}

static const char *record_parse(const char *p)
{
	int kind = (unsigned char)*p++;
	const char *next;

	switch (kind) {
	case JVMPI_GC_CLASS_DUMP: return class_parse(p);
	case JVMPI_GC_INSTANCE_DUMP: return instance_parse(p);
	case JVMPI_GC_OBJ_ARRAY_DUMP: return objects_parse(p);
	case JVMPI_GC_PRIM_ARRAY_DUMP: return primitives_parse(p);
	default:
		next = root_parse(p, kind);
		h.roots++;
		/* Roots come first. */
		return h.classes + h.instances + h.arrays ? NULL : next;
	}
}

static void level_0_parse(const JVMPI_Event *e)
{
	const char *p = e->u.heap_dump.begin;

	for (; p + 9 <= e->u.heap_dump.end; p += 9) {
		h.objects++;
		h.nodes += *p == JVMPI_NORMAL_OBJECT &&
			   (pointer(p + 1) == jvmpi_events.watched[1] || pointer(p + 1) == jvmpi_events.watched[4]);
		h.int_array |= *p == JVMPI_INT && pointer(p + 1) == jvmpi_events.watched[2];
		h.object_array |= *p == JVMPI_CLASS && pointer(p + 1) == jvmpi_events.watched[3];
		h.classes += *p == JVMPI_NORMAL_OBJECT && pointer(p + 1) == jvmpi_events.watched[0];
	}
	h.left_over = p != e->u.heap_dump.end;
}

/* Ids that nobody had before are good in the handler: the one that the first Node's topObject has. */
static void asked_inside(void)
{
	jobjectID text = kept_size ? pointer(kept + 21 + 22) : NULL;
	int before = o.n;

	check("OBJECT_DUMP",
	      text && jvmpi->RequestEvent(JVMPI_EVENT_OBJECT_DUMP, text) == JVMPI_SUCCESS && o.n == before + 1,
	      "of an object that only the dump has named");
	check("HEAP_DUMP", text && jvmpi->jobjectID2jobject(text), "an id of the dump is no object");
}

static void dump_parse(const JVMPI_Event *e)
{
	const char *p = e->u.heap_dump.begin;

	memset(&h, 0, sizeof(h));
	h.level = e->u.heap_dump.dump_level;
	h.dumps = 1;
	h.traces = e->u.heap_dump.num_traces;
	if (!h.level)
		return level_0_parse(e);
	while (p && p < e->u.heap_dump.end)
		p = record_parse(p);
	h.left_over = p != e->u.heap_dump.end;
	if (h.level < 2 || !h.record || kept)
		return;
	kept = malloc(h.record_size);
	kept_size = kept ? h.record_size : 0;
	memcpy(kept, h.record, kept_size);
	asked_inside();
}

static void heap_seen(JVMPI_Event *e, jint type)
{
	if (type == JVMPI_EVENT_HEAP_DUMP)
		dump_parse(e);
	if (type != JVMPI_EVENT_OBJECT_DUMP)
		return;
	o.n++;
	o.size = e->u.object_dump.data_len;
	o.same = kept && (size_t)o.size == kept_size && !memcmp(e->u.object_dump.data, kept, kept_size);
}

static jint dump_ask(jint level)
{
	JVMPI_HeapDumpArg arg = {level};

	memset(&h, 0, sizeof(h));
	return jvmpi->RequestEvent(JVMPI_EVENT_HEAP_DUMP, &arg);
}

static void level_check(jint level)
{
	jint r = dump_ask(level);

	check("HEAP_DUMP", r == JVMPI_SUCCESS && h.dumps == 1 && h.level == level && h.traces >= 3,
	      "level %d: answer %d, %d traces", level, r, h.traces);
	check("HEAP_DUMP", !h.left_over, "level %d: a record that is none, or half a one", level);
	if (!level) {
		check("HEAP_DUMP", h.nodes == 2 && h.int_array && h.object_array && h.classes == 1 && h.objects > NODES,
		      "level 0: %d objects, %d", h.objects, h.nodes);
		return;
	}
	check("HEAP_DUMP", h.nodes == NODES && !h.wrong_size, "level %d: %d nodes, %d of another size", level, h.nodes,
	      h.wrong_size);
	check("HEAP_DUMP", h.nexts == NODES - 1 && h.texts == NODES,
	      "level %d: %d references of nodes, %d of their superclass", level, h.nexts, h.texts);
	check("HEAP_DUMP", h.statics && h.super && h.interfaces, "level %d: statics %d, superclass %d, interfaces %d",
	      level, h.statics, h.super, h.interfaces);
	check("HEAP_DUMP", h.int_array && h.object_array, "level %d: arrays %d, %d", level, h.int_array,
	      h.object_array);
	check("HEAP_DUMP", !h.untold, "level %d: %d classes or objects of classes that were not told", level, h.untold);
	check("HEAP_DUMP", h.globals && h.frames_of_main && h.stickies,
	      "level %d: %d global references, %d in frames of main, %d system classes", level, h.globals,
	      h.frames_of_main, h.stickies);
	if (level == 1)
		return;
	check("HEAP_DUMP",
	      h.sum == NODES * (NODES - 1) / 2 && h.halves == NODES && h.chars == NODES && h.tops == NODES && h.numbers,
	      "sum %lld, %d doubles, %d chars, %d bytes of the superclass", h.sum, h.halves, h.chars, h.tops);
	check("HEAP_DUMP", chain_size(jvmpi_events.watched[0]) == 31,
	      "%zu bytes by CLASS_LOAD and the records of superclasses", chain_size(jvmpi_events.watched[0]));
}

static void object_check(void)
{
	jobjectID before = kept ? pointer(kept + 21 + 22) : NULL;

	check("OBJECT_DUMP",
	      jvmpi->RequestEvent(JVMPI_EVENT_OBJECT_DUMP, jvmpi_events.watched[1]) == JVMPI_SUCCESS && o.same,
	      "another record than the heap dump's, %d bytes of %zu", o.size, kept_size);
	/* The one that was asked about in the handler has stayed. */
	check("HEAP_DUMP", before && jvmpi->jobjectID2jobject(before), "an id that was asked about is gone");
	for (unsigned i = 0; i < 4; i++)
		check("OBJECT_DUMP",
		      jvmpi->RequestEvent(JVMPI_EVENT_OBJECT_DUMP, jvmpi_events.watched[i]) == JVMPI_SUCCESS &&
			      o.size > 13,
		      "of object %u", i);
	check("OBJECT_DUMP", jvmpi->RequestEvent(JVMPI_EVENT_OBJECT_DUMP, &h) == JVMPI_FAIL, "of garbage");
}

static void heap_dumps(JNIEnv *env)
{
	(void)env;
	if (getenv("JVMPI_EVENTS_LIMIT")) {
		check("HEAP_DUMP", dump_ask(2) == JVMPI_FAIL && !h.dumps, "more than the limit");
		return;
	}
	for (int round = 0; round < 3; round++)
		for (jint level = 0; level < 3; level++)
			level_check(level);
	check("HEAP_DUMP", jvmpi->RequestEvent(JVMPI_EVENT_HEAP_DUMP, NULL) == JVMPI_SUCCESS && h.level == 2,
	      "without a level");
	check("HEAP_DUMP", dump_ask(3) == JVMPI_FAIL, "level 3");
	object_check();
}

static const jint heap_types[] = {0};

const struct kind kind_heap = {.what = "heap", .types = heap_types, .seen = heap_seen, .dump = heap_dumps};
