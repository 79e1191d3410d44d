#ifndef JS_SESSION_SESSION_SHARE_H
#define JS_SESSION_SESSION_SHARE_H

#include <stddef.h>

#include "sampler/session/session.h"

/*
 * Has the `sessions` sessions that will be opened with these options sample with one set of events on the CPUs, where
 * that is possible and loses nothing (engine_ops.share). Otherwise each has events of its own; -v says why. Before
 * privileges are given up.
 */
void session_share_events(struct session_options *o, size_t sessions);
void session_unshare_events(struct session_options *o); /* after the sessions are closed */

#endif
