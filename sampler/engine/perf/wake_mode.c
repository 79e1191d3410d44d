#include "sampler/engine/perf/wake_mode.h"

enum {
	FIRST_SAMPLES = 16, /* at least; if not settled, also for FIRST_NS and FIRST_ENOUGH */
	FIRST_ENOUGH = 512, /* takes longer than FIRST_NS if the target has to wait for a CPU */
	CUT_MIN = 2, /* one cut stack decides nothing */
	CUT_SHARE = 500, /* wake at each sample if more than 1 in 500 is cut */
	SEEN_MIN = 100, /* fewer samples do not show that there are no deep stacks */
	WINDOW = 1024, /* samples that count as recent */
};
#define CALM_NS UINT64_C(10000000000)
#define FIRST_NS UINT64_C(200000000)
#define FIRST_MAX_NS UINT64_C(2000000000)
#define HOLE_NS UINT64_C(100000000) /* more may come after a hole */

static bool worth_it(const struct wake *w)
{
	return w->cut >= CUT_MIN && w->cut * CUT_SHARE > w->seen;
}

static bool is_starting(const struct wake *w, uint64_t now_ns)
{
	uint64_t age = now_ns - w->since_ns;

	if (age >= FIRST_MAX_NS)
		return false;
	if (w->hole_ns && now_ns - w->hole_ns < HOLE_NS)
		return true;
	return !w->settled && (w->starting || age < FIRST_NS || w->seen < FIRST_ENOUGH);
}

static enum wake_mode first_note(const struct wake *w, uint64_t now_ns)
{
	if (w->cut)
		return WAKE_DEEP;
	return w->seen < FIRST_SAMPLES || is_starting(w, now_ns) ? WAKE_FIRST : WAKE_BATCH;
}

static enum wake_mode batch_note(struct wake *w)
{
	if (worth_it(w))
		return WAKE_DEEP;
	if (w->seen >= WINDOW) {
		w->seen /= 2;
		w->cut /= 2;
	}
	return WAKE_BATCH;
}

static enum wake_mode note_deep_stack(struct wake *w, uint64_t now_ns)
{
	if (w->seen < SEEN_MIN || now_ns - w->since_ns < CALM_NS)
		return WAKE_DEEP;
	if (!worth_it(w))
		return WAKE_BATCH;
	wake_changed(w, WAKE_DEEP, now_ns);
	return WAKE_DEEP;
}

enum wake_mode wake_note(struct wake *w, bool cut, uint64_t now_ns)
{
	if (!w->since_ns)
		w->since_ns = now_ns;
	w->seen++;
	w->cut += cut;
	switch (w->mode) {
	case WAKE_FIRST: return first_note(w, now_ns);
	case WAKE_BATCH: return batch_note(w);
	case WAKE_DEEP: break;
	}
	return note_deep_stack(w, now_ns);
}

void wake_hole(struct wake *w, uint64_t now_ns)
{
	w->hole_ns = now_ns;
}

void wake_changed(struct wake *w, enum wake_mode mode, uint64_t now_ns)
{
	*w = (struct wake){.mode = mode, .since_ns = now_ns};
}
