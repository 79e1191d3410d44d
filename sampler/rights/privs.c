#include "sampler/rights/privs.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "symbolizer/base/caps.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"
#include "symbolizer/target/own_rights.h"

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40
#endif

static uint64_t caps_wanted(uint64_t permitted, const struct privs_needs *needs)
{
	uint64_t keep = cap_bit(CAP_SYS_PTRACE) | cap_bit(CAP_PERFMON) | cap_bit(CAP_CHECKPOINT_RESTORE) |
			cap_bit(CAP_DAC_READ_SEARCH);

	if (needs->reading && !(permitted & cap_bit(CAP_SYS_PTRACE)))
		return permitted;
	if (!(permitted & cap_bit(CAP_PERFMON)))
		keep |= cap_bit(CAP_SYS_ADMIN);
	if (needs->priority)
		keep |= cap_bit(CAP_SYS_NICE);
	if (needs->identity)
		keep |= cap_bit(CAP_SETUID) | cap_bit(CAP_SETGID);
	return keep & permitted;
}

/* System calls that sampling and writing do not need, but a parser that was taken over would use. */
/* clang-format off */
static const uint32_t denied[] = {
	SYS_execve,	   SYS_execveat,    SYS_ptrace,	     SYS_process_vm_writev,
	SYS_mount,	   SYS_umount2,	    SYS_pivot_root,  SYS_chroot,
	SYS_setns,	   SYS_unshare,	    SYS_init_module, SYS_finit_module,
	SYS_delete_module, SYS_kexec_load,  SYS_reboot,	     SYS_swapon,
	SYS_add_key,	   SYS_request_key, SYS_keyctl,	     SYS_setuid,
	SYS_setgid,	   SYS_setresuid,   SYS_setresgid,   SYS_socket,
	SYS_userfaultfd,   SYS_bpf,	    SYS_open_by_handle_at,
	/* Requests through these are not filtered. */
	SYS_io_uring_setup, SYS_io_uring_enter,
};
/* clang-format on */

/* asm/unistd.h: the x32 ABI has the same AUDIT_ARCH, and this bit in every number. */
#define X32_BIT 0x40000000u

enum {
	N_DENIED = sizeof(denied) / sizeof(denied[0]),
	PROLOGUE = 5,
	ANSWERS = PROLOGUE + N_DENIED, /* allowed, refused */
	LENGTH = ANSWERS + 2,
};

/* seccomp(2): architecture check, then one comparison for each denied call. */
static int filter_system_calls(void)
{
	struct sock_filter code[LENGTH] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_BIT, N_DENIED + 1, 0),
	};
	struct sock_fprog prog = {.len = LENGTH, .filter = code};

	for (unsigned i = 0; i < N_DENIED; i++)
		code[PROLOGUE + i] =
			(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, denied[i], (uint8_t)(N_DENIED - i), 0);
	code[ANSWERS] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	code[ANSWERS + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) < 0 ? -errno : 0;
}

static int drop_to(uint64_t permitted, uint64_t keep, struct err *err)
{
	int r = 0;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_set(err, -errno, "cannot set no_new_privs: %m");
	if (permitted & cap_bit(CAP_SETPCAP))
		r = caps_drop_bounding();
	if (r == 0)
		r = caps_set(keep & permitted);
	if (r < 0)
		return err_set(err, r, "cannot give up capabilities");
	r = filter_system_calls();
	if (r == -EINVAL || r == -ENOSYS || r == -EPERM) {
		log_warn("the kernel, or a container, refuses a filter of system calls (%s): only capabilities are "
			 "given up",
			 strerror(-r));
		return 0;
	}
	return r < 0 ? err_set(err, r, "cannot filter system calls") : 0;
}

void privs_guard_memory(void)
{
	struct own_rights me = own_rights();

	if (own_cap(&me, CAP_SYS_PTRACE))
		prctl(PR_SET_DUMPABLE, 0);
}

int privs_drop(const struct privs_needs *needs, struct err *err)
{
	uint64_t permitted = caps_permitted();

	return drop_to(permitted, caps_wanted(permitted, needs), err);
}

int privs_drop_all(struct err *err)
{
	uint64_t permitted = caps_permitted();

	return drop_to(permitted, 0, err);
}

int privs_drop_for_files(struct err *err)
{
	uint64_t permitted = caps_permitted();

	return drop_to(permitted, cap_bit(CAP_DAC_OVERRIDE), err);
}

bool privs_allow_priority(int nice)
{
	struct rlimit r = {.rlim_cur = (rlim_t)(20 - nice), .rlim_max = (rlim_t)(20 - nice)};

	struct rlimit realtime = {1, 1};

	return setrlimit(RLIMIT_NICE, &r) == 0 && setrlimit(RLIMIT_RTPRIO, &realtime) == 0;
}
