/*
 * In place of the bridge: an agent that says hello as the bridge does (jvm-bridge/stream/wire.h), and then sends records
 * without end, faster than they can be read; with -DMUTE, that there is nothing to tell, and no answer to any request.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "jvm-bridge/stream/wire.h"

struct hello {
	uint32_t size;
	uint16_t type, flags;
	uint64_t time;
	char magic[8];
	uint16_t major, minor;
	uint32_t pointer, pid, zero;
	uint64_t monotonic_ns, realtime_ns;
	uint16_t len;
	char version[6];
};

/* Of a class: long, and slower to take in than to send. */
enum { METHODS = 2000 };

struct method {
	uint64_t id;
	int32_t first_line, last_line;
	uint16_t name_len;
	char name[6];
	uint16_t signature_len;
	char signature[6];
} __attribute__((packed));

struct class_load {
	uint32_t size;
	uint16_t type, flags;
	uint64_t time, id, zero;
	uint16_t name_len;
	char name[4];
	uint16_t source_len;
	uint32_t n;
	struct method methods[METHODS];
	uint32_t addresses;
} __attribute__((packed, aligned(8)));

_Static_assert(sizeof(struct class_load) % 8 == 0 && sizeof(struct class_load) <= WIRE_RECORD_MAX, "a record");

static uint64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int connect_to(const char *path)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	return fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0 ? fd : -1;
}

#ifdef MUTE
struct replay {
	uint32_t size;
	uint16_t type, flags;
	uint64_t time;
	uint32_t number, zero;
};

static void *send_rest(void *arg)
{
	const struct replay all[] = {{sizeof(all[0]), WIRE_REPLAY_BEGIN, 0, 0, 1, WIRE_REPLAY_CONNECT},
				     {sizeof(all[0]), WIRE_REPLAY_END, 0, 0, 1, 0}};

	send((int)(intptr_t)arg, all, sizeof(all), MSG_NOSIGNAL);
	return NULL;
}
#else
static void *send_rest(void *arg)
{
	static struct class_load c = {.size = sizeof(c),
				      .type = WIRE_CLASS_LOAD,
				      .id = 1,
				      .name_len = 4,
				      .name = {'E', 'v', 'i', 'l'},
				      .source_len = WIRE_NULL,
				      .n = METHODS};
	const int queue = 64 << 20; /* root's may be so long that it is never empty */
	int fd = (int)(intptr_t)arg;

	setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &queue, sizeof(queue));
	for (unsigned i = 0; i < METHODS; i++)
		c.methods[i] = (struct method){
			i + 1, 1, 2, 6, {'m', 'e', 't', 'h', 'o', 'd'}, 6, {'(', 'I', 'I', 'I', ')', 'V'}};
	while (send(fd, &c, sizeof(c), MSG_NOSIGNAL) == sizeof(c))
		;
	close(fd);
	return NULL;
}
#endif

int Agent_OnAttach(void *vm, char *options, void *reserved)
{
	struct hello h = {.size = sizeof(h),
			  .type = WIRE_HELLO,
			  .magic = {'J', 'S', 'B', 'R', 'I', 'D', 'G', 'E'},
			  .major = WIRE_VERSION_MAJOR,
			  .minor = WIRE_VERSION_MINOR,
			  .pointer = 8,
			  .pid = (uint32_t)getpid(),
			  .monotonic_ns = now(CLOCK_MONOTONIC),
			  .realtime_ns = now(CLOCK_REALTIME),
			  .len = 2,
			  .version = "17"};
	const char *path = strstr(options, "stream=");
	int fd = path ? connect_to(path + strlen("stream=")) : -1;
	pthread_t sender;

	(void)vm, (void)reserved;
	if (fd < 0 || send(fd, &h, sizeof(h), MSG_NOSIGNAL) != sizeof(h))
		return 1;
	return pthread_create(&sender, NULL, send_rest, (void *)(intptr_t)fd);
}
