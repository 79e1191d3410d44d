/*
 * Drops privileges as `jsampler` does and tries what must be refused then, in the first thread and in
 * one started later: prints "NAME errno" for each, and waits for its input to end, so that somebody
 * can read /proc/PID/status. With PID: whether the memory of that process can still be read.
 *
 *     privs_probe [PID]
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "sampler/rights/privs.h"
#include "symbolizer/base/err.h"

/* linux/asm/unistd.h: the x32 ABI uses the same entry with this bit in the number. */
#define X32_BIT 0x40000000

static void say(const char *name, long r)
{
	printf("%s %d\n", name, r < 0 ? errno : 0);
}

static void try_all(pid_t pid)
{
	char *argv[] = {"true", NULL}, byte = 0;
	struct iovec local = {&byte, 1}, remote = {&byte, 1};

	say("execve", execve("/no/such/file", argv, NULL));
	say("execveat", syscall(SYS_execveat, AT_FDCWD, "/no/such/file", argv, NULL, 0));
	say("x32-execve", syscall(SYS_execve | X32_BIT, "/no/such/file", argv, NULL));
	say("ptrace", ptrace(PTRACE_SEIZE, pid, 0, 0));
	say("process_vm_writev", process_vm_writev(getpid(), &local, 1, &remote, 1, 0));
	say("mount", mount("none", "/no/such/dir", "tmpfs", 0, NULL));
	say("unshare", unshare(CLONE_FS));
	say("socket", socket(AF_UNIX, SOCK_STREAM, 0));
	say("setuid", syscall(SYS_setuid, geteuid()));
	say("init_module", syscall(SYS_init_module, NULL, 0, ""));
	say("io_uring_setup", syscall(SYS_io_uring_setup, 1, NULL));
	say("open", open("/dev/null", O_RDONLY | O_CLOEXEC));
}

static void *other_thread(void *arg)
{
	(void)arg;
	try_all(getpid());
	return NULL;
}

static void read_memory(pid_t pid)
{
	char path[64], byte;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	say("open-mem", fd);
	if (fd >= 0)
		close(fd);
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	say("read-maps", fd >= 0 && read(fd, &byte, 1) == 1 ? 0 : -1);
}

int main(int argc, char **argv)
{
	pid_t pid = argc > 1 ? atoi(argv[1]) : getppid();
	struct err err = {0};
	pthread_t thread;

	if (privs_drop(&(struct privs_needs){0}, &err) < 0) {
		fprintf(stderr, "%s\n", err.msg);
		return 1;
	}
	try_all(pid);
	if (pthread_create(&thread, NULL, other_thread, NULL) == 0)
		pthread_join(thread, NULL);
	if (argc > 1)
		read_memory(pid);
	printf("done\n");
	fflush(stdout);
	return getchar() == EOF ? 0 : 1;
}
