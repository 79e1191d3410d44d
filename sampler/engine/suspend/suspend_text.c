#include "sampler/engine/suspend/suspend_text.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/target/arch.h"

struct has_run_account suspend_text_account(const char *text)
{
	struct has_run_account a = {0};
	char *p;

	a.cpu_ns = strtoull(text, &p, 10);
	a.wait_ns = strtoull(p, &p, 10);
	a.slices = strtoull(p, &p, 10);
	return a;
}

char suspend_text_state(const char *text)
{
	/* After the name, which may contain anything. */
	const char *p = strrchr(text, ')');

	return p && p[1] == ' ' ? p[2] : 0;
}

int suspend_text_position(const char *text, struct has_run_set *ret)
{
	const struct arch *arch = arch_host();
	uint64_t a[6] = {0}, sp, pc;
	int64_t nr;
	int n;

	/* "nr arg1 ... arg6 sp pc"; "-1 sp pc" in a page fault and the like; "running". */
	*ret = (struct has_run_set){.call = -1};
	if (text[0] == 'r')
		return -EAGAIN;
	n = sscanf(text,
		   "%" SCNd64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64
		   " %" SCNx64,
		   &nr, &a[0], &a[1], &a[2], &a[3], &a[4], &a[5], &sp, &pc);
	if (n == 9) {
		ret->call = nr;
		for (unsigned i = 0; i < 6; i++)
			regs_set(&ret->regs, arch->call_args[i], a[i]);
	} else if (sscanf(text, "-1 %" SCNx64 " %" SCNx64, &sp, &pc) != 2) {
		return -EAGAIN;
	}
	regs_set(&ret->regs, arch->sp, sp);
	regs_set(&ret->regs, arch->pc, pc);
	return 0;
}

/* Newlines in a thread's name are escaped, so each line is the kernel's own. */
static uint64_t status_field(const char *text, const char *name, int base)
{
	const char *p = strstr(text, name);

	return p ? strtoull(p + strlen(name), NULL, base) : 0;
}

bool suspend_text_signalled(const char *text)
{
	uint64_t pending;

	if (!strstr(text, "\nSigBlk:"))
		return true;
	pending = status_field(text, "\nSigPnd:", 16) | status_field(text, "\nShdPnd:", 16);
	return pending & ~status_field(text, "\nSigBlk:", 16);
}

pid_t suspend_text_tracer(const char *text)
{
	uint64_t pid = status_field(text, "\nTracerPid:", 10);

	return pid <= INT_MAX ? (pid_t)pid : 0;
}
