#include "sampler/engine/suspend/suspend_threads.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sampler/engine/suspend/suspend_text.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/vec.h"
#include "symbolizer/target/proc.h"

enum {
	TEXT = 4096,
	SPARE_FDS = 512, /* for everything else that the program opens */
	LIST_SHARE = 10, /* listing takes at most a tenth of the time, */
	LIST_IDLY = 400, /* and a 400th while there is no sign of a new thread */
};
#define LIST_NS UINT64_C(100000000)

void suspend_threads_init(struct suspend_threads *t, struct proc *proc)
{
	struct rlimit limit = {0};

	*t = (struct suspend_threads){.proc = proc};
	t->task_fd = openat(proc_dirfd(proc), "task", O_PATH | O_DIRECTORY | O_CLOEXEC);
	getrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur > 2 * SPARE_FDS)
		t->max_fds = limit.rlim_cur - SPARE_FDS;
}

struct suspend_thread *suspend_threads_find(struct suspend_threads *t, pid_t tid)
{
	struct suspend_thread *th;

	HASH_FIND_INT(t->by_tid, &tid, th);
	return th;
}

static int open_file(struct suspend_threads *t, pid_t tid, const char *name)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "task/%d/%s", (int)tid, name);
	fd = openat(proc_dirfd(t->proc), path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* -1: no descriptor to spare. */
static int keep_file(struct suspend_threads *t, pid_t tid, const char *name)
{
	int fd = t->fds < t->max_fds ? open_file(t, tid, name) : -1;

	t->fds += fd >= 0;
	return fd < 0 ? -1 : fd;
}

static void close_file(struct suspend_threads *t, int *fd)
{
	if (*fd < 0)
		return;
	close(*fd);
	*fd = -1;
	t->fds--;
}

static void put(struct suspend_threads *t, size_t at, struct suspend_thread *th)
{
	t->all[at] = th;
	th->at = at;
}

static void swap(struct suspend_threads *t, size_t a, size_t b)
{
	struct suspend_thread *th = t->all[a];

	put(t, a, t->all[b]);
	put(t, b, th);
}

void suspend_threads_sleep(struct suspend_threads *t, struct suspend_thread *th)
{
	close_file(t, &th->position_fd);
	swap(t, th->at, --t->n_awake);
}

void suspend_threads_wake(struct suspend_threads *t, struct suspend_thread *th)
{
	swap(t, th->at, t->n_awake++);
}

void suspend_threads_drop(struct suspend_threads *t, struct suspend_thread *th)
{
	close_file(t, &th->account_fd);
	t->n_left -= th->left;
	if (th->at < t->n_awake)
		suspend_threads_sleep(t, th);
	put(t, th->at, t->all[--t->n]);
	HASH_DEL(t->by_tid, th);
	free(th);
}

void suspend_threads_relist(struct suspend_threads *t)
{
	t->links = 0;
}

void suspend_threads_done(struct suspend_threads *t)
{
	struct suspend_thread *th, *next;

	HASH_ITER(hh, t->by_tid, th, next)
	suspend_threads_drop(t, th);
	free(t->all);
	t->all = NULL;
	if (t->task_fd >= 0)
		close(t->task_fd);
	t->task_fd = -1;
}

static struct suspend_thread *add(struct suspend_threads *t, pid_t tid)
{
	struct suspend_thread *th = calloc(1, sizeof(*th));

	if (!th || !vec_grow_((void **)&t->all, &t->cap, t->n, sizeof(*t->all))) {
		free(th);
		return NULL;
	}
	th->tid = tid;
	th->account_fd = th->position_fd = -1;
	HASH_ADD_INT(t->by_tid, tid, th);
	if (!th->hh.tbl) {
		free(th);
		return NULL;
	}
	th->account_fd = keep_file(t, tid, "schedstat");
	put(t, t->n++, th);
	suspend_threads_wake(t, th);
	return th;
}

static bool is_list_due(struct suspend_threads *t, uint64_t now_ns)
{
	struct stat st;

	if (!t->listed_ns)
		return true;
	if (now_ns - t->listed_ns < t->list_cost_ns * LIST_SHARE)
		return false;
	return now_ns - t->listed_ns >= LIST_NS + t->list_cost_ns * LIST_IDLY ||
	       (fstat(t->task_fd, &st) == 0 && st.st_nlink != t->links);
}

void suspend_threads_refresh(struct suspend_threads *t, uint64_t now_ns, suspend_thread_fn *added,
			     suspend_thread_fn *gone, void *ctx)
{
	struct suspend_thread *th, *next;
	struct stat st;
	pid_t *tids;
	size_t n;

	if (!is_list_due(t, now_ns) || proc_tasks(t->proc, &tids, &n) < 0)
		return;
	if (fstat(t->task_fd, &st) == 0)
		t->links = st.st_nlink;
	for (size_t i = 0; i < n; i++) {
		th = suspend_threads_find(t, tids[i]);
		if (!th) {
			th = add(t, tids[i]);
			if (th)
				added(ctx, th);
		}
		if (th)
			th->listed = true;
	}
	free(tids);
	HASH_ITER(hh, t->by_tid, th, next)
	{
		if (!th->listed && !th->tracing) {
			gone(ctx, th);
			suspend_threads_drop(t, th);
		} else {
			th->listed = false;
		}
	}
	t->listed_ns = now_ns;
	t->list_cost_ns = clock_monotonic_ns() - now_ns;
}

/* From the beginning of a file of a few hundred bytes. */
static int read_at(int fd, char *text, size_t size)
{
	ssize_t n = pread(fd, text, size - 1, 0);

	if (n < 0)
		return -errno;
	text[n] = '\0';
	return (int)n;
}

static int read_file(struct suspend_threads *t, pid_t tid, const char *name, char *text, size_t size)
{
	int fd = open_file(t, tid, name), r;

	if (fd < 0)
		return fd == -ENOENT ? -ESRCH : fd;
	r = read_at(fd, text, size);
	close(fd);
	return r;
}

int suspend_thread_account(struct suspend_threads *t, struct suspend_thread *th, struct has_run_account *ret)
{
	char text[128];
	int r = th->account_fd >= 0 ? read_at(th->account_fd, text, sizeof(text)) :
				      read_file(t, th->tid, "schedstat", text, sizeof(text));

	*ret = (struct has_run_account){0};
	if (r <= 0)
		return r == -ESRCH ? -ESRCH : 0;
	*ret = suspend_text_account(text);
	return 0;
}

char suspend_thread_state(struct suspend_threads *t, pid_t tid)
{
	char text[TEXT];

	return read_file(t, tid, "stat", text, sizeof(text)) > 0 ? suspend_text_state(text) : 0;
}

bool suspend_threads_is_socket(struct suspend_threads *t, int fd)
{
	static const char socket[] = "socket:";
	char path[32], to[sizeof(socket)] = "";
	ssize_t n;

	snprintf(path, sizeof(path), "fd/%d", fd);
	n = readlinkat(proc_dirfd(t->proc), path, to, sizeof(to) - 1);
	return n <= 0 || strcmp(to, socket) == 0;
}

int suspend_thread_position(struct suspend_threads *t, struct suspend_thread *th, struct has_run_set *ret)
{
	static const char name[] = "syscall";
	char text[512];
	int r;

	if (th->position_fd < 0 && th->at < t->n_awake)
		th->position_fd = keep_file(t, th->tid, name);
	r = th->position_fd >= 0 ? read_at(th->position_fd, text, sizeof(text)) :
				   read_file(t, th->tid, name, text, sizeof(text));
	return r < 0 ? r : suspend_text_position(text, ret);
}

bool suspend_thread_signalled(struct suspend_threads *t, pid_t tid)
{
	char text[TEXT];

	return read_file(t, tid, "status", text, sizeof(text)) <= 0 || suspend_text_signalled(text);
}

pid_t suspend_thread_tracer(struct proc *p, pid_t tid)
{
	char *text;
	size_t len;
	pid_t tracer;

	if (proc_read_task(p, tid, "status", 64 << 10, &text, &len) < 0)
		return 0;
	tracer = suspend_text_tracer(text);
	free(text);
	return tracer;
}
