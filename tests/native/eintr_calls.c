/*
 * eintr_calls SECONDS: a thread for each system call that being stopped disturbs; each works for up to
 * 100 us and then waits for some ms, again and again. No signal ever comes, so every EINTR is
 * somebody else's doing. Prints one line a call:
 *
 *     epoll_wait calls 1234 eintr 0 early 0 wrong 0 longest_ms 4
 *
 * early: timeouts that ended too soon; wrong: any other result that cannot be.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { TIMEOUT_MS = 3, WORK_US = 100, FEED_US = 1500, STALL_MS = 15 };

struct tally {
	const char *name;
	/* Waits once; the result of the call. Timeouts end with `over`, or -1 and that errno. */
	int (*call)(void);
	int over, over_errno;
	bool timed; /* every wait is a timeout */
	uint64_t calls, eintr, early, wrong, longest_ns;
	unsigned seed;
	pthread_t thread;
};

static _Atomic bool stop;
static int epoll_fd, nothing[2], socket_fd, listener, fed[2], full[2], feed_event, semaphores;
static int never;

static uint64_t clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* Moves with the kernel's ticks, which sockets' timeouts count. */
static uint64_t ticks_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC_COARSE);
}

static struct timespec ms(int n)
{
	return (struct timespec){0, n * 1000000};
}

static int do_epoll(void)
{
	struct epoll_event e;

	return epoll_wait(epoll_fd, &e, 1, TIMEOUT_MS);
}

static int do_epoll_pwait(void)
{
	struct epoll_event e;
	sigset_t none;

	sigemptyset(&none);
	return epoll_pwait(epoll_fd, &e, 1, TIMEOUT_MS, &none);
}

static int do_poll(void)
{
	struct pollfd p = {.fd = nothing[0], .events = POLLIN};

	return poll(&p, 1, TIMEOUT_MS);
}

static int do_ppoll(void)
{
	struct pollfd p = {.fd = nothing[0], .events = POLLIN};
	struct timespec t = ms(TIMEOUT_MS);

	return ppoll(&p, 1, &t, NULL);
}

static int do_select(void)
{
	struct timeval t = {0, TIMEOUT_MS * 1000};
	fd_set set;

	FD_ZERO(&set);
	FD_SET(nothing[0], &set);
	return select(nothing[0] + 1, &set, NULL, NULL, &t);
}

static int do_recv(void)
{
	char c;

	return (int)recv(socket_fd, &c, 1, 0);
}

static int do_read_socket(void)
{
	char c;

	return (int)read(socket_fd, &c, 1);
}

static int do_accept(void)
{
	return accept(listener, NULL, NULL);
}

static int do_sigtimedwait(void)
{
	struct timespec t = ms(TIMEOUT_MS);
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	return sigtimedwait(&set, NULL, &t);
}

static int do_semtimedop(void)
{
	struct sembuf op = {.sem_op = -1};
	struct timespec t = ms(TIMEOUT_MS);

	return semtimedop(semaphores, &op, 1, &t);
}

static int do_nanosleep(void)
{
	struct timespec t = ms(TIMEOUT_MS);

	return nanosleep(&t, NULL);
}

static int do_futex(void)
{
	struct timespec t = ms(TIMEOUT_MS);

	return (int)syscall(SYS_futex, &never, FUTEX_WAIT_PRIVATE, 0, &t, NULL, 0);
}

static int do_read_pipe(void)
{
	char c;

	return (int)read(fed[0], &c, 1);
}

static int do_write_pipe(void)
{
	static const char block[4096];

	return (int)write(full[1], block, sizeof(block));
}

static int do_read_event(void)
{
	uint64_t n;

	return (int)read(feed_event, &n, sizeof(n));
}

static struct tally all[] = {
	{.name = "epoll_wait", .call = do_epoll, .timed = true},
	{.name = "epoll_pwait", .call = do_epoll_pwait, .timed = true},
	{.name = "poll", .call = do_poll, .timed = true},
	{.name = "ppoll", .call = do_ppoll, .timed = true},
	{.name = "select", .call = do_select, .timed = true},
	{.name = "recv", .call = do_recv, .over = -1, .over_errno = EAGAIN, .timed = true},
	{.name = "read_socket", .call = do_read_socket, .over = -1, .over_errno = EAGAIN, .timed = true},
	{.name = "accept", .call = do_accept, .over = -1, .over_errno = EAGAIN, .timed = true},
	{.name = "sigtimedwait", .call = do_sigtimedwait, .over = -1, .over_errno = EAGAIN, .timed = true},
	{.name = "semtimedop", .call = do_semtimedop, .over = -1, .over_errno = EAGAIN, .timed = true},
	{.name = "nanosleep", .call = do_nanosleep, .timed = true},
	{.name = "futex", .call = do_futex, .over = -1, .over_errno = ETIMEDOUT, .timed = true},
	{.name = "read_pipe", .call = do_read_pipe, .over = 1},
	{.name = "write_pipe", .call = do_write_pipe, .over = 4096},
	{.name = "read_eventfd", .call = do_read_event, .over = 8},
};

enum { N = sizeof(all) / sizeof(all[0]) };

static void work(struct tally *t)
{
	uint64_t until = now_ns() + (uint64_t)(rand_r(&t->seed) % WORK_US) * 1000;

	while (now_ns() < until)
		;
}

/*
 * poll and epoll round down to a tick of 1 ms; socket timeouts are jiffies. A virtual machine that stood
 * still has many of those at once.
 */
static bool is_early(uint64_t took, uint64_t ticked)
{
	return took < (TIMEOUT_MS - 1) * UINT64_C(1000000) && ticked < STALL_MS * UINT64_C(1000000);
}

static void *run(void *arg)
{
	struct tally *t = arg;

	while (!stop) {
		uint64_t began, took, tick;
		int r, e;

		work(t);
		tick = ticks_ns();
		began = now_ns();
		errno = 0;
		r = t->call();
		e = errno;
		took = now_ns() - began;
		t->calls++;
		if (r < 0 && e == EINTR)
			t->eintr++;
		else if (r != t->over || (r < 0 && e != t->over_errno))
			t->wrong++;
		else if (t->timed && is_early(took, ticks_ns() - tick))
			t->early++;
		if (took > t->longest_ns)
			t->longest_ns = took;
	}
	return NULL;
}

/* Keeps the readers and the writer of pipes going. */
static void *feed(void *arg)
{
	char block[8192];
	uint64_t one = 1;

	while (!stop) {
		(void)!write(fed[1], "x", 1);
		(void)!write(feed_event, &one, sizeof(one));
		(void)!read(full[0], block, sizeof(block));
		usleep(FEED_US);
	}
	/* Nobody is to be left waiting. */
	for (int i = 0; i < 64; i++)
		(void)!write(fed[1], "x", 1);
	(void)!write(feed_event, &one, sizeof(one));
	fcntl(full[0], F_SETFL, O_NONBLOCK);
	while (read(full[0], block, sizeof(block)) > 0)
		;
	return arg;
}

static void set_timeout(int fd)
{
	struct timeval t = {0, TIMEOUT_MS * 1000};

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
}

static int open_all(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int pair[2];

	if (pipe(nothing) < 0 || pipe(fed) < 0 || pipe(full) < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		return -1;
	socket_fd = pair[0];
	set_timeout(socket_fd);
	listener = socket(AF_INET, SOCK_STREAM, 0);
	set_timeout(listener);
	if (bind(listener, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(listener, 1) < 0)
		return -1;
	epoll_fd = epoll_create1(0);
	feed_event = eventfd(0, 0);
	semaphores = semget(IPC_PRIVATE, 1, 0600);
	return semaphores < 0 ? -1 : 0;
}

int main(int argc, char **argv)
{
	sigset_t set;
	pthread_t feeder;

	if (argc != 2 || open_all() < 0) {
		perror("eintr_calls SECONDS");
		return 2;
	}
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	for (unsigned i = 0; i < N; i++) {
		all[i].seed = i + 1;
		pthread_create(&all[i].thread, NULL, run, &all[i]);
	}
	pthread_create(&feeder, NULL, feed, NULL);
	puts("ready");
	fflush(stdout);
	sleep((unsigned)atoi(argv[1]));
	stop = true;
	pthread_join(feeder, NULL);
	for (unsigned i = 0; i < N; i++)
		pthread_join(all[i].thread, NULL);
	semctl(semaphores, 0, IPC_RMID);
	for (unsigned i = 0; i < N; i++)
		printf("%s calls %llu eintr %llu early %llu wrong %llu longest_ms %llu\n", all[i].name,
		       (unsigned long long)all[i].calls, (unsigned long long)all[i].eintr,
		       (unsigned long long)all[i].early, (unsigned long long)all[i].wrong,
		       (unsigned long long)(all[i].longest_ns / 1000000));
	return 0;
}
