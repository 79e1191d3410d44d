#ifndef JS_ENGINE_BPF_CODE_H
#define JS_ENGINE_BPF_CODE_H

#include <errno.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Small eBPF programs for perf events, instruction by instruction, and their maps: bpf(2) without a library. */

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
#define SHIFT_RIGHT_REG(d, s) INSN(BPF_ALU64 | BPF_RSH | BPF_X, d, s, 0, 0)
#define SHIFT_LEFT(d, i) INSN(BPF_ALU64 | BPF_LSH | BPF_K, d, 0, 0, i)
#define AND_IMM(d, i) INSN(BPF_ALU64 | BPF_AND | BPF_K, d, 0, 0, i)
#define XOR_IMM(d, i) INSN(BPF_ALU64 | BPF_XOR | BPF_K, d, 0, 0, i)
#define LOAD_U64(d, s, o) INSN(BPF_LDX | BPF_DW | BPF_MEM, d, s, o, 0)
#define STORE_U32_REG(d, s, o) INSN(BPF_STX | BPF_W | BPF_MEM, d, s, o, 0)
#define STORE_U64_REG(d, s, o) INSN(BPF_STX | BPF_DW | BPF_MEM, d, s, o, 0)
#define LOAD_MAP(d, fd) INSN(BPF_LD | BPF_DW | BPF_IMM, d, BPF_PSEUDO_MAP_FD, 0, fd)
#define JUMP_EQ(d, i, o) INSN(BPF_JMP | BPF_JEQ | BPF_K, d, 0, o, i)
#define JUMP_NE(d, i, o) INSN(BPF_JMP | BPF_JNE | BPF_K, d, 0, o, i)
#define JUMP_NE_REG(d, s, o) INSN(BPF_JMP | BPF_JNE | BPF_X, d, s, o, 0)
#define JUMP_GE_REG(d, s, o) INSN(BPF_JMP | BPF_JGE | BPF_X, d, s, o, 0)
#define EXIT() INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

/* From linux/bpf.h of Linux 5.5. */
#define BPF_MAP_MMAPABLE (1u << 10)

enum { BPF_CODE_MAX = 64 };

struct bpf_code {
	struct bpf_insn insns[BPF_CODE_MAX];
	unsigned n;
};

static inline void emit(struct bpf_code *p, struct bpf_insn insn)
{
	if (p->n < BPF_CODE_MAX)
		p->insns[p->n++] = insn;
}

/* type: BPF_PROG_TYPE_*; `name`: at most 15 bytes. A descriptor or -errno. */
static inline int bpf_code_load_as(const struct bpf_code *p, uint32_t type, const char *name)
{
	static const char licence[] = "Apache-2.0";
	union bpf_attr a;
	long fd;

	memset(&a, 0, sizeof(a));
	a.prog_type = type;
	a.insns = (uint64_t)(uintptr_t)p->insns;
	a.insn_cnt = p->n;
	a.license = (uint64_t)(uintptr_t)licence;
	strncpy(a.prog_name, name, sizeof(a.prog_name) - 1);
	fd = syscall(SYS_bpf, BPF_PROG_LOAD, &a, sizeof(a));
	return fd < 0 ? -errno : (int)fd;
}

/* A program for perf events. */
static inline int bpf_code_load(const struct bpf_code *p, const char *name)
{
	return bpf_code_load_as(p, BPF_PROG_TYPE_PERF_EVENT, name);
}

/* Runs the program at each of these events while the returned descriptor is open. A descriptor or -errno. */
static inline int bpf_code_attach_tracepoint(int program, const char *tracepoint)
{
	union bpf_attr a;
	long fd;

	memset(&a, 0, sizeof(a));
	a.raw_tracepoint.name = (uint64_t)(uintptr_t)tracepoint;
	a.raw_tracepoint.prog_fd = (uint32_t)program;
	fd = syscall(SYS_bpf, BPF_RAW_TRACEPOINT_OPEN, &a, sizeof(a));
	return fd < 0 ? -errno : (int)fd;
}

/* An array of `n` values of 8 bytes. `shared`: it can be mapped; otherwise each CPU has its own. A descriptor or -errno. */
static inline int bpf_code_array(uint32_t n, bool shared, const char *name)
{
	union bpf_attr a;
	long fd;

	memset(&a, 0, sizeof(a));
	a.map_type = shared ? BPF_MAP_TYPE_ARRAY : BPF_MAP_TYPE_PERCPU_ARRAY;
	a.key_size = sizeof(uint32_t);
	a.value_size = sizeof(uint64_t);
	a.max_entries = n;
	a.map_flags = shared ? BPF_MAP_MMAPABLE : 0;
	strncpy(a.map_name, name, sizeof(a.map_name) - 1);
	fd = syscall(SYS_bpf, BPF_MAP_CREATE, &a, sizeof(a));
	return fd < 0 ? -errno : (int)fd;
}

/* Puts the tid into r6 and the PID into r7, of the initial PID namespace. */
static inline void emit_ids_in_init_ns(struct bpf_code *p)
{
	emit(p, CALL(BPF_FUNC_get_current_pid_tgid)); /* tgid << 32 | pid */
	emit(p, MOV_REG(BPF_REG_6, BPF_REG_0));
	emit(p, MOV_REG(BPF_REG_7, BPF_REG_0));
	emit(p, SHIFT_RIGHT(BPF_REG_7, 32));
	emit(p, SHIFT_LEFT(BPF_REG_6, 32));
	emit(p, SHIFT_RIGHT(BPF_REG_6, 32));
}

/* Leaves the address of the map's value with the index in `index`, or NULL, in r0; uses r1 to r5 and the stack at r10 - 12. */
static inline void emit_lookup(struct bpf_code *p, int map_fd, unsigned index)
{
	emit(p, STORE_U32_REG(BPF_REG_10, index, -12));
	emit(p, MOV_REG(BPF_REG_2, BPF_REG_10));
	emit(p, ADD_IMM(BPF_REG_2, -12));
	emit(p, LOAD_MAP(BPF_REG_1, map_fd));
	emit(p, LOAD_U64_HIGH(0));
	emit(p, CALL(BPF_FUNC_map_lookup_elem));
}

#endif
