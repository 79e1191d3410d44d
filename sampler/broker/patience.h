#ifndef JS_BROKER_PATIENCE_H
#define JS_BROKER_PATIENCE_H

#include <stdatomic.h>
#include <stdbool.h>

enum { PATIENCE_HURRY_MS = 100 };

/*
 * Waits for the answer to a request that takes a file of a target, for which it sleeps if its file system is silent. `stat`: of
 * BROKER_OWN_STAT; the time in which the thread that answers waits for a CPU does not count, since a busy machine is no fault of the
 * file's, up to some seconds. Negative: not known. false: not in time.
 */
bool patience_wait(int socket, int stat, int ms, const atomic_bool *hurried);

#endif
