#include "single_step_edges.h"

#include <stddef.h>
#include <string.h>

/*
 * Who calls whom in Step.java. A caller's callees are separated by spaces; a `*` at the end stands
 * for anything. Between two methods of the JDK everything is allowed.
 */
static const struct {
	const char *caller, *callees;
} edges[] = {
	{"java/lang/Thread.run", "Step.run"},
	{"java/lang/Thread.runWith", "Step.run"},
	{"Step.run", "Step.round java/*"},
	{"Step.round", "Step.leaves Step.recursion Step.shapes Step.bases Step.adapters Step.natives "
		       "Step.copies Step.exceptions Step.locks Step.lambdas Step.allocate "
		       "Step.strings Step.arithmetic Step.x_ping Step.loop"},
	{"Step.leaves", "Step.n_leaf"},
	{"Step.recursion", "Step.n_even Step.n_odd Step.x_ping"},
	{"Step.n_even", "Step.n_odd"},
	{"Step.n_odd", "Step.n_even"},
	{"Step.x_ping", "Step.n_pong"},
	{"Step.n_pong", "Step.x_ping"},
	{"Step.shapes", "Step$Square.area Step$Circle.area Step$Line.area Step$Point.area"},
	{"Step$Line.area", "Step.n_leaf"},
	{"Step$Point.area", "Step.x_cold"},
	{"Step.bases", "Step$One.value Step$Two.value Step$Three.value"},
	{"Step$Two.value", "Step.n_leaf"},
	{"Step.adapters", "Step.x_many Step.x_cold Step.x_locked Step.n_many"},
	{"Step.x_many", "Step.n_many Step.n_leaf"},
	{"Step.x_locked", "Step.n_leaf"},
	{"Step.natives", "java/*"},
	{"Step.copies", "Step.n_check java/*"},
	{"Step.n_check", "java/*"},
	{"Step.exceptions", "Step.x_pass Step.n_pass Step.n_null"},
	{"Step.x_pass", "Step.n_pass"},
	{"Step.n_pass", "Step.n_throw"},
	{"Step.n_throw", "java/lang/IllegalStateException.<init>"},
	{"Step.n_null", "java/lang/NullPointerException.<init>"},
	{"Step.locks", "Step.n_sync Step.n_syncMethod Step.x_locked"},
	{"Step.n_sync", "Step.n_leaf"},
	{"Step.n_syncMethod", "Step.n_leaf"},
	{"Step.lambdas", "Step.n_apply Step$$Lambda* java/* jdk/*"},
	{"Step.n_apply", "Step$$Lambda*"},
	{"Step$$Lambda*", "Step.lambda$* Step.twice Step$$Lambda* java/lang/Object.<init>"},
	{"Step.lambda$*", "Step.n_leaf"},
	{"Step.twice", "Step.x_cold"},
	{"Step.target", "Step.n_leaf"},
	{"java/lang/invoke/*", "Step.target Step.twice Step.lambda$* Step$$Lambda*"},
	{"jdk/internal/reflect/*", "Step.target"},
	{"sun/reflect/*", "Step.target"}, /* 8 */
	{"Step.allocate", "java/lang/Object.clone"},
	{"Step.strings", "java/*"},
	{"Step.arithmetic", "java/lang/*"},
};

/* One pattern of `len` characters. */
static bool matches(const char *pattern, size_t len, const char *name)
{
	if (len && pattern[len - 1] == '*')
		return strncmp(pattern, name, len - 1) == 0;
	return strlen(name) == len && strncmp(pattern, name, len) == 0;
}

static bool matches_any(const char *patterns, const char *name)
{
	while (*patterns) {
		size_t len = strcspn(patterns, " ");

		if (matches(patterns, len, name))
			return true;
		patterns += len;
		patterns += strspn(patterns, " ");
	}
	return false;
}

static bool is_step(const char *name)
{
	return strncmp(name, "Step.", 5) == 0 || strncmp(name, "Step$", 5) == 0;
}

bool edge_allowed(const char *caller, const char *callee)
{
	if (!is_step(caller) && !is_step(callee))
		return true;
	for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++)
		if (matches(edges[i].caller, strlen(edges[i].caller), caller) && matches_any(edges[i].callees, callee))
			return true;
	return false;
}
