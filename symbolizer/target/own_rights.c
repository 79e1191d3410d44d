#include "symbolizer/target/own_rights.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/fileio.h"

enum { MAX_STATUS = 64 << 10 };

static uint64_t field(const char *text, const char *name, int base)
{
	const char *p = strstr(text, name);

	return p ? strtoull(p + strlen(name), NULL, base) : 0;
}

struct own_rights own_rights(void)
{
	CLEANUP(free_at_exit) char *text = NULL;
	struct own_rights me = {0};

	if (file_read_at(AT_FDCWD, "/proc/self/status", MAX_STATUS, &text, NULL) < 0)
		return me;
	me.effective = field(text, "\nCapEff:", 16);
	me.seccomp = (int)field(text, "\nSeccomp:", 10);
	return me;
}

bool own_cap(const struct own_rights *me, int cap)
{
	return me->effective >> cap & 1;
}

bool own_perfmon(const struct own_rights *me)
{
	return own_cap(me, CAP_PERFMON_NUMBER) || own_cap(me, CAP_SYS_ADMIN);
}
