#ifndef JS_BASE_UNUSED_ID_H
#define JS_BASE_UNUSED_ID_H

#include <sys/types.h>

/*
 * A user and group ID that no other process has, from a range that no distribution assigns (systemd's "Users, Groups,
 * UIDs and GIDs"). Those of nobody also belong to daemons, which could stop a process that has them, set its limits, or
 * use up what the kernel counts per user. A user namespace may not have it.
 */
uid_t unused_id(void);

#endif
