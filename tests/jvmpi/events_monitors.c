/* Contention of monitors, Java's and raw ones. */
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/jvmpi/events.h"

enum { ROUNDS = 3, SLEEP_MS = 200, WAIT_MS = 300 };

JNIEXPORT void JNICALL Java_Events_raw(JNIEnv *env, jclass klass);

static struct {
	_Atomic int enter, entered, exit, exit_by_main, wait, waited, waits_of_main, early, long_enough;
	_Atomic long long began; /* ms */
	_Atomic int raw_enter, raw_entered, raw_exit, raw_exit_elsewhere, raw_other;
	JVMPI_RawMonitor loud, silent;
	_Atomic int holds;
	JNIEnv *_Atomic holder;
} c;

static long long ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ll + t.tv_nsec / 1000000;
}

static void monitor_seen(const JVMPI_Event *e, jint type)
{
	if (e->u.monitor.object != jvmpi_events.watched[0])
		return;
	if (type == JVMPI_EVENT_MONITOR_CONTENDED_ENTER) {
		c.enter++;
		c.began = ms();
	} else if (type == JVMPI_EVENT_MONITOR_CONTENDED_EXIT) {
		c.exit++;
		c.exit_by_main += e->env_id == jvmpi_events.main;
		c.early += c.exit != c.entered + 1;
	} else {
		c.entered++;
		c.long_enough += ms() - c.began >= SLEEP_MS - 50;
	}
}

static void wait_seen(const JVMPI_Event *e, jint type)
{
	if (e->u.monitor_wait.object != jvmpi_events.watched[0])
		return;
	if (type == JVMPI_EVENT_MONITOR_WAIT) {
		c.wait++;
		c.waits_of_main += e->env_id == jvmpi_events.main && e->u.monitor_wait.timeout == WAIT_MS;
	} else {
		c.waited++;
		c.waits_of_main += e->env_id == jvmpi_events.main && e->u.monitor_wait.timeout >= WAIT_MS - 10 &&
				   e->u.monitor_wait.timeout < 100 * WAIT_MS;
		c.early += e->env_id != jvmpi_events.main && e->u.monitor_wait.timeout < 50;
	}
}

static void raw_seen(const JVMPI_Event *e, jint type)
{
	bool ours = e->u.raw_monitor.id == c.loud && !strcmp(e->u.raw_monitor.name, "loud");

	c.raw_other += !ours;
	if (type == JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTER)
		c.raw_enter += ours && e->env_id == jvmpi_events.main;
	else if (type == JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTERED)
		c.raw_entered += ours && e->env_id == jvmpi_events.main;
	else {
		c.raw_exit += ours;
		c.raw_exit_elsewhere += e->env_id == c.holder;
	}
}

static void monitors_seen(JVMPI_Event *e, jint type)
{
	if (!jvmpi_events.main)
		return;
	if (type >= JVMPI_EVENT_MONITOR_CONTENDED_ENTER && type <= JVMPI_EVENT_MONITOR_CONTENDED_EXIT)
		monitor_seen(e, type);
	else if (type == JVMPI_EVENT_MONITOR_WAIT || type == JVMPI_EVENT_MONITOR_WAITED)
		wait_seen(e, type);
	else if (type >= JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTER && type <= JVMPI_EVENT_RAW_MONITOR_CONTENDED_EXIT)
		raw_seen(e, type);
}

static void hold(void *arg)
{
	(void)arg;
	c.holder = env_here();
	jvmpi->RawMonitorEnter(c.loud);
	jvmpi->RawMonitorEnter(c.silent);
	c.holds = 1;
	while (!c.raw_enter)
		usleep(1000);
	usleep(100000);
	jvmpi->RawMonitorExit(c.loud);
	usleep(100000);
	jvmpi->RawMonitorExit(c.silent);
	c.holds = 2;
}

/* Another thread owns both: of the one whose name begins with '_' nothing is told. */
JNIEXPORT void JNICALL Java_Events_raw(JNIEnv *env, jclass klass)
{
	static char loud[] = "loud", silent[] = "_silent", name[] = "test holder";

	(void)env, (void)klass;
	c.loud = jvmpi->RawMonitorCreate(loud);
	c.silent = jvmpi->RawMonitorCreate(silent);
	if (jvmpi->CreateSystemThread(name, JVMPI_NORMAL_PRIORITY, hold))
		return;
	while (!c.holds)
		usleep(1000);
	jvmpi->RawMonitorEnter(c.loud);
	jvmpi->RawMonitorEnter(c.silent);
	jvmpi->RawMonitorExit(c.silent);
	jvmpi->RawMonitorExit(c.loud);
	while (c.holds != 2)
		usleep(1000);
	jvmpi->RawMonitorEnter(c.loud); /* nobody has it */
	jvmpi->RawMonitorExit(c.loud);
}

static void monitors_end(JNIEnv *env)
{
	(void)env;
	check("MONITOR_CONTENDED_ENTER", c.enter == ROUNDS, "%d of %d", c.enter, ROUNDS);
	check("MONITOR_CONTENDED_ENTERED", c.entered == ROUNDS && c.long_enough == ROUNDS, "%d of %d, %d after %d ms",
	      c.entered, ROUNDS, c.long_enough, SLEEP_MS);
	check("MONITOR_CONTENDED_EXIT", c.exit == ROUNDS && c.exit_by_main == ROUNDS && !c.early,
	      "%d of %d, %d by the owner, %d not before ENTERED", c.exit, ROUNDS, c.exit_by_main, c.early);
	check("MONITOR_WAIT", c.wait == 2 && c.waits_of_main == 2, "%d of 2, %d as expected", c.wait, c.waits_of_main);
	check("MONITOR_WAITED", c.waited == 2 && c.waits_of_main == 2 && !c.early, "%d of 2, %d as expected", c.waited,
	      c.waits_of_main);
	check("RAW_MONITOR_CONTENDED_ENTER", c.raw_enter == 1 && !c.raw_other, "%d, and %d of others", c.raw_enter,
	      c.raw_other);
	check("RAW_MONITOR_CONTENDED_ENTERED", c.raw_entered == 1, "%d", c.raw_entered);
	check("RAW_MONITOR_CONTENDED_EXIT", c.raw_exit == 1 && c.raw_exit_elsewhere == 1, "%d, %d of the owner",
	      c.raw_exit, c.raw_exit_elsewhere);
}

static const jint monitor_types[] = {JVMPI_EVENT_MONITOR_CONTENDED_ENTER,
				     JVMPI_EVENT_MONITOR_CONTENDED_ENTERED,
				     JVMPI_EVENT_MONITOR_CONTENDED_EXIT,
				     JVMPI_EVENT_MONITOR_WAIT,
				     JVMPI_EVENT_MONITOR_WAITED,
				     JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTER,
				     JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTERED,
				     JVMPI_EVENT_RAW_MONITOR_CONTENDED_EXIT,
				     0};

const struct kind kind_monitors = {
	.what = "monitors", .types = monitor_types, .seen = monitors_seen, .end = monitors_end};
