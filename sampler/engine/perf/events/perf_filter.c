#include "sampler/engine/perf/events/perf_filter.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "sampler/engine/perf/events/bpf_code.h"
#include "symbolizer/target/proc.h"

/* PID_MAX_LIMIT in linux/threads.h. */
enum { TIDS = 1 << 22, WORDS = TIDS / 64, WORD_BYTES = 8, BITMAP_BYTES = WORDS * WORD_BYTES };

/* Puts the tid into r6 and the PID into r7, from struct bpf_pidns_info { u32 pid, tgid } on the stack at r10 - 8; the
 * program returns 0 if the thread is in another namespace. */
static void emit_ids_in_ns(struct bpf_code *p, uint64_t dev, uint64_t ino)
{
	emit(p, STORE_U64(BPF_REG_10, -8, 0));
	emit(p, LOAD_U64_LOW(BPF_REG_1, dev));
	emit(p, LOAD_U64_HIGH(dev));
	emit(p, LOAD_U64_LOW(BPF_REG_2, ino));
	emit(p, LOAD_U64_HIGH(ino));
	emit(p, MOV_REG(BPF_REG_3, BPF_REG_10));
	emit(p, ADD_IMM(BPF_REG_3, -8));
	emit(p, MOV_IMM(BPF_REG_4, 8));
	emit(p, CALL(BPF_FUNC_get_ns_current_pid_tgid));
	emit(p, JUMP_EQ(BPF_REG_0, 0, 2));
	emit(p, MOV_IMM(BPF_REG_0, 0));
	emit(p, EXIT());
	emit(p, LOAD_U32(BPF_REG_6, BPF_REG_10, -8));
	emit(p, LOAD_U32(BPF_REG_7, BPF_REG_10, -4));
}

/* Leaves bit `id` of the map in r0. */
static void emit_bit(struct bpf_code *p, int map_fd, unsigned id)
{
	emit(p, MOV_REG(BPF_REG_1, id));
	emit(p, SHIFT_RIGHT(BPF_REG_1, 6));
	emit_lookup(p, map_fd, BPF_REG_1);
	emit(p, JUMP_EQ(BPF_REG_0, 0, 4)); /* beyond the map: 0 */
	emit(p, LOAD_U64(BPF_REG_0, BPF_REG_0, 0));
	emit(p, AND_IMM(id, 63));
	emit(p, SHIFT_RIGHT_REG(BPF_REG_0, id));
	emit(p, AND_IMM(BPF_REG_0, 1));
}

/* The program goes on only for threads of the wanted processes. */
static void emit_group(struct bpf_code *p, pid_t tgid, int members_fd)
{
	if (members_fd < 0) {
		emit(p, JUMP_EQ(BPF_REG_7, tgid, 2));
	} else {
		emit_bit(p, members_fd, BPF_REG_7);
		emit(p, JUMP_NE(BPF_REG_0, 0, 2));
	}
	emit(p, MOV_IMM(BPF_REG_0, 0));
	emit(p, EXIT());
}

static void emit_answer(struct bpf_code *p, int skip_fd)
{
	if (skip_fd >= 0) {
		emit_bit(p, skip_fd, BPF_REG_6);
		emit(p, XOR_IMM(BPF_REG_0, 1));
	} else {
		emit(p, MOV_IMM(BPF_REG_0, 1));
	}
	emit(p, EXIT());
}

/* Descriptors of the bitmaps; -1: none. */
struct bitmaps {
	int skip, members;
};

/* tgid is in the PID namespace that dev and ino (of its nsfs file) name; dev 0: in the initial namespace. */
static int load_for(uint64_t dev, uint64_t ino, pid_t tgid, const struct bitmaps *maps)
{
	struct bpf_code p = {.n = 0};

	if (dev)
		emit_ids_in_ns(&p, dev, ino);
	else
		emit_ids_in_init_ns(&p);
	emit_group(&p, tgid, maps->members);
	emit_answer(&p, maps->skip);
	return bpf_code_load(&p, "jsampler_pid");
}

/*
 * The helper answers only for a task's own PID namespace, so the target's is the one to name
 * (bpf_get_ns_current_pid_tgid() in linux/kernel/bpf/helpers.c, since 5.7). Processes that the target starts may be
 * in others: if this program is in the initial namespace, it uses the IDs of that one instead.
 */
static int open_program(struct proc *proc, const struct bitmaps *maps, bool *ret_global)
{
	struct proc_status status;
	struct stat st;
	uint64_t dev;
	int fd, r;

	*ret_global = maps->members >= 0 && proc_initial_pids();
	if (*ret_global)
		return load_for(0, 0, 0, maps);
	if (!proc)
		return -EOPNOTSUPP;
	r = proc_ns(proc, "pid", &st);
	if (r == 0)
		r = proc_status(proc, &status);
	if (r < 0)
		return r;
	/* The kernel compares with its own dev_t, in which the minor number has 20 bits. */
	dev = (uint64_t)major(st.st_dev) << 20 | minor(st.st_dev);
	fd = load_for(dev, st.st_ino, status.ns_pid, maps);
	if (fd < 0 && proc_initial_pids()) {
		*ret_global = true;
		fd = load_for(0, 0, proc_pid(proc), maps);
	}
	return fd;
}

/* -1: not possible here. */
static int open_bitmap(uint64_t **ret)
{
	int fd = bpf_code_array(WORDS, true, "jsampler_bits");
	void *p = fd < 0 ? MAP_FAILED : mmap(NULL, BITMAP_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	*ret = p == MAP_FAILED ? NULL : p;
	if (!*ret && fd >= 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static void close_bitmap(uint64_t **bits)
{
	if (*bits)
		munmap(*bits, BITMAP_BYTES);
	*bits = NULL;
}

static int open_with_bitmaps(struct proc *proc, bool members, struct perf_filter *f)
{
	struct bitmaps maps = {.skip = open_bitmap(&f->skip), .members = members ? open_bitmap(&f->members) : -1};

	if (f->skip && (f->members || !members))
		f->fd = open_program(proc, &maps, &f->global);
	if (maps.skip >= 0)
		close(maps.skip);
	if (maps.members >= 0)
		close(maps.members);
	return f->fd;
}

int perf_filter_open(struct proc *proc, bool members, struct perf_filter *ret)
{
	const struct bitmaps none = {-1, -1};

	*ret = (struct perf_filter){.fd = -1};
	if (open_with_bitmaps(proc, members, ret) >= 0)
		return 0;
	perf_filter_close(ret);
	if (members)
		return -EOPNOTSUPP;
	ret->fd = open_program(proc, &none, &ret->global);
	return ret->fd < 0 ? ret->fd : 0;
}

int perf_filter_open_many(struct perf_filter *ret)
{
	*ret = (struct perf_filter){.fd = -1};
	if (open_with_bitmaps(NULL, true, ret) >= 0)
		return 0;
	perf_filter_close(ret);
	return -EOPNOTSUPP;
}

void perf_filter_close(struct perf_filter *f)
{
	close_bitmap(&f->skip);
	close_bitmap(&f->members);
	if (f->fd >= 0)
		close(f->fd);
	*f = (struct perf_filter){.fd = -1};
}

/* Several threads may set bits of one word (shared_events.h). */
static void set_bit(uint64_t *bits, pid_t id, bool on)
{
	if (!bits || id < 0 || id >= TIDS)
		return;
	if (on)
		__atomic_fetch_or(&bits[id / 64], UINT64_C(1) << id % 64, __ATOMIC_SEQ_CST);
	else
		__atomic_fetch_and(&bits[id / 64], ~(UINT64_C(1) << id % 64), __ATOMIC_SEQ_CST);
}

void perf_filter_skip(const struct perf_filter *f, pid_t tid)
{
	set_bit(f->skip, tid, true);
}

void perf_filter_unskip(const struct perf_filter *f, pid_t tid)
{
	set_bit(f->skip, tid, false);
}

void perf_filter_skip_none(const struct perf_filter *f)
{
	/* Only pages that were written to are present, so the other words are not touched. */
	for (size_t i = 0; f->skip && i < WORDS; i++)
		if (f->skip[i])
			f->skip[i] = 0;
}

void perf_filter_member(const struct perf_filter *f, pid_t pid, bool is_one)
{
	set_bit(f->members, pid, is_one);
}
