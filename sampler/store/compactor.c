#include "sampler/store/compactor.h"

#include "sampler/store/compaction.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"

/*
 * CPU time in picoseconds, per byte of the file and second, so that a file takes some 6 hours: one of 90 MB, of a host with
 * two busy CPUs, 0.1 % of a CPU. Small ones are done at once. A turn does not keep samples from being stored for longer than
 * 40 ms.
 */
enum { PS_PER_BYTE = 10, AT_ONCE_NS = 10000000, TURN_NS = 40000000 };

/* After that long without a call, there is no more to catch up with. */
enum { AT_MOST_S = 60 };

/* The last steps of a day are added up some time after midnight. */
enum { AFTER_S = 3600 };

void compactor_end(struct compactor *k)
{
	compaction_end(k->running);
	k->running = NULL;
}

void compactor_leave(struct compactor *k, struct day_id id)
{
	if (!k->running || k->id.date != id.date || k->id.step != id.step)
		return;
	compactor_end(k);
	k->done[id.step] = id.date - 1;
}

/* What a file grows by, at most, before it shrinks: the log, and nodes that are there twice for a while. */
static bool has_room(const struct store_file *f, uint64_t room)
{
	return f->bytes / 2 + (16 << 20) <= room;
}

static bool is_due(const struct compactor *k, const struct store_file *f, const struct day *open, uint64_t now_s)
{
	if (f->aside || f->id.date <= k->done[f->id.step] || (open && open->id.date == f->id.date))
		return false;
	return (uint64_t)(f->id.date + 1) * DAY_S + AFTER_S <= now_s;
}

static void say_failure(const struct compactor *k, const char *dir, const struct err *why)
{
	char name[DAY_NAME];

	day_name(k->id, name);
	log_warn("'%s/%s' cannot be made smaller: %s", dir, name, why->msg);
}

static void begin(struct compactor *k, const char *dir, const struct store_file *f)
{
	struct err err = {0};

	k->id = f->id;
	k->bytes = f->bytes;
	k->credit_ns = AT_ONCE_NS;
	k->then_ns = 0;
	k->done[f->id.step] = f->id.date;
	if (compaction_begin(dir, f->id, &k->running, &err) < 0)
		say_failure(k, dir, &err);
}

/* Files are sorted by step and date. Pages of many days read the widest steps. Files of the finest are soon forgotten. */
void compactor_choose(struct compactor *k, const char *dir, const store_file_list *files,
		      struct day *const open[STORE_STEPS], uint64_t room, uint64_t now_s)
{
	if (now_s < k->chosen_s) /* the clock was wrong, and so may be what is done */
		for (unsigned step = 0; step < STORE_STEPS; step++)
			k->done[step] = 0;
	k->chosen_s = now_s;
	for (unsigned step = STORE_STEPS - 1; step > 0 && !k->running; step--)
		for (size_t i = 0; i < files->n; i++) {
			const struct store_file *f = &files->v[i];

			if (f->id.step == step && is_due(k, f, open[step], now_s) && has_room(f, room)) {
				begin(k, dir, f);
				return;
			}
		}
}

static void add_credit(struct compactor *k)
{
	uint64_t now = clock_monotonic_ns(), since_ms = k->then_ns ? (now - k->then_ns) / 1000000 : 0;

	since_ms = since_ms < AT_MOST_S * 1000 ? since_ms : AT_MOST_S * 1000;
	k->credit_ns += (int64_t)(since_ms * (k->bytes / 1000) * PS_PER_BYTE / 1000);
	k->credit_ns = k->credit_ns < TURN_NS ? k->credit_ns : TURN_NS;
	k->then_ns = now;
}

void compactor_work(struct compactor *k, const char *dir)
{
	uint64_t before = clock_thread_cpu_ns();
	struct err err = {0};
	int r;

	if (!k->running)
		return;
	add_credit(k);
	if (k->credit_ns <= 0)
		return;
	r = compaction_work(k->running, (uint64_t)k->credit_ns, &err);
	k->credit_ns -= (int64_t)(clock_thread_cpu_ns() - before);
	if (r > 0)
		return;
	compactor_end(k);
	if (r < 0)
		say_failure(k, dir, &err);
}
