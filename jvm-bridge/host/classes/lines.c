#include "jvm-bridge/host/classes/lines.h"
#include "jvm-bridge/host/base/bridge.h"
#include "jvm-bridge/host/support.h"

void lines_get(jmethodID method, struct lines *ret)
{
	jvmtiEnv *ti = the_bridge.ti;
	jvmtiError r = JVMTI_ERROR_ABSENT_INFORMATION;

	*ret = (struct lines){NULL, -1};
	if (method && event_capabilities_add(12, -1)) /* can_get_line_numbers */
		r = (*ti)->GetLineNumberTable(ti, method, &ret->n, &ret->entries);
	if (r) {
		ret->entries = NULL;
		ret->n = r == JVMTI_ERROR_NATIVE_METHOD ? -3 : -1;
	}
}

void lines_done(struct lines *l)
{
	bridge_free(l->entries);
	*l = (struct lines){NULL, -1};
}

/* Tables need not be sorted: takes the entry with the highest start at or before the bci. */
jint lines_find(const struct lines *l, jlong bci)
{
	jint line = -1;
	jlong best = -1;

	if (l->n < 0)
		return l->n;
	if (bci < 0)
		bci = 0; /* the method's entry */
	for (jint i = 0; i < l->n; i++) {
		if (l->entries[i].start_location > bci || l->entries[i].start_location < best)
			continue;
		best = l->entries[i].start_location;
		line = l->entries[i].line_number;
	}
	return line;
}

void lines_range(const struct lines *l, jint *first, jint *last)
{
	*first = *last = l->n < 0 ? l->n : -1;
	for (jint i = 0; i < l->n; i++) {
		jint line = l->entries[i].line_number;

		if (*first < 0 || line < *first)
			*first = line;
		if (line > *last)
			*last = line;
	}
}
