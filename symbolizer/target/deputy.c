#include "symbolizer/target/deputy.h"

#include "symbolizer/base/clock.h"
#include "symbolizer/target/proc.h"

static struct deputy appointed;
static struct deputy_event events[DEPUTY_EVENTS];
static size_t n_events;

void deputy_note_event(uint32_t type, uint64_t config)
{
	for (size_t i = 0; i < n_events; i++)
		if (events[i].type == type && events[i].config == config)
			return;
	if (n_events < DEPUTY_EVENTS)
		events[n_events++] = (struct deputy_event){type, config};
}

const struct deputy_event *deputy_events(size_t *ret_n)
{
	*ret_n = n_events;
	return events;
}

void deputy_appoint(const struct deputy *d)
{
	proc_note_own_namespaces();
	appointed = *d;
}

const struct deputy *deputy(void)
{
	return appointed.find ? &appointed : NULL;
}

uint64_t deputy_and_own_cpu_ns(void)
{
	return clock_process_cpu_ns() + (deputy() ? deputy()->cpu_ns(deputy()->ctx) : 0);
}
