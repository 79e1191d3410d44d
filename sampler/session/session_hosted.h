#ifndef JS_SESSION_SESSION_HOSTED_H
#define JS_SESSION_SESSION_HOSTED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/session/session.h"

struct budget_pool;
struct err;
struct raw_sample;

/*
 * Sessions of processes that one engine samples together (perf_host.h). Each counts and names the samples that are
 * handed to it, and has no engine of its own. What they share is in struct session_hosting. For one thread.
 */
struct session_hosting;

/*
 * What `sessions` sessions that are busy at the same time may cost together. Files that several have mapped are read
 * only once; they count here, too.
 */
void session_hosting_pool(struct budget_pool *ret, size_t sessions);

/*
 * Opens what needs privileges. o: as for session_open(), but its engine options only describe the engine; *o->files is
 * for all sessions. 0 or -errno.
 */
int session_hosting_open(const struct session_options *o, struct session_hosting **ret, struct err *err);
void session_hosting_close(struct session_hosting *h); /* after its sessions */

/* Opens the session of a process that is sampled from now on. 0 or -errno; -ESRCH: it has ended. */
int session_open_hosted(struct session_hosting *h, pid_t pid, struct session **ret, struct err *err);

/*
 * Counts a sample. false: not counted, because the process has ended or executed another program, so it may not be the
 * one that was sampled.
 */
bool session_hosted_sample(struct session *s, const struct raw_sample *raw);
/* Other events of the process: a thread has a name, or has ended; a file was mapped. */
void session_hosted_thread(struct session *s, pid_t tid, const char *comm);
void session_hosted_thread_exit(struct session *s, pid_t tid);
void session_hosted_mapped(struct session *s);
/*
 * Some of these may have been missed, and are looked for; names are read again when their threads are sampled. false: the
 * process has executed another program. One that is about to end has no memory either, and is no such process.
 */
bool session_hosted_check(struct session *s);

/*
 * How many stacks were incomplete, and deeper than their copies, since it was last asked: an engine of its own could
 * read what is beyond the copy while the thread waits.
 */
uint64_t session_hosted_cut(struct session *s);
const char *session_hosted_jdk(const struct session *s); /* "": no JVM could be read yet */
/*
 * No more samples follow: those that wait until a JVM can be read are counted. To be called before the last
 * session_take().
 */
void session_hosted_end(struct session *s);

#endif
