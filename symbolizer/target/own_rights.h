#ifndef JS_TARGET_OWN_RIGHTS_H
#define JS_TARGET_OWN_RIGHTS_H

#include <stdbool.h>
#include <stdint.h>

/* Added to linux/capability.h in 5.8 and 5.9; older headers lack them. */
enum { CAP_PERFMON_NUMBER = 38, CAP_BPF_NUMBER = 39, CAP_CHECKPOINT_RESTORE_NUMBER = 40 };

/* The present privileges of this program, from /proc/self/status. */
struct own_rights {
	uint64_t effective; /* CapEff */
	int seccomp; /* 0 none, 1 strict, 2 filter */
};

struct own_rights own_rights(void);
bool own_cap(const struct own_rights *me, int cap);
/* Is it exempt from perf_event_paranoid? It is with CAP_PERFMON or CAP_SYS_ADMIN. */
bool own_perfmon(const struct own_rights *me);

#endif
