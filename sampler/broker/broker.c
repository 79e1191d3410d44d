#include "sampler/broker/broker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sampler/broker/private.h"
#include "symbolizer/base/channel.h"
#include "symbolizer/base/err.h"
#include "symbolizer/target/proc.h"

/* --- asking --- */

static int ask(struct broker *b, const struct broker_request *q)
{
	struct broker_answer a;
	int fd = -1, r = channel_send(b->socket, q, sizeof(*q), -1);

	if (r == 0)
		r = channel_receive(b->socket, &a, sizeof(a), &fd);
	if (r == 0 && a.code == 0)
		return fd < 0 ? -EPROTO : fd;
	if (fd >= 0)
		close(fd);
	return r < 0 ? r : a.code < 0 ? a.code : -EPROTO;
}

int broker_proc(struct broker *b, uint32_t target, enum broker_name name)
{
	return ask(b, &(struct broker_request){.what = BROKER_PROC, .target = target, .name = name});
}

int broker_task(struct broker *b, uint32_t target, pid_t tid, enum broker_name name)
{
	return ask(b, &(struct broker_request){.what = BROKER_TASK, .target = target, .name = name, .tid = tid});
}

int broker_mapped(struct broker *b, uint32_t target, uint64_t start, uint64_t end)
{
	return ask(b, &(struct broker_request){.what = BROKER_MAPPED, .target = target, .start = start, .end = end});
}

int broker_perf_map(struct broker *b, uint32_t target)
{
	return ask(b, &(struct broker_request){.what = BROKER_PERF_MAP, .target = target});
}

int broker_debug_file(struct broker *b, uint32_t target, const uint8_t *build_id, size_t len)
{
	struct broker_request q = {.what = BROKER_DEBUG_FILE, .target = target, .build_id_len = (uint32_t)len};

	if (len > sizeof(q.build_id))
		return -EINVAL;
	memcpy(q.build_id, build_id, len);
	return ask(b, &q);
}

/* --- start and end --- */

struct broker *broker_new(void)
{
	struct broker *b = calloc(1, sizeof(*b));

	if (b)
		b->socket = -1;
	return b;
}

int broker_add_target(struct broker *b, pid_t pid, uint32_t *ret, struct err *err)
{
	struct broker_target *grown, t = {0};
	struct proc_status st;
	int r;

	if (b->n_targets == BROKER_TARGETS_MAX)
		return err_set(err, -E2BIG, "more than %d processes", BROKER_TARGETS_MAX);
	grown = reallocarray(b->targets, b->n_targets + 1, sizeof(*grown));
	if (!grown)
		return err_set(err, -ENOMEM, "out of memory");
	b->targets = grown;
	r = proc_open(pid, &t.proc, err);
	if (r < 0)
		return r;
	r = proc_status(t.proc, &st);
	if (r < 0) {
		proc_close(t.proc);
		return err_set(err, r, "cannot read the status of process %d: %s", (int)pid, strerror(-r));
	}
	t.uid = st.uid;
	t.euid = st.euid;
	*ret = (uint32_t)b->n_targets;
	b->targets[b->n_targets++] = t;
	return 0;
}

static void run_child(void *ctx, int socket)
{
	struct broker *b = ctx;

	if (!b->drop || b->drop(NULL) == 0)
		broker_serve(b, socket);
}

int broker_start(struct broker *b, int (*drop)(struct err *err), struct err *err)
{
	int r;

	b->drop = drop;
	r = channel_start(run_child, b, &b->socket, &b->child);
	return r < 0 ? err_set(err, r, "cannot start the process that keeps the privileges: %s", strerror(-r)) : 0;
}

int broker_socket(const struct broker *b)
{
	return b->socket;
}

void broker_free(struct broker *b)
{
	if (!b)
		return;
	channel_end(b->socket, b->child);
	for (size_t i = 0; i < b->n_targets; i++)
		proc_close(b->targets[i].proc);
	free(b->targets);
	free(b);
}
