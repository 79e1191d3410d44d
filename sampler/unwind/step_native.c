#include <string.h>

#include "sampler/unwind/step.h"
#include "sampler/unwind/validate.h"
#include "sampler/unwind/walker.h"
#include "symbolizer/native/dso.h"
#include "symbolizer/native/modules/modmap.h"

static bool is_fp_cleared(const struct walker *w)
{
	uint64_t fp;

	return walker_fp(w, &fp) && fp == 0;
}

/* musl's thread start has no rows; it clears the frame pointer (src/thread/x86_64/clone.s). */
static bool is_musl_base(const struct walker *w, const struct modmap_hit *hit)
{
	const char *name = hit->dso ? dso_name(hit->dso) : "";

	return !w->exact && is_fp_cleared(w) &&
	       (strncmp(name, "ld-musl", 7) == 0 || strncmp(name, "libc.musl", 9) == 0);
}

/* For code without rows: other JITs, assembly. */
int step_frame_pointer(struct walker *w)
{
	uint64_t fp, words[2];

	if (!walker_fp(w, &fp) || fp < walker_sp(w) || !walker_on_stack(w, fp))
		return WALK_NO_CFI;
	if (!mem_read(w->mem, fp, words, sizeof(words)))
		return WALK_BAD_MEMORY;
	if (!is_return(w, words[1]))
		return WALK_NO_CFI;
	walker_goto(w, words[1], fp + 16, words[0]);
	return STEP_MORE;
}

/* The dynamic linker's _start, where a program begins, has no rows in glibc. The kernel clears the frame pointer, and
 * the number of arguments is on top of the stack (AMD64 supplement 3.4.1). */
static bool is_linker_base(const struct walker *w, const struct modmap_hit *hit)
{
	return hit->dso && strncmp(dso_name(hit->dso), "ld-linux", 8) == 0 && is_fp_cleared(w);
}

enum { CLONE_BYTES = 24 };

/* A new thread begins after the system call in clone() or clone3(), where glibc has no rows (clone3.S). The call
 * returns 0 in it, and something else in its parent. The new thread has no caller, and its parent's frame pointer. */
static bool is_thread_start(struct walker *w, const struct modmap_hit *hit)
{
	const char *name = hit->dso ? dso_name(hit->dso) : "";
	unsigned result = w->patterns->result_reg;
	uint8_t before[CLONE_BYTES];

	if (!w->exact || strncmp(name, "libc.so", 7) != 0 || !regs_known(&w->regs, result) || w->regs.r[result] != 0 ||
	    !mem_read(w->mem, walker_pc(w) - CLONE_BYTES, before, sizeof(before)))
		return false;
	return w->patterns->has_syscall(before, sizeof(before));
}

/* A function without rows that was just called, or has no frame: the return address is on top. */
static int step_no_row(struct walker *w, const struct modmap_hit *hit)
{
	int r;

	if (is_musl_base(w, hit))
		return WALK_ROOT;
	r = step_frame_pointer(w);
	if (r != STEP_MORE && w->exact && step_top(w))
		return STEP_MORE;
	return r != STEP_MORE && (is_linker_base(w, hit) || is_thread_start(w, hit)) ? WALK_ROOT : r;
}

static int step_row(struct walker *w, const struct cfi_row *row)
{
	switch (cfi_row_apply(row, w->arch, w->mem, &w->regs)) {
	case CFI_STEP_ROOT: return WALK_ROOT;
	case CFI_STEP_BAD_MEMORY: return WALK_BAD_MEMORY;
	case CFI_STEP_BAD_ROW: return WALK_NO_CFI;
	case CFI_STEP_OK: break;
	}
	w->exact = w->sp_free = row->signal_frame;
	if (walker_pc(w))
		return STEP_MORE;
	/* The first function may be marked only by a return address of zero and the ABI's frame pointer of
	 * zero (AMD64 supplement 3.4.1). A zero alone may come from a wrong stack pointer. */
	return is_fp_cleared(w) ? WALK_ROOT : WALK_BAD_PC;
}

int step_native(struct walker *w)
{
	uint64_t back = w->exact ? 0 : 1; /* a call may be the last instruction of its function */
	struct modmap_hit hit = modmap_find(w->maps, walker_pc(w) - back);
	const struct cfi_row *row;
	bool pushed;

	switch (hit.kind) {
	case MODMAP_DSO:
		pushed = walker_push(w, FRAME_NATIVE, walker_exact_flag(w), hit.dso_id, (int64_t)(hit.vaddr + back));
		break;
	case MODMAP_ANON: pushed = walker_push(w, FRAME_ANON, walker_exact_flag(w), 0, (int64_t)walker_pc(w)); break;
	default: return WALK_BAD_PC;
	}
	if (!pushed)
		return WALK_TOO_DEEP;
	if (hit.dso && dso_cfi_row(hit.dso, hit.vaddr, &row) == 0)
		return step_row(w, row);
	return step_no_row(w, &hit);
}
