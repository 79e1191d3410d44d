#include "sampler/daemon/host/scan_when.h"

#define SECOND_NS UINT64_C(1000000000)
#define USUAL_NS SECOND_NS
#define TOLD_NS (15 * SECOND_NS)
#define EARLY_NS (SECOND_NS / 4)
#define FORGET_NS (8 * SECOND_NS)
enum { DOUBLED_MAX = 4 };

uint64_t scan_when_next(const struct scan_when *w)
{
	uint64_t at = w->scanned_ns + (w->tells && !w->left ? TOLD_NS : USUAL_NS);

	return w->early_ns && w->early_ns < at ? w->early_ns : at;
}

void scan_when_ask(struct scan_when *w, bool told)
{
	uint64_t at = w->scanned_ns + (told ? EARLY_NS << w->doubled : EARLY_NS);

	w->told |= told;
	if (!w->early_ns || at < w->early_ns)
		w->early_ns = at;
}

bool scan_when_tells(struct scan_when *w, bool tells)
{
	bool begins = tells && !w->tells;

	w->tells = tells;
	if (begins)
		scan_when_ask(w, false);
	return begins;
}

/* How many doublings, after a scan that nobody asked for. */
static unsigned forgotten(const struct scan_when *w, uint64_t now_ns)
{
	uint64_t n = 1 + (now_ns - w->scanned_ns) / FORGET_NS;

	return n < w->doubled ? (unsigned)n : w->doubled;
}

void scan_when_done(struct scan_when *w, uint64_t now_ns, bool left, bool found)
{
	if (found)
		w->doubled = 0;
	else if (!w->told)
		w->doubled -= forgotten(w, now_ns);
	else if (w->doubled < DOUBLED_MAX)
		w->doubled++;
	w->scanned_ns = now_ns;
	w->early_ns = 0;
	w->told = false;
	w->left = left;
}
