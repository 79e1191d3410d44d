#include "sampler/session/meta.h"

#include <string.h>

#include "sampler/inspect/command_line.h"
#include "sampler/profile/named_builder.h"
#include "sampler/session/session.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/target/proc.h"

void meta_command(struct proc *proc, bool whole, char *dst, size_t size)
{
	CLEANUP(free_at_exit) char *text = NULL;
	size_t len = 0;

	dst[0] = '\0';
	if (proc_cmdline(proc, &text, &len) == 0)
		command_line_text(text, len, whole, dst, size);
}

/* The engine says "ns"; files say it as pprof does. */
static const char *unit_name(const char *unit)
{
	return !unit || strcmp(unit, "ns") == 0 ? "nanoseconds" : unit;
}

void meta_fill(struct named_builder *b, const struct session_options *o, const struct session_summary *sum,
	       const char *command, const char *jdk)
{
	struct named_meta *m = named_builder_meta(b);
	const struct profile_totals *t = &sum->totals;
	const char *event = o->engine_options.event ? o->engine_options.event : "cpu";

	m->event = named_builder_keep(b, event);
	m->unit = named_builder_keep(b, unit_name(sum->engine.unit));
	m->period = o->engine_options.period;
	m->duration_ns = sum->elapsed_ns;
	m->lost = sum->engine.lost;
	m->lines_shown = o->show.lines;
	m->command = named_builder_keep(b, command);
	m->jdk = named_builder_keep(b, jdk);
	m->jsampler = named_builder_keep(b, o->jsampler_command ? o->jsampler_command : "");
	m->complete = t->complete;
	m->resynchronised = t->resynchronised;
	m->frozen = t->frozen;
	m->incomplete = t->samples - t->complete - t->resynchronised - t->frozen;
}
