/* The dump of the monitors of a deadlock. */
#include <stdint.h>
#include <string.h>

#include "tests/jvmpi/events.h"

static struct {
	int dumps, others, left_over, java, raw_ours;
	struct dumped {
		jobjectID object;
		JNIEnv *owner, *enters, *waits;
		uint32_t count, entering, waiting;
	} at[8];
	int traces, statuses_blocked, with_frames;
	JVMPI_RawMonitor raw;
} d;

static const char *get_u4(const char *p, uint32_t *ret)
{
	const unsigned char *u = (const unsigned char *)p;

	*ret = (uint32_t)u[0] << 24 | (uint32_t)u[1] << 16 | (uint32_t)u[2] << 8 | u[3];
	return p + 4;
}

static const char *get_pointer(const char *p, void *ret)
{
	memcpy(ret, p, sizeof(void *));
	return p + sizeof(void *);
}

/* The last one of the list. */
static const char *get_threads(const char *p, uint32_t *n, JNIEnv **last)
{
	p = get_u4(p, n);
	for (uint32_t i = 0; i < *n; i++)
		p = get_pointer(p, last);
	return p;
}

static const char *monitor_parse(const char *p, struct dumped *one, char **name, JVMPI_RawMonitor *raw)
{
	int kind = *p++;

	memset(one, 0, sizeof(*one));
	*name = NULL;
	if (kind == JVMPI_MONITOR_JAVA)
		p = get_pointer(p, &one->object);
	else if (kind == JVMPI_MONITOR_RAW)
		p = get_pointer(get_pointer(p, name), raw);
	else
		return NULL;
	p = get_u4(get_pointer(p, &one->owner), &one->count);
	p = get_threads(p, &one->entering, &one->enters);
	return get_threads(p, &one->waiting, &one->waits);
}

static void dump_seen(JVMPI_Event *e, jint type)
{
	const char *p = e->u.monitor_dump.begin;

	if (type != JVMPI_EVENT_MONITOR_DUMP)
		return;
	d.dumps += e->event_type == (JVMPI_EVENT_MONITOR_DUMP | JVMPI_REQUESTED_EVENT);
	while (p && p < e->u.monitor_dump.end) {
		struct dumped one;
		JVMPI_RawMonitor raw = NULL;
		char *name;

		p = monitor_parse(p, &one, &name, &raw);
		d.raw_ours += p && name && raw == d.raw && !strcmp(name, "dumped") && one.owner == e->env_id &&
			      one.count == 2;
		for (int i = 0; p && !name && i < 3; i++)
			if (one.object == jvmpi_events.watched[i])
				d.at[i] = one;
	}
	d.left_over = p != e->u.monitor_dump.end;
	d.traces = e->u.monitor_dump.num_traces;
	for (jint i = 0; i < d.traces; i++) {
		d.statuses_blocked += e->u.monitor_dump.threads_status[i] == JVMPI_THREAD_MONITOR_WAIT;
		d.with_frames += e->u.monitor_dump.traces[i].num_frames > 0;
	}
}

static void monitor_dump(JNIEnv *env)
{
	static char name[] = "dumped";
	jint r;

	(void)env;
	d.raw = jvmpi->RawMonitorCreate(name);
	jvmpi->RawMonitorEnter(d.raw);
	jvmpi->RawMonitorEnter(d.raw);
	r = jvmpi->RequestEvent(JVMPI_EVENT_MONITOR_DUMP, NULL);
	jvmpi->RawMonitorExit(d.raw);
	jvmpi->RawMonitorExit(d.raw);
	check("MONITOR_DUMP", r == JVMPI_SUCCESS && d.dumps == 1 && !d.left_over, "answer %d, %d dumps, left over %d",
	      r, d.dumps, d.left_over);
}

/* Who owns the one wants the other. */
static void dump_end(JNIEnv *env)
{
	const struct dumped *a = &d.at[0], *b = &d.at[1], *quiet = &d.at[2];

	(void)env;
	check("MONITOR_DUMP",
	      a->owner && b->owner && a->entering == 1 && b->entering == 1 && a->enters == b->owner &&
		      b->enters == a->owner && a->owner != b->owner,
	      "no deadlock: %d and %d want them", (int)a->entering, (int)b->entering);
	check("MONITOR_DUMP", a->count == 1 && b->count == 1 && !a->waiting, "entered %d and %d times", (int)a->count,
	      (int)b->count);
	check("MONITOR_DUMP", quiet->object && !quiet->owner && quiet->waiting == 1 && !quiet->entering,
	      "the one that is waited in: owner %p, %d wait, %d enter", (void *)quiet->owner, (int)quiet->waiting,
	      (int)quiet->entering);
	check("MONITOR_DUMP", d.raw_ours == 1, "%d raw monitors of ours", d.raw_ours);
	check("MONITOR_DUMP", d.traces >= 4 && d.statuses_blocked == 2 && d.with_frames >= 4,
	      "%d traces, %d with frames, %d blocked", d.traces, d.with_frames, d.statuses_blocked);
}

static const jint dump_types[] = {0};

const struct kind kind_deadlock = {
	.what = "deadlock", .types = dump_types, .seen = dump_seen, .end = dump_end, .dump = monitor_dump};
