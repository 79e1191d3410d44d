#include "sampler/engine/suspend_threads.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbolizer/base/clock.h"
#include "symbolizer/target/proc.h"

enum {
	TEXT = 4096,
	SPARE_FDS = 512, /* for everything else that the program opens */
	LIST_SHARE = 10, /* listing may take a tenth of the time */
};
#define LIST_NS UINT64_C(100000000)

void suspend_threads_init(struct suspend_threads *t, struct proc *proc)
{
	struct rlimit limit = {0};

	*t = (struct suspend_threads){.proc = proc};
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

static void close_account(struct suspend_threads *t, struct suspend_thread *th)
{
	if (th->account_fd < 0)
		return;
	close(th->account_fd);
	th->account_fd = -1;
	t->fds--;
}

void suspend_threads_drop(struct suspend_threads *t, struct suspend_thread *th)
{
	close_account(t, th);
	HASH_DEL(t->by_tid, th);
	t->n--;
	free(th);
}

void suspend_threads_done(struct suspend_threads *t)
{
	struct suspend_thread *th, *next;

	HASH_ITER(hh, t->by_tid, th, next)
		suspend_threads_drop(t, th);
}

static struct suspend_thread *add(struct suspend_threads *t, pid_t tid)
{
	struct suspend_thread *th = calloc(1, sizeof(*th));

	if (!th)
		return NULL;
	th->tid = tid;
	th->account_fd = -1;
	HASH_ADD_INT(t->by_tid, tid, th);
	if (!th->hh.tbl) {
		free(th);
		return NULL;
	}
	if (t->fds < t->max_fds)
		th->account_fd = open_file(t, tid, "schedstat");
	t->fds += th->account_fd >= 0;
	t->n++;
	return th;
}

static bool is_list_due(struct suspend_threads *t, uint64_t now_ns)
{
	struct stat st;

	if (!t->listed_ns)
		return true;
	if (now_ns - t->listed_ns < t->list_cost_ns * LIST_SHARE)
		return false;
	return now_ns - t->listed_ns >= LIST_NS ||
	       (fstatat(proc_dirfd(t->proc), "task", &st, 0) == 0 && st.st_nlink != t->links);
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
	if (fstatat(proc_dirfd(t->proc), "task", &st, 0) == 0)
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
	HASH_ITER(hh, t->by_tid, th, next) {
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

/* Of files of a few hundred bytes, from their beginning. */
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

int suspend_thread_account(struct suspend_threads *t, struct suspend_thread *th,
			   struct has_run_account *ret)
{
	char text[128], *p = text;
	int r = th->account_fd >= 0 ? read_at(th->account_fd, text, sizeof(text))
				    : read_file(t, th->tid, "schedstat", text, sizeof(text));

	*ret = (struct has_run_account){0};
	if (r <= 0)
		return r == -ESRCH ? -ESRCH : 0;
	ret->cpu_ns = strtoull(p, &p, 10);
	ret->wait_ns = strtoull(p, &p, 10);
	ret->slices = strtoull(p, &p, 10);
	return 0;
}

char suspend_thread_state(struct suspend_threads *t, pid_t tid)
{
	char text[TEXT];
	const char *p;

	if (read_file(t, tid, "stat", text, sizeof(text)) <= 0)
		return 0;
	/* Behind the name, which may hold anything. */
	p = strrchr(text, ')');
	return p && p[1] == ' ' ? p[2] : 0;
}

int suspend_thread_position(struct suspend_threads *t, pid_t tid, struct has_run_set *ret)
{
	static const uint8_t args[] = {X86_RDI, X86_RSI, X86_RDX, X86_R10, X86_R8, X86_R9};
	char text[512];
	uint64_t a[6] = {0}, sp, pc;
	int64_t nr;
	int r = read_file(t, tid, "syscall", text, sizeof(text));

	if (r < 0)
		return r;
	/* "nr arg1 ... arg6 sp pc"; "-1 sp pc" in a page fault and the like; "running". */
	*ret = (struct has_run_set){.call = -1};
	r = sscanf(text, "%" SCNd64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64
		   " %" SCNx64 " %" SCNx64, &nr, &a[0], &a[1], &a[2], &a[3], &a[4], &a[5], &sp, &pc);
	if (r == 9) {
		ret->call = nr;
		for (unsigned i = 0; i < 6; i++)
			regs_set(&ret->regs, args[i], a[i]);
	} else if (sscanf(text, "-1 %" SCNx64 " %" SCNx64, &sp, &pc) != 2) {
		return -EAGAIN;
	}
	regs_set(&ret->regs, X86_RSP, sp);
	regs_set(&ret->regs, X86_RIP, pc);
	return 0;
}

static uint64_t status_field(const char *text, const char *name, int base)
{
	const char *p = strstr(text, name);

	return p ? strtoull(p + strlen(name), NULL, base) : 0;
}

bool suspend_thread_signalled(struct suspend_threads *t, pid_t tid)
{
	char text[TEXT];
	uint64_t pending;

	if (read_file(t, tid, "status", text, sizeof(text)) <= 0 || !strstr(text, "\nSigBlk:"))
		return true; /* not known: as if */
	pending = status_field(text, "\nSigPnd:", 16) | status_field(text, "\nShdPnd:", 16);
	return pending & ~status_field(text, "\nSigBlk:", 16);
}

pid_t suspend_thread_tracer(struct proc *p, pid_t tid)
{
	char path[64], *text;
	size_t len;
	pid_t tracer;

	snprintf(path, sizeof(path), "task/%d/status", (int)tid);
	if (proc_read(p, path, 64 << 10, &text, &len) < 0)
		return 0;
	tracer = (pid_t)status_field(text, "\nTracerPid:", 10);
	free(text);
	return tracer;
}
