#include "sampler/engine/perf_filter.h"

#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "symbolizer/target/proc.h"

/* The inode number of the initial PID namespace, PROC_PID_INIT_INO in linux/proc_ns.h. */
#define INIT_PID_NS_INO 0xEFFFFFFCu

#define INSN(c, d, s, o, i) ((struct bpf_insn){.code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i)})
#define MOV_REG(d, s) INSN(BPF_ALU64 | BPF_MOV | BPF_X, d, s, 0, 0)
#define MOV_IMM(d, i) INSN(BPF_ALU64 | BPF_MOV | BPF_K, d, 0, 0, i)
#define ADD_IMM(d, i) INSN(BPF_ALU64 | BPF_ADD | BPF_K, d, 0, 0, i)
#define SHIFT_RIGHT(d, i) INSN(BPF_ALU64 | BPF_RSH | BPF_K, d, 0, 0, i)
/* A 64-bit immediate takes two slots. */
#define LOAD_U64_LOW(d, v) INSN(BPF_LD | BPF_DW | BPF_IMM, d, 0, 0, (int32_t)(uint32_t)(v))
#define LOAD_U64_HIGH(v) INSN(0, 0, 0, 0, (int32_t)(uint32_t)((uint64_t)(v) >> 32))
#define STORE_U64(d, o, i) INSN(BPF_ST | BPF_DW | BPF_MEM, d, 0, o, i)
#define LOAD_U32(d, s, o) INSN(BPF_LDX | BPF_W | BPF_MEM, d, s, o, 0)
#define CALL(f) INSN(BPF_JMP | BPF_CALL, 0, 0, 0, f)
#define JUMP_NE(d, i, o) INSN(BPF_JMP | BPF_JNE | BPF_K, d, 0, o, i)
#define EXIT() INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

static int load(const struct bpf_insn *insns, unsigned n)
{
	static const char licence[] = "Apache-2.0";
	union bpf_attr a;
	long fd;

	memset(&a, 0, sizeof(a));
	a.prog_type = BPF_PROG_TYPE_PERF_EVENT;
	a.insns = (uint64_t)(uintptr_t)insns;
	a.insn_cnt = n;
	a.license = (uint64_t)(uintptr_t)licence;
	strcpy(a.prog_name, "jsampler_pid");
	fd = syscall(SYS_bpf, BPF_PROG_LOAD, &a, sizeof(a));
	return fd < 0 ? -errno : (int)fd;
}

/* Compares with struct bpf_pidns_info { u32 pid, tgid } written to the stack at r10 - 8. */
static int load_in_ns(uint64_t dev, uint64_t ino, pid_t tgid)
{
	const struct bpf_insn insns[] = {
		STORE_U64(BPF_REG_10, -8, 0),
		LOAD_U64_LOW(BPF_REG_1, dev),
		LOAD_U64_HIGH(dev),
		LOAD_U64_LOW(BPF_REG_2, ino),
		LOAD_U64_HIGH(ino),
		MOV_REG(BPF_REG_3, BPF_REG_10),
		ADD_IMM(BPF_REG_3, -8),
		MOV_IMM(BPF_REG_4, 8),
		CALL(BPF_FUNC_get_ns_current_pid_tgid),
		JUMP_NE(BPF_REG_0, 0, 4),
		LOAD_U32(BPF_REG_1, BPF_REG_10, -4),
		JUMP_NE(BPF_REG_1, tgid, 2),
		MOV_IMM(BPF_REG_0, 1),
		EXIT(),
		MOV_IMM(BPF_REG_0, 0),
		EXIT(),
	};

	return load(insns, sizeof(insns) / sizeof(insns[0]));
}

static int load_in_init_ns(pid_t tgid)
{
	const struct bpf_insn insns[] = {
		CALL(BPF_FUNC_get_current_pid_tgid), /* tgid << 32 | pid */
		SHIFT_RIGHT(BPF_REG_0, 32),
		MOV_REG(BPF_REG_1, BPF_REG_0),
		MOV_IMM(BPF_REG_0, 0),
		JUMP_NE(BPF_REG_1, tgid, 1),
		MOV_IMM(BPF_REG_0, 1),
		EXIT(),
	};

	return load(insns, sizeof(insns) / sizeof(insns[0]));
}

int perf_filter_load(uint64_t dev, uint64_t ino, pid_t tgid)
{
	return dev ? load_in_ns(dev, ino, tgid) : load_in_init_ns(tgid);
}

int perf_filter_open(struct proc *proc)
{
	struct proc_status status;
	struct stat st;
	uint64_t dev;
	int fd, r;

	/* The helper answers for a task's own PID namespace only, so the namespace to name is the
	 * target's (bpf_get_ns_current_pid_tgid in linux/kernel/bpf/helpers.c). */
	if (fstatat(proc_dirfd(proc), "ns/pid", &st, 0) < 0)
		return -errno;
	r = proc_status(proc, &status);
	if (r < 0)
		return r;
	/* The kernel compares with its own dev_t, in which the minor number has 20 bits. */
	dev = (uint64_t)major(st.st_dev) << 20 | minor(st.st_dev);
	fd = perf_filter_load(dev, st.st_ino, status.ns_pid);
	if (fd < 0 && stat("/proc/self/ns/pid", &st) == 0 && st.st_ino == INIT_PID_NS_INO)
		fd = perf_filter_load(0, 0, proc_pid(proc));
	return fd;
}
