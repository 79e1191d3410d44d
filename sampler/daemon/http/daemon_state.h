#ifndef JS_HTTP_DAEMON_STATE_H
#define JS_HTTP_DAEMON_STATE_H

#include <stdatomic.h>
#include <stdint.h>

/*
 * Numbers about the whole daemon, which its first process sends to the keeper every few seconds. All 0: nothing was
 * sent yet.
 */
struct daemon_numbers {
	uint64_t jvms; /* that are sampled */
	uint64_t lowered; /* those that are sampled less often than configured: for cpu_limit, or after losses */
	uint64_t slower; /* those that are configured to be sampled less often than the default */
	uint64_t own_cpu, cpu_limit; /* in millionths of a core; own_cpu: of all processes, averaged over 10 s */
	uint64_t helpless; /* 1: above the limit, although no target can be sampled less often */
	uint64_t captures; /* that run */
	uint64_t starved; /* those of `lowered` that would be sampled more often if no samples had been lost */
	uint64_t lost_samples, lost_records, ended_samples, late_samples; /* as in struct crowd_lost; since the start */
};

/* The same, for the threads that answer requests. names_left_out: of the keeper itself (store_names_left_out()). */
struct daemon_state {
	_Atomic uint64_t names_left_out;
	_Atomic uint64_t jvms, lowered, slower, own_cpu, cpu_limit, helpless, captures;
	_Atomic uint64_t starved, lost_samples, lost_records, ended_samples, late_samples;
};

static inline void daemon_state_set(struct daemon_state *s, const struct daemon_numbers *n)
{
	atomic_store(&s->jvms, n->jvms);
	atomic_store(&s->lowered, n->lowered);
	atomic_store(&s->slower, n->slower);
	atomic_store(&s->own_cpu, n->own_cpu);
	atomic_store(&s->cpu_limit, n->cpu_limit);
	atomic_store(&s->helpless, n->helpless);
	atomic_store(&s->captures, n->captures);
	atomic_store(&s->starved, n->starved);
	atomic_store(&s->lost_samples, n->lost_samples);
	atomic_store(&s->lost_records, n->lost_records);
	atomic_store(&s->ended_samples, n->ended_samples);
	atomic_store(&s->late_samples, n->late_samples);
}

#endif
