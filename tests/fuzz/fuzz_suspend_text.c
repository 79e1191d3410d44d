/* The files of /proc/PID/task/TID that the suspend engine reads: names in them are the target's. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/engine/suspend/suspend_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_position(const char *text)
{
	struct has_run_set s;
	int r = suspend_text_position(text, &s);

	if (r != 0 && r != -EAGAIN)
		abort();
	if (r == 0 && (!regs_known(&s.regs, X86_RIP) || !regs_known(&s.regs, X86_RSP)))
		abort();
	/* In a call its arguments are there. */
	if (r == 0 && s.call >= 0 && !regs_known(&s.regs, X86_R10))
		abort();
	(void)has_run_host()->checksum(&s);
}

/* A thread's name, whatever it is, is not taken for what stands behind it. */
static void check_name(const char *name)
{
	size_t n = strnlen(name, 15);
	char text[64] = "7 (";

	memcpy(text + 3, name, n);
	memcpy(text + 3 + n, ") S 1 7", 8);
	if (suspend_text_state(text) != 'S')
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct has_run_account a;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	a = suspend_text_account(text);
	if (!has_run_account_equal(&a, &a))
		abort();
	(void)suspend_text_state(text);
	(void)suspend_text_signalled(text);
	if (suspend_text_tracer(text) < 0)
		abort();
	check_position(text);
	check_name(text);
	free(text);
	return 0;
}
