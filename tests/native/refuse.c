/*
 * refuse CALL=ERRNO... -- COMMAND [ARG...]: runs a command under a seccomp filter like a container
 * runtime's, which answers some system calls with an error. "PR_SET_SECCOMP" is that operation of prctl(2).
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CALLS_MAX = 16, PROLOGUE = 4, RULE_MAX = 5 };

static const struct name {
	const char *text;
	unsigned value;
	/* clang-format off */
} calls[] = {
	{"perf_event_open", SYS_perf_event_open}, {"process_vm_readv", SYS_process_vm_readv},
	{"bpf", SYS_bpf},			  {"openat2", SYS_openat2},
	{"pidfd_open", SYS_pidfd_open},		  {"seccomp", SYS_seccomp},
	{"prlimit64", SYS_prlimit64},		  {"sched_setscheduler", SYS_sched_setscheduler},
	{"getrandom", SYS_getrandom},		  {"capset", SYS_capset},
	{"PR_SET_SECCOMP", SYS_prctl},	  {"landlock_create_ruleset", 444}, /* newer than some headers */
}, errors[] = {{"EPERM", EPERM}, {"ENOSYS", ENOSYS}, {"EACCES", EACCES}, {"EINVAL", EINVAL},
	      /* clang-format on */
	      {"ENODEV", ENODEV}};

#define FIND(list, s, n) find(list, sizeof(list) / sizeof((list)[0]), s, n)

static const struct name *find(const struct name *list, size_t count, const char *s, size_t len)
{
	for (size_t i = 0; i < count; i++)
		if (strlen(list[i].text) == len && !memcmp(list[i].text, s, len))
			return &list[i];
	return NULL;
}

/* "CALL=ERRNO": compare and answer. Returns the number of instructions. */
static int add_rule(struct sock_filter *code, const char *rule)
{
	const char *eq = strchr(rule, '=');
	const struct name *call = eq ? FIND(calls, rule, (size_t)(eq - rule)) : NULL;
	const struct name *error = eq ? FIND(errors, eq + 1, strlen(eq + 1)) : NULL;

	if (!call || !error)
		return -EINVAL;
	if (call->value == SYS_prctl) {
		const struct sock_filter rule[] = {
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 4),
			BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_SECCOMP, 0, 1),
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error->value),
			BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		};

		memcpy(code, rule, sizeof(rule));
		return sizeof(rule) / sizeof(rule[0]);
	}
	code[0] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call->value, 0, 1);
	code[1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error->value);
	return 2;
}

int main(int argc, char **argv)
{
	struct sock_filter code[PROLOGUE + RULE_MAX * CALLS_MAX + 1] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	};
	struct sock_fprog prog = {.len = PROLOGUE, .filter = code};
	int i, n;

	for (i = 1; i < argc && strcmp(argv[i], "--") && i <= CALLS_MAX; i++, prog.len += (unsigned short)n)
		if ((n = add_rule(code + prog.len, argv[i])) < 0)
			return fprintf(stderr, "refuse: what is '%s'?\n", argv[i]), 2;
	if (i + 1 >= argc)
		return fprintf(stderr, "usage: refuse CALL=ERRNO... -- COMMAND [ARG...]\n"), 2;
	code[prog.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	/* With no_new_privs, unless permitted without: a setuid or capable command stays so. */
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) < 0 &&
	    (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) < 0))
		return perror("refuse: seccomp"), 2;
	execvp(argv[i + 1], argv + i + 1);
	return perror(argv[i + 1]), 127;
}
