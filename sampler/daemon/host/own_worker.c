#include "sampler/daemon/host/own_worker.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "sampler/daemon/host/child.h"

/*
 * ALL_BYTES: twice the limit for all targets that are sampled together (readers.h). This leaves 800 MB of the unit's
 * MemoryMax= for samples and for the keeper. Four targets that each take as much as they can use it up. Less than
 * ROOM_BYTES is of no use.
 */
#define ALL_BYTES (UINT64_C(832) << 20)
#define ONE_BYTES (ALL_BYTES / 4)
#define ROOM_BYTES (UINT64_C(16) << 20)

enum { PAGE = 4096 };

static void *map_shared(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static void unmap(void *p, size_t size)
{
	if (p && size)
		munmap(p, size);
}

struct own_workers *own_workers_new(void)
{
	struct own_workers *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->all = map_shared(sizeof(*w->all));
	w->pages = map_shared((size_t)OWN_WORKERS_MAX * PAGE);
	if (!w->all || !w->pages) {
		own_workers_free(w);
		return NULL;
	}
	budget_pool_init(&w->all->files, ALL_BYTES, OWN_WORKERS_MAX);
	w->all->files.most = ONE_BYTES;
	return w;
}

void own_workers_free(struct own_workers *w)
{
	if (!w)
		return;
	unmap(w->all, sizeof(*w->all));
	unmap(w->pages, (size_t)OWN_WORKERS_MAX * PAGE);
	free(w);
}

bool own_workers_room(const struct own_workers *w)
{
	return atomic_load(&w->all->files.bytes_left) >= ROOM_BYTES;
}

struct watch_how *own_worker_wanted(const struct own_workers *w, size_t slot)
{
	return (struct watch_how *)(void *)(w->pages + slot * PAGE);
}

/* In the worker. */
static void forget_others(struct own_workers *w, size_t slot)
{
	unmap(w->pages, slot * PAGE);
	unmap(w->pages + (slot + 1) * PAGE, (OWN_WORKERS_MAX - slot - 1) * PAGE);
}

static bool own(const void *ctx, int fd)
{
	return fd <= STDERR_FILENO || fd == *(const int *)ctx;
}

pid_t own_worker_fork(struct own_workers *w, size_t slot, struct watch_options o, const char *name)
{
	pid_t parent = getpid(), child;

	*own_worker_wanted(w, slot) = (struct watch_how){0};
	child = fork();
	if (child)
		return child;
	forget_others(w, slot);
	o.wanted = own_worker_wanted(w, slot);
	o.files = &w->all->files;
	o.files_account = &w->all->accounts[slot];
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(WATCH_ENDED);
	child_begin(name, own, &o.feed);
	child_goes_first();
	_exit(watch_run(&o));
}

void own_worker_ended(struct own_workers *w, size_t slot)
{
	budget_pool_settle(&w->all->files, &w->all->accounts[slot]);
}
