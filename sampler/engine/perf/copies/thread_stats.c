#include "sampler/engine/perf/copies/thread_stats.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "symbolizer/target/deputy.h"
#include "symbolizer/target/proc.h"
#include "symbolizer/target/proc_stat.h"

enum { TEXT = 1024 };

struct thread_stat {
	pid_t tid; /* 0: none */
	int fd;
};

static void forget(struct thread_stat *s)
{
	if (s->tid)
		close(s->fd);
	s->tid = 0;
}

/* Opens the thread's file, for which another thread's may have to be closed. NULL: it cannot be opened. */
static struct thread_stat *open_stat(struct thread_stats *t, struct proc *p, pid_t tid)
{
	struct thread_stat *s;

	if (!t->files && !(t->files = calloc(THREAD_STATS, sizeof(*t->files))))
		return NULL;
	s = &t->files[(unsigned)tid % THREAD_STATS];
	if (s->tid == tid)
		return s;
	forget(s);
	s->fd = proc_file(p, tid, "stat");
	s->tid = s->fd < 0 ? 0 : tid;
	return s->tid ? s : NULL;
}

/* False: the thread with that tid has ended, or there is nothing to read. */
static bool read_cpu(const struct thread_stat *s, int *ret)
{
	char text[TEXT];
	ssize_t n = pread(s->fd, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return false;
	text[n] = '\0';
	return proc_stat_cpu(text, ret) == 0;
}

void thread_stats_learn(struct thread_stats *t, struct proc *p, pid_t tid)
{
	if (deputy())
		open_stat(t, p, tid);
}

int thread_stats_cpu(struct thread_stats *t, struct proc *p, pid_t tid, int *ret)
{
	struct thread_stat *s = deputy() ? open_stat(t, p, tid) : NULL;

	if (!deputy())
		return proc_thread_cpu(p, tid, ret);
	if (s && read_cpu(s, ret))
		return 0;
	if (s)
		forget(s); /* another thread may have the tid now */
	return -ESRCH;
}

void thread_stats_done(struct thread_stats *t)
{
	for (size_t i = 0; t->files && i < THREAD_STATS; i++)
		forget(&t->files[i]);
	free(t->files);
	t->files = NULL;
}
