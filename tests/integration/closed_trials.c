/*
 * What somebody who has taken over a parser would try. Preloaded into jsampler (closed.py), in place of the first function that
 * decodes input; so it runs where a taken-over parser would, with what the process has then.
 *
 *     CLOSED_TRIAL       which; "all": each in a child, where those may be started (CLOSED_SAMPLING)
 *     CLOSED_FOREIGN     PID of a process of root's
 *     CLOSED_OWN         PID of a process that has the uid with which the parser runs
 *     CLOSED_FILE        a file in a user's home, closed to others
 *     CLOSED_DIRECTORY   a directory where everybody may write
 *     CLOSED_TRACE       set: in the process that stops threads, before it waits for the first
 *     CLOSED_KEEP        set: all of them, in the daemon's keeper, where no child may be started
 *     CLOSED_ATTACH      set: where the attaching child takes the target's groups, and not where input is decoded
 *
 * Says "NAME: errno N" on what was stderr at the start, 0 where it succeeded, and ends the process; of a child that was
 * ended, "NAME: signal N".
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <libelf.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

static pid_t foreign, own;
static const char *file, *directory;

/* As linux/sched.h and linux/openat2.h have them; older headers do not. */
struct clone3_args {
	uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
};
struct openat2_how {
	uint64_t flags, mode, resolve;
};

static long of_process(pid_t pid, const char *name, int flags)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return open(path, flags);
}

static const char *in_directory(const char *name)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

/* By a raw system call: that of glibc keeps the child's state of this process in step. */
static long start_thread_of_namespaces(unsigned long flags)
{
	return syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, NULL);
}

static long clone_with_memory(uint64_t flags)
{
	struct clone3_args a = {.flags = flags, .exit_signal = SIGCHLD};

	return syscall(SYS_clone3, &a, sizeof(a));
}

static long pidfd_call(long call, pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	return fd < 0 ? -1 : call == SYS_pidfd_getfd ? syscall(call, fd, 0, 0) : syscall(call, fd, SIGKILL, NULL, 0);
}

static long memory(int prot)
{
	return mmap(NULL, 4096, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 : 0;
}

static long make_executable(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? 0 : mprotect(p, 4096, PROT_READ | PROT_EXEC);
}

static long write_memory(pid_t pid)
{
	char byte = 0;
	struct iovec local = {&byte, 1}, remote = {&byte, 1};

	return process_vm_writev(pid, &local, 1, &remote, 1, 0);
}

static long read_memory(pid_t pid)
{
	char byte = 0;
	struct iovec local = {&byte, 1}, remote = {&byte, 1};

	return process_vm_readv(pid, &local, 1, &remote, 1, 0);
}

static long load_program(void)
{
	union bpf_attr a = {.prog_type = BPF_PROG_TYPE_SOCKET_FILTER};

	return syscall(SYS_bpf, BPF_PROG_LOAD, &a, sizeof(a));
}

static long open_event(void)
{
	struct perf_event_attr a = {.type = PERF_TYPE_SOFTWARE, .size = sizeof(a)};

	return syscall(SYS_perf_event_open, &a, 0, -1, -1, 0);
}

static long gain_capabilities(void)
{
	struct __user_cap_header_struct h = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct all[2] = {{~0u, ~0u, ~0u}, {~0u, ~0u, ~0u}};

	return syscall(SYS_capset, &h, all);
}

static long open_by_rules(const char *path)
{
	struct openat2_how how = {.flags = O_RDONLY};

	return syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
}

static long handle_refusals(void)
{
	struct sigaction sa = {.sa_handler = SIG_IGN};

	return sigaction(SIGSYS, &sa, NULL);
}

static char *const no_words[] = {NULL};

/* clang-format off */
#define TRIALS(T) \
	T(write_mem, of_process(foreign, "mem", O_RDWR)) \
	T(write_own_mem, of_process(own, "mem", O_RDWR)) \
	T(read_mem, of_process(foreign, "mem", O_RDONLY)) \
	T(read_own_mem, of_process(own, "mem", O_RDONLY)) \
	T(own_environment, of_process(own, "environ", O_RDONLY)) \
	T(root_of_process, of_process(foreign, "root/etc/shadow", O_RDONLY)) \
	T(shadow, open("/etc/shadow", O_RDONLY)) \
	T(write_shadow, open("/etc/shadow", O_WRONLY)) \
	T(cron, open("/etc/cron.d/jsampler", O_WRONLY | O_CREAT, 0644)) \
	T(core_pattern, open("/proc/sys/kernel/core_pattern", O_WRONLY)) \
	T(file_at_home, open(file, O_RDONLY)) \
	T(write_at_home, open(file, O_WRONLY)) \
	T(openat2, open_by_rules(file)) \
	T(create, open(in_directory("made"), O_WRONLY | O_CREAT, 0644)) \
	T(create_unnamed, open(directory, O_WRONLY | O_TMPFILE, 0644)) \
	T(symbolic_link, symlink("/etc/shadow", in_directory("link"))) \
	T(hard_link, link(file, in_directory("link"))) \
	T(rename_file, rename(file, in_directory("renamed"))) \
	T(remove_file, unlink(file)) \
	T(truncate_file, truncate(file, 0)) \
	T(make_directory, mkdir(in_directory("made"), 0700)) \
	T(make_fifo, mkfifo(in_directory("made"), 0700)) \
	T(change_owner, chown(file, 0, 0)) \
	T(setuid_bit, fchmod(STDIN_FILENO, 04755)) \
	T(setuid_bit_by_name, chmod(file, 04755)) \
	T(extended_attribute, setxattr(file, "user.x", "x", 1, 0)) \
	T(execute, execve("/bin/true", no_words, no_words)) \
	T(execute_at, syscall(SYS_execveat, AT_FDCWD, "/bin/true", no_words, no_words, 0)) \
	T(fork_process, syscall(SYS_fork)) \
	T(vfork_process, syscall(SYS_clone, CLONE_VM | SIGCHLD, NULL, NULL, NULL, NULL)) \
	T(user_namespace, start_thread_of_namespaces(CLONE_NEWUSER)) \
	T(clone3_user_namespace, clone_with_memory(CLONE_NEWUSER)) \
	T(unshare_user, unshare(CLONE_NEWUSER)) \
	T(unshare_mounts, unshare(CLONE_NEWNS)) \
	T(enter_namespace, setns(STDIN_FILENO, 0)) \
	T(socket_of_network, socket(AF_INET, SOCK_STREAM, 0)) \
	T(socket_of_host, socket(AF_UNIX, SOCK_STREAM, 0)) \
	T(socket_of_kernel, socket(AF_NETLINK, SOCK_RAW, 0)) \
	T(trace, ptrace(PTRACE_SEIZE, foreign, 0, 0)) \
	T(trace_own, ptrace(PTRACE_SEIZE, own, 0, 0)) \
	T(write_process, write_memory(foreign)) \
	T(write_own_process, write_memory(own)) \
	T(read_own_process, read_memory(own)) \
	T(pidfd_getfd, pidfd_call(SYS_pidfd_getfd, own)) \
	T(pidfd_signal, pidfd_call(SYS_pidfd_send_signal, own)) \
	T(kill_foreign, kill(foreign, SIGKILL)) \
	T(kill_own, kill(own, SIGKILL)) \
	T(kill_thread, syscall(SYS_tgkill, own, own, SIGKILL)) \
	T(queue_signal, syscall(SYS_rt_sigqueueinfo, own, SIGKILL, NULL)) \
	T(signal_by_file, fcntl(STDIN_FILENO, F_SETOWN, own)) \
	T(mount_file_system, mount("none", directory, "tmpfs", 0, NULL)) \
	T(change_root, chroot("/")) \
	T(set_uid, syscall(SYS_setuid, 0)) \
	T(set_gid, syscall(SYS_setresgid, 0, 0, 0)) \
	T(set_groups, syscall(SYS_setgroups, 0, NULL)) \
	T(capabilities, gain_capabilities()) \
	T(load_bpf, load_program()) \
	T(perf_event, open_event()) \
	T(io_uring, syscall(SYS_io_uring_setup, 1, NULL)) \
	T(keys, syscall(SYS_keyctl, 0, -3, 0, 0, 0)) \
	T(userfaultfd, syscall(SYS_userfaultfd, 0)) \
	T(load_module, syscall(SYS_init_module, NULL, 0, "")) \
	T(kernel_log, syscall(SYS_syslog, 3, NULL, 0)) \
	T(shared_memory, shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600)) \
	T(file_in_memory, syscall(SYS_memfd_create, "x", 0)) \
	T(writable_code, memory(PROT_READ | PROT_WRITE | PROT_EXEC)) \
	T(new_code, memory(PROT_READ | PROT_EXEC)) \
	T(made_executable, make_executable()) \
	T(read_implies_execute, syscall(SYS_personality, 0x0400000)) \
	T(dumpable, prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)) \
	T(limits_of_others, syscall(SYS_prlimit64, own, RLIMIT_CORE, NULL, NULL)) \
	T(own_limits, setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0})) \
	T(priority_of_others, setpriority(PRIO_PROCESS, (id_t)own, 19)) \
	T(type_into_terminal, ioctl(STDIN_FILENO, TIOCSTI, "x")) \
	T(x32, syscall(SYS_getpid | 0x40000000)) \
	T(survive_refusals, handle_refusals())
/* clang-format on */

#define FUNCTION(name, call)                                                                                           \
	static long try_##name(void)                                                                                   \
	{                                                                                                              \
		return call;                                                                                           \
	}
TRIALS(FUNCTION)

#define ROW(name, call) {#name, try_##name},
static const struct {
	const char *name;
	long (*attempt)(void);
} trials[] = {TRIALS(ROW)};

/* A name or two for what every process has. */
static const char *variable(const char *name)
{
	const char *v = getenv(name);

	return v ? v : "";
}

/* A child that looks at a process has another stderr; who reads files keeps no descriptor but that. */
enum { SAY_FD = 200 };

__attribute__((constructor)) static void keep_stderr(void)
{
	dup2(STDERR_FILENO, SAY_FD);
}

static int say_fd(void)
{
	return fcntl(SAY_FD, F_GETFD) < 0 ? STDERR_FILENO : SAY_FD;
}

static _Noreturn void try_one(size_t i)
{
	errno = 0;
	dprintf(say_fd(), "%s: errno %d\n", trials[i].name, trials[i].attempt() < 0 ? errno : 0);
	_exit(0);
}

static _Noreturn void try_all(void)
{
	for (size_t i = 0; i < sizeof(trials) / sizeof(trials[0]); i++) {
		int status = 0;
		pid_t child = fork();

		if (child == 0)
			try_one(i);
		if (child < 0 || waitpid(child, &status, 0) < 0)
			dprintf(say_fd(), "%s: no child\n", trials[i].name);
		else if (WIFSIGNALED(status))
			dprintf(say_fd(), "%s: signal %d\n", trials[i].name, WTERMSIG(status));
	}
	_exit(0);
}

static void know_victims(void)
{
	foreign = (pid_t)atoi(variable("CLOSED_FOREIGN"));
	own = (pid_t)atoi(variable("CLOSED_OWN"));
	file = variable("CLOSED_FILE");
	directory = variable("CLOSED_DIRECTORY");
}

static void try_it(void)
{
	const char *wanted = variable("CLOSED_TRIAL");

	know_victims();
	for (size_t i = 0; i < sizeof(trials) / sizeof(trials[0]); i++)
		if (strcmp(trials[i].name, wanted) == 0)
			try_one(i);
	if (strcmp(wanted, "all") == 0)
		try_all();
	dprintf(say_fd(), "no such trial: '%s'\n", wanted);
	_exit(1);
}

/* --- in the keeper */

static sigjmp_buf refused;

static void go_on(int signal)
{
	siglongjmp(refused, signal);
}

/* Of libc. The handler that ends a process at a call that its filter does not know gives way to one that goes on. */
int sigaction(int signal, const struct sigaction *restrict act, struct sigaction *restrict old)
{
	static bool taken;
	int (*real)(int, const struct sigaction *, struct sigaction *) =
		(int (*)(int, const struct sigaction *, struct sigaction *))dlsym(RTLD_NEXT, "sigaction");
	struct sigaction mine = {.sa_handler = go_on};
	bool take = getenv("CLOSED_KEEP") && signal == SIGSYS && act && !taken;

	if (!real)
		return -1;
	taken |= take;
	return real(signal, take ? &mine : act, old);
}

static void try_each(void)
{
	volatile size_t i;

	for (i = 0; i < sizeof(trials) / sizeof(trials[0]); i++) {
		long r;

		if (strcmp(trials[i].name, "x32") == 0) /* not a trap: it ends the process */
			continue;
		if (sigsetjmp(refused, 1)) {
			dprintf(say_fd(), "%s: signal %d\n", trials[i].name, SIGSYS);
			continue;
		}
		errno = 0;
		r = trials[i].attempt();
		dprintf(say_fd(), "%s: errno %d\n", trials[i].name, r < 0 ? errno : 0);
	}
	dprintf(say_fd(), "all tried\n");
}

/* Of libmicrohttpd: the keeper starts to answer requests when it is closed. Elsewhere it has to: without it nothing is sampled. */
struct MHD_Daemon *MHD_start_daemon(unsigned flags, uint16_t port, ...);
struct MHD_Daemon *MHD_start_daemon(unsigned flags, uint16_t port, ...)
{
	typedef void (*callback)(void);
	struct MHD_Daemon *(*real)(unsigned, uint16_t, callback, void *, callback, void *, va_list) =
		(struct MHD_Daemon * (*)(unsigned, uint16_t, callback, void *, callback, void *, va_list))
			dlsym(RTLD_NEXT, "MHD_start_daemon_va");
	struct MHD_Daemon *d;
	callback policy, handler;
	void *policy_ctx, *handler_ctx;
	va_list options;

	if (getenv("CLOSED_KEEP")) {
		know_victims();
		try_each();
		_exit(1);
	}
	va_start(options, port);
	policy = va_arg(options, callback);
	policy_ctx = va_arg(options, void *);
	handler = va_arg(options, callback);
	handler_ctx = va_arg(options, void *);
	d = real ? real(flags, port, policy, policy_ctx, handler, handler_ctx, options) : NULL;
	va_end(options);
	return d;
}

/* Of libc; a process that is closed calls it, too. */
int setgroups(size_t n, const gid_t *groups)
{
	if (getenv("CLOSED_ATTACH"))
		try_it();
	return (int)syscall(SYS_setgroups, n, groups);
}

/* Of libc; what stops threads calls it before it does. */
int timer_create(clockid_t clock, struct sigevent *event, timer_t *timer)
{
	int (*real)(clockid_t, struct sigevent *, timer_t *) =
		(int (*)(clockid_t, struct sigevent *, timer_t *))dlsym(RTLD_NEXT, "timer_create");

	if (getenv("CLOSED_TRACE"))
		try_it();
	return real ? real(clock, event, timer) : -1;
}

/* Of zlib, for saved profiles; of zstd, for recordings. */
int gzread(gzFile file_to_read, void *buf, unsigned len)
{
	(void)file_to_read, (void)buf, (void)len;
	try_it();
	return -1;
}

/* Of libelf, for files that a target has mapped. */
Elf *elf_begin(int fd, Elf_Cmd cmd, Elf *ref)
{
	(void)fd, (void)cmd, (void)ref;
	try_it();
	return NULL;
}

Elf *elf_memory(char *image, size_t size)
{
	(void)image, (void)size;
	try_it();
	return NULL;
}

size_t ZSTD_decompress(void *dst, size_t capacity, const void *src, size_t size)
{
	(void)dst, (void)capacity, (void)src, (void)size;
	try_it();
	return 0;
}

unsigned long long ZSTD_getFrameContentSize(const void *src, size_t size)
{
	(void)src, (void)size;
	try_it();
	return 0;
}
