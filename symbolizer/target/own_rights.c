#include "symbolizer/target/own_rights.h"

#include <fcntl.h>
#include <linux/capability.h>

#include "symbolizer/base/cleanup.h"
#include "symbolizer/files/fileio.h"
#include "symbolizer/target/proc_stat.h"

enum { MAX_STATUS = 64 << 10 };

struct own_rights own_rights(void)
{
	CLEANUP(free_at_exit) char *text = NULL;
	struct proc_status status = {0};

	if (file_read_at(AT_FDCWD, "/proc/self/status", MAX_STATUS, &text, NULL) == 0)
		proc_status_parse(text, &status);
	return (struct own_rights){status.cap_effective, status.seccomp};
}

bool own_cap(const struct own_rights *me, int cap)
{
	return me->effective >> cap & 1;
}

bool own_perfmon(const struct own_rights *me)
{
	return own_cap(me, CAP_PERFMON_NUMBER) || own_cap(me, CAP_SYS_ADMIN);
}
