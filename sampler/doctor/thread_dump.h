#ifndef JS_DOCTOR_THREAD_DUMP_H
#define JS_DOCTOR_THREAD_DUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A thread dump as printed by HotSpot (jstack, the attach command threaddump; JDK 8 to 28), by thread. Frames are
 * "java.lang.Thread.run", leaf first, without the parts that change from run to run.
 */
struct dump_thread {
	const char *name; /* as printed; "" if it contains a quotation mark or newline */
	int32_t ns_tid; /* nid: in the target's PID namespace; 0: unknown */
	size_t first, n; /* its frames */
	bool mounts; /* a virtual thread is mounted: two stacks */
};

struct thread_dump {
	struct dump_thread *threads;
	size_t n_threads, threads_cap;
	const char **frames;
	size_t n_frames;
};

/* Splits `text` in place; strings point into it. Threads after the first 131,072 are left out. 0 or -ENOMEM. */
int thread_dump_parse(char *text, struct thread_dump *ret);
const struct dump_thread *thread_dump_find(const struct thread_dump *d, int32_t ns_tid); /* or NULL */
void thread_dump_done(struct thread_dump *d);

/* In place: '.' for '/', and without the addresses in names of hidden classes ("/0x..", "+0x.."). */
void thread_dump_plain_name(char *name);

/* MaxJavaStackTraceDepth: by default a dump shows at most this many frames of a thread. */
enum { THREAD_DUMP_DEPTH = 1024 };
/* A dump never cuts a name within its first THREAD_DUMP_NAME bytes. */
enum { THREAD_DUMP_NAME = 900 };

#endif
