#ifndef JS_BROKER_PATIENCE_H
#define JS_BROKER_PATIENCE_H

#include <stdatomic.h>
#include <stdbool.h>

enum { PATIENCE_HURRY_MS = 100 };

/*
 * Waits for the answer to a request for a file of a target, for which the broker's thread sleeps if the file system
 * does not answer. `stat`: from BROKER_OWN_STAT; negative: not known. Time in which that thread waits for a CPU does
 * not count, up to some seconds, because a busy machine is not the file's fault. false: no answer in time.
 */
bool patience_wait(int socket, int stat, int ms, const atomic_bool *hurried);

#endif
