#include "sampler/engine/perf/events/perf_members.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sampler/engine/perf/events/bpf_code.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/target/proc.h"

/*
 * A word for each PID with the same low bits: PID, slot and divisor, so that it changes as a whole. PIDs with the same low bits are far
 * apart: kernel.pid_max is 4,194,304 on most hosts, and 32,768 on small ones.
 */
enum { TABLE = 1 << 16, TABLE_BYTES = TABLE * 8, SLOT_SHIFT = 32, DIVISOR_SHIFT = 48 };

static uint64_t word_of(pid_t pid, uint32_t slot, uint32_t divisor)
{
	return (uint32_t)pid | (uint64_t)slot << SLOT_SHIFT | (uint64_t)divisor << DIVISOR_SHIFT;
}

static void emit_refusal(struct bpf_code *p)
{
	emit(p, MOV_IMM(BPF_REG_0, 0));
	emit(p, EXIT());
}

static void emit_acceptance(struct bpf_code *p)
{
	emit(p, MOV_IMM(BPF_REG_0, 1));
	emit(p, EXIT());
}

/* r7: the PID. Goes on only for a member, with its slot in r8 and its divisor in r9. */
static void emit_member(struct bpf_code *p, int table)
{
	emit(p, MOV_REG(BPF_REG_1, BPF_REG_7));
	emit(p, AND_IMM(BPF_REG_1, TABLE - 1));
	emit_lookup(p, table, BPF_REG_1);
	emit(p, JUMP_NE(BPF_REG_0, 0, 2));
	emit_refusal(p);
	emit(p, LOAD_U64(BPF_REG_8, BPF_REG_0, 0));
	emit(p, MOV_REG(BPF_REG_9, BPF_REG_8));
	emit(p, SHIFT_RIGHT(BPF_REG_9, DIVISOR_SHIFT));
	emit(p, MOV_REG(BPF_REG_1, BPF_REG_8));
	emit(p, SHIFT_LEFT(BPF_REG_1, 32));
	emit(p, SHIFT_RIGHT(BPF_REG_1, 32));
	emit(p, SHIFT_LEFT(BPF_REG_8, 64 - DIVISOR_SHIFT));
	emit(p, SHIFT_RIGHT(BPF_REG_8, 64 - DIVISOR_SHIFT + SLOT_SHIFT));
	emit(p, JUMP_NE_REG(BPF_REG_1, BPF_REG_7, 1));
	emit(p, JUMP_NE(BPF_REG_9, 0, 2));
	emit_refusal(p);
}

/* One in r9 passes, counted by CPU and slot. */
static void emit_divide(struct bpf_code *p, int counts)
{
	emit_lookup(p, counts, BPF_REG_8);
	emit(p, JUMP_NE(BPF_REG_0, 0, 2));
	emit_refusal(p);
	emit(p, LOAD_U64(BPF_REG_1, BPF_REG_0, 0));
	emit(p, ADD_IMM(BPF_REG_1, 1));
	emit(p, JUMP_GE_REG(BPF_REG_1, BPF_REG_9, 3));
	emit(p, STORE_U64_REG(BPF_REG_0, BPF_REG_1, 0));
	emit_refusal(p);
	emit(p, STORE_U64(BPF_REG_0, 0, 0));
	emit_acceptance(p);
}

static int load(int table, int counts)
{
	struct bpf_code p = {.n = 0};

	emit_ids_in_init_ns(&p);
	emit_member(&p, table);
	emit_divide(&p, counts);
	return bpf_code_load(&p, "jsampler_host");
}

/* sched_process_exec: the ids and the memory of the process are those of the new program, which has not run yet. */
static int load_at_exec(int table)
{
	struct bpf_code p = {.n = 0};

	emit_ids_in_init_ns(&p);
	emit(&p, MOV_REG(BPF_REG_1, BPF_REG_7));
	emit(&p, AND_IMM(BPF_REG_1, TABLE - 1));
	emit_lookup(&p, table, BPF_REG_1);
	emit(&p, JUMP_EQ(BPF_REG_0, 0, 5));
	emit(&p, LOAD_U64(BPF_REG_1, BPF_REG_0, 0));
	emit(&p, SHIFT_LEFT(BPF_REG_1, 32));
	emit(&p, SHIFT_RIGHT(BPF_REG_1, 32));
	emit(&p, JUMP_NE_REG(BPF_REG_1, BPF_REG_7, 1));
	emit(&p, STORE_U64(BPF_REG_0, 0, 0));
	emit(&p, MOV_IMM(BPF_REG_0, 0));
	emit(&p, EXIT());
	return bpf_code_load_as(&p, BPF_PROG_TYPE_RAW_TRACEPOINT, "jsampler_exec");
}

static int watch_exec(int table)
{
	CLEANUP(close_at_exit) int program = load_at_exec(table);

	return program < 0 ? program : bpf_code_attach_tracepoint(program, "sched_process_exec");
}

int perf_members_open(struct perf_members *ret)
{
	CLEANUP(close_at_exit) int table = bpf_code_array(TABLE, true, "jsampler_pids");
	CLEANUP(close_at_exit) int counts = bpf_code_array(PERF_MEMBERS_MAX, false, "jsampler_count");
	void *p;

	*ret = (struct perf_members){.fd = -1, .exec_fd = -EBADF};
	if (table < 0 || counts < 0)
		return table < 0 ? table : counts;
	if (!proc_initial_pids())
		return -EOPNOTSUPP;
	p = mmap(NULL, TABLE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, table, 0);
	if (p == MAP_FAILED)
		return -errno;
	ret->table = p;
	ret->fd = load(table, counts);
	if (ret->fd >= 0) {
		ret->exec_fd = watch_exec(table);
		return 0;
	}
	perf_members_unmap(ret);
	return ret->fd;
}

void perf_members_unmap(struct perf_members *m)
{
	if (m->table)
		munmap(m->table, TABLE_BYTES);
	m->table = NULL;
}

void perf_members_close(struct perf_members *m)
{
	perf_members_unmap(m);
	close_at_exit(&m->fd);
	close_at_exit(&m->exec_fd);
	m->fd = -1;
	m->exec_fd = -EBADF;
}

static _Atomic uint64_t *place(const struct perf_members *m, pid_t pid)
{
	return (_Atomic uint64_t *)&m->table[(uint32_t)pid % TABLE];
}

static bool is_valid(pid_t pid, uint32_t slot, uint32_t divisor)
{
	return pid > 0 && slot < PERF_MEMBERS_MAX && divisor && divisor <= PERF_DIVISOR_MAX;
}

int perf_members_set(const struct perf_members *m, pid_t pid, uint32_t slot, uint32_t divisor)
{
	_Atomic uint64_t *word = place(m, pid);
	uint64_t now = atomic_load(word);

	if (!is_valid(pid, slot, divisor))
		return -EINVAL;
	if (now && (uint32_t)now != (uint32_t)pid)
		return -EEXIST;
	atomic_store(word, word_of(pid, slot, divisor));
	return 0;
}

/* Only if it was not removed meanwhile, by perf_members_remove() or because it executed a program. */
int perf_members_change(const struct perf_members *m, pid_t pid, uint32_t slot, uint32_t divisor)
{
	_Atomic uint64_t *word = place(m, pid);
	uint64_t now = atomic_load(word);

	if (!is_valid(pid, slot, divisor))
		return -EINVAL;
	while ((uint32_t)now == (uint32_t)pid)
		if (atomic_compare_exchange_weak(word, &now, word_of(pid, slot, divisor)))
			return 0;
	return -ESRCH;
}

void perf_members_remove(const struct perf_members *m, pid_t pid)
{
	_Atomic uint64_t *word = place(m, pid);

	if ((uint32_t)atomic_load(word) == (uint32_t)pid)
		atomic_store(word, 0);
}
