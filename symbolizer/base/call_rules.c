#include "symbolizer/base/call_rules.h"

int call_rules_allow(scmp_filter_ctx f, const int *allowed, size_t n, const struct call_rule *allowed_with,
		     size_t n_with)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++)
		r = seccomp_rule_add_array(f, SCMP_ACT_ALLOW, allowed[i], 0, NULL);
	for (size_t i = 0; r == 0 && i < n_with; i++)
		r = seccomp_rule_add_array(f, SCMP_ACT_ALLOW, allowed_with[i].call, allowed_with[i].n,
					   allowed_with[i].arg);
	return r;
}
