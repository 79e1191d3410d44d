#include "sampler/cli/closing.h"

#include "sampler/closed/closed.h"
#include "sampler/closed/opener.h"
#include "sampler/rights/privs.h"

int close_with(struct opener *o, struct err *err)
{
	struct closed_gaps gaps;
	int r = opener_start(o, privs_drop_for_files, err);

	if (r == 0)
		r = closed_begin(opener_socket(o), &gaps, err);
	if (r == 0)
		closed_say_gaps(&gaps);
	return r;
}
