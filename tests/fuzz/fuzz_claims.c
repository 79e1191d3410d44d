/* What a target, or its JVM, claims about itself: command line, environment, properties, control groups, a thread dump. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/daemon/identity/identity.h"
#include "sampler/doctor/thread_dump.h"
#include "sampler/inspect/command_line.h"
#include "sampler/inspect/java_main.h"
#include "symbolizer/base/text.h"
#include "symbolizer/target/cgroup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SHORT = 24, LONG = 4096 };

/* Fit for a terminal: sanitising it again changes nothing. */
static void require_clean(const char *text, size_t size)
{
	char again[LONG];
	size_t n = strnlen(text, size);

	if (n == size || text_sanitise(again, sizeof(again), text, n) != n || memcmp(again, text, n) != 0)
		abort();
}

static void command_line(const char *text, size_t len)
{
	char line[LONG], main_class[LONG], few[SHORT], name[SHORT];

	for (int whole = 0; whole < 2; whole++) {
		command_line_text(text, len, whole, line, sizeof(line));
		require_clean(line, sizeof(line));
		command_line_text(text, len, whole, few, sizeof(few));
		require_clean(few, sizeof(few));
	}
	if (!java_main(text, len, main_class, sizeof(main_class)))
		return;
	if (strnlen(main_class, sizeof(main_class)) == sizeof(main_class)) /* sanitised by whoever shows it */
		abort();
	java_main_short(main_class, name, sizeof(name));
	(void)java_main_matches(main_class, name);
}

static void control_groups(const char *text, size_t len)
{
	struct cgroup_names names;
	char container[SHORT];

	cgroup_parse(text, len, &names);
	require_clean(names.container, sizeof(names.container));
	require_clean(names.pod_uid, sizeof(names.pod_uid));
	require_clean(names.unit, sizeof(names.unit));
	cgroup_container(text, len, container, sizeof(container));
	require_clean(container, sizeof(container));
}

/* `text` ends with a NUL behind its `len` bytes. */
static void labels(const char *text, size_t len)
{
	const struct identity_facts f = {
		.properties = text,
		.properties_len = len,
		.environment = text,
		.environment_len = len,
		.cgroup = text,
		.cgroup_len = len,
		.code = text,
		.code_len = len,
		.pod_log = text,
		.pod_log_container = text,
		.main = text,
		.jdk = text,
		.user = text,
		.host = text,
		.pid = 1,
	};
	struct identity who;

	identity_find(&f, &who);
	for (size_t i = 0; i < who.n; i++)
		require_clean(who.labels[i].value, sizeof(who.values[0]));
}

/* Splits the text in place: last. */
static void dump(char *text)
{
	struct thread_dump d;
	size_t frames = 0;

	if (thread_dump_parse(text, &d) < 0)
		return;
	for (size_t i = 0; i < d.n_threads; i++) {
		const struct dump_thread *t = &d.threads[i];

		if (t->first + t->n > d.n_frames || strpbrk(t->name, "\"\n"))
			abort();
		for (size_t k = 0; k < t->n; k++)
			frames += strlen(d.frames[t->first + k]) != 0;
		(void)thread_dump_find(&d, t->ns_tid);
	}
	if (frames > d.n_frames)
		abort();
	thread_dump_done(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	command_line(text, size);
	control_groups(text, size);
	labels(text, size);
	dump(text);
	free(text);
	return 0;
}
