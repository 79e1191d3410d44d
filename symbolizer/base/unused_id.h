#ifndef JS_BASE_UNUSED_ID_H
#define JS_BASE_UNUSED_ID_H

#include <sys/types.h>

/*
 * A user and group ID that no other process has, from a range that no distribution assigns (systemd's "Users, Groups,
 * UIDs and GIDs"). The ids of "nobody" also belong to daemons, which could stop a process that has them, set its
 * limits, or use up what the kernel counts per user. In a user namespace, the id may not be mapped.
 */
uid_t unused_id(void);

#endif
