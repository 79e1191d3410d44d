#include "sampler/doctor/thread_dump.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/base/vec.h"

/* More threads and frames than any JVM has: lines of two bytes would take twenty times their length in memory. */
enum { MAX_THREADS = 1 << 17, MAX_FRAMES = 1 << 22 };

typedef VEC(struct dump_thread) threads_vec;
typedef VEC(const char *) frames_vec;

void thread_dump_plain_name(char *name)
{
	char *to = name;

	for (const char *p = name; *p;) {
		bool address = (*p == '/' || *p == '+' || *p == '.') && p[1] == '0' && p[2] == 'x' &&
			       isxdigit((unsigned char)p[3]);

		if (!address) {
			*to++ = *p == '/' ? '.' : *p;
			p++;
			continue;
		}
		for (p += 3; isxdigit((unsigned char)*p); p++)
			;
	}
	*to = '\0';
}

/* Takes the last match, because text before it may be part of the thread's name. */
static int32_t tid_of(const char *line)
{
	const char *found = NULL;
	long long tid;

	for (const char *p = line; (p = strstr(p, " nid=")); p++)
		found = p;
	/* Hexadecimal up to JDK 20, decimal from 21 on. */
	tid = found ? strtoll(found + 5, NULL, 0) : 0;
	return tid > 0 && tid <= INT32_MAX ? (int32_t)tid : 0;
}

static struct dump_thread thread_of(char *line, size_t first_frame)
{
	struct dump_thread t = {.name = "", .ns_tid = tid_of(line), .first = first_frame};
	char *end = strchr(line + 1, '"');

	if (end) {
		*end = '\0';
		t.name = line + 1;
	}
	return t;
}

/*
 * "\tat java.lang.Object.wait(java.base@17.0.15/Native Method)" -> "java.lang.Object.wait". The JVM cuts lines at
 * 2,000 bytes, so the text after the name may be missing.
 */
static char *frame_of(char *line)
{
	static const char at[] = "\tat ";
	char *paren;

	if (strncmp(line, at, sizeof(at) - 1) != 0)
		return NULL;
	paren = strrchr(line, '(');
	if (paren)
		*paren = '\0';
	thread_dump_plain_name(line + sizeof(at) - 1);
	return line + sizeof(at) - 1;
}

static bool add_line(char *line, threads_vec *threads, frames_vec *frames)
{
	struct dump_thread *last = threads->n ? &threads->v[threads->n - 1] : NULL;
	char *frame;

	if (threads->n == MAX_THREADS || frames->n == MAX_FRAMES)
		return true;
	if (*line == '"')
		return vec_push(threads, thread_of(line, frames->n));
	if (!last)
		return true;
	if (strstr(line, "Mounted virtual thread") || strstr(line, "Carrying virtual thread"))
		last->mounts = true;
	frame = frame_of(line);
	if (!frame)
		return true;
	last->n++;
	return vec_push(frames, frame);
}

int thread_dump_parse(char *text, struct thread_dump *ret)
{
	threads_vec threads = {0};
	frames_vec frames = {0};
	char *save = NULL;
	bool ok = true;

	for (char *l = strtok_r(text, "\n", &save); l && ok; l = strtok_r(NULL, "\n", &save))
		ok = add_line(l, &threads, &frames);
	*ret = (struct thread_dump){threads.v, threads.n, threads.cap, frames.v, frames.n};
	if (!ok)
		thread_dump_done(ret);
	return ok ? 0 : -ENOMEM;
}

const struct dump_thread *thread_dump_find(const struct thread_dump *d, int32_t ns_tid)
{
	for (size_t i = 0; ns_tid && i < d->n_threads; i++)
		if (d->threads[i].ns_tid == ns_tid)
			return &d->threads[i];
	return NULL;
}

void thread_dump_done(struct thread_dump *d)
{
	free(d->threads);
	free(d->frames);
	*d = (struct thread_dump){0};
}
