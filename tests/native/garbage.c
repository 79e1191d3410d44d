/*
 * Garbage.copy(): a fork() of a JVM that, after a quiet time, keeps thousands of words of its memory
 * wrong at any moment: in libjvm's data and its tables, the code cache, the heaps, the frames of its
 * own callers. Words are put right again later, so that a reader never runs out of ways to go.
 *
 * After the first write nothing of libc or of the JVM is used.
 */
#include <fcntl.h>
#include <jni.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { RANGES_MAX = 512, WRONG = 1 << 15, GRANULE = 8, MAPS_MAX = 1 << 20 };

struct range {
	uint64_t start, end;
};

/* Kinds are written to with the shares that target_pick() gives them. */
enum kind { LIBJVM, CODE, OTHER, KINDS };

static struct {
	struct range v[RANGES_MAX];
	unsigned n;
} ranges[KINDS];

static struct {
	volatile uint64_t *at;
	uint64_t was;
} wrong[WRONG];

static char maps[MAPS_MAX];
static uint64_t rng;
static bool spare_libjvm; /* so that a reader that comes late gets past the tables */

static uint64_t next(void)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return rng;
}

static uint64_t hex(const char **p)
{
	uint64_t v = 0;

	for (;; (*p)++) {
		char c = **p;

		if (c >= '0' && c <= '9')
			v = v << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			v = v << 4 | (uint64_t)(c - 'a' + 10);
		else
			return v;
	}
}

static void range_add(enum kind k, uint64_t start, uint64_t end)
{
	if (start < end && ranges[k].n < RANGES_MAX)
		ranges[k].v[ranges[k].n++] = (struct range){start, end};
}

static bool contains(const char *line, const char *end, const char *word)
{
	size_t n = strlen(word);

	for (; line + n <= end; line++)
		if (!memcmp(line, word, n))
			return true;
	return false;
}

static bool holds(uint64_t start, uint64_t end, const void *object)
{
	return (uintptr_t)object >= start && (uintptr_t)object < end;
}

/* "7f0000-7f1000 rw-p ...": private and writable, but what this code itself stands on. */
static void take_mapping(const char *line, const char *eol, uint64_t frame)
{
	const char *p = line;
	uint64_t start = hex(&p), end = (p++, hex(&p));
	bool jvm = contains(line, eol, "/libjvm.so");

	if (p[4] != 'p' || contains(line, eol, "/garbage-") || contains(line, eol, "/libc.so") ||
	    contains(line, eol, "[stack]") || holds(start, end, maps) || holds(start, end, wrong) ||
	    holds(start, end, ranges) || holds(start, end, &rng))
		return;
	/* The tables are read-only after relocation. */
	if (jvm && p[1] == 'r' && p[2] == '-' && p[3] == '-' && next() % 2)
		mprotect((void *)start, end - start, PROT_READ | PROT_WRITE);
	else if (p[2] != 'w')
		return;
	if (frame >= start && frame < end)
		start = frame + 128;
	/* Behind the stack: the kernel looks at rseq(2)'s part of it. */
	if (holds(start, end, __builtin_thread_pointer()))
		end = (uintptr_t)__builtin_thread_pointer() - 4096;
	range_add(jvm ? LIBJVM : p[3] == 'x' ? CODE : OTHER, start, end);
}

static void list_ranges(uint64_t frame)
{
	int fd = open("/proc/self/maps", O_RDONLY);
	size_t len = 0;
	ssize_t n;

	while (len < sizeof(maps) - 1 && (n = read(fd, maps + len, sizeof(maps) - 1 - len)) > 0)
		len += (size_t)n;
	close(fd);
	for (char *line = maps, *eol; (eol = strchr(line, '\n')); line = eol + 1)
		take_mapping(line, eol, frame);
}

static enum kind pick_kind(void)
{
	unsigned k = next() % 32;

	return k == 0 && !spare_libjvm ? LIBJVM : k < 16 ? CODE : OTHER;
}

static volatile uint64_t *pick_word(enum kind k)
{
	const struct range *r;
	uint64_t words;

	if (!ranges[k].n)
		return NULL;
	r = &ranges[k].v[next() % ranges[k].n];
	words = (r->end - r->start) / GRANULE;
	/* The beginning of a heap is where things are. */
	if (k == OTHER && next() % 2 && words > 1 << 14)
		words = 1 << 14;
	return (volatile uint64_t *)(r->start + next() % words * GRANULE);
}

static uint64_t nonsense(uint64_t was)
{
	volatile uint64_t *other = pick_word(pick_kind());

	switch (next() % 6) {
	case 0: return next();
	case 1: return next() & 0xff;
	case 2: return was ^ UINT64_C(1) << next() % 64;
	case 3: return (uint64_t)(uintptr_t)other;
	case 4: return was + next() % 64 - 32;
	default: return other ? *other : ~UINT64_C(0);
	}
}

__attribute__((noinline)) static void scribble(void)
{
	for (unsigned i = 0;; i = (i + 1) % WRONG) {
		if (wrong[i].at)
			*wrong[i].at = wrong[i].was;
		wrong[i].at = pick_word(pick_kind());
		if (!wrong[i].at)
			continue;
		wrong[i].was = *wrong[i].at;
		*wrong[i].at = nonsense(wrong[i].was);
	}
}

static void be_quiet(int millis)
{
	struct timespec t, end;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += millis / 1000;
	do
		clock_gettime(CLOCK_MONOTONIC, &t);
	while (t.tv_sec < end.tv_sec || (t.tv_sec == end.tv_sec && t.tv_nsec < end.tv_nsec));
}

JNIEXPORT jint JNICALL Java_Garbage_copy(JNIEnv *env, jclass type, jint quiet_millis, jint seed)
{
	pid_t parent = getpid(), pid = fork();

	(void)env, (void)type;
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	spare_libjvm = seed % 2 == 0;
	rng = (uint64_t)seed * 0x9e3779b97f4a7c15u;
	for (int i = 1; i < 32; i++) /* a fault ends it */
		signal(i, SIG_DFL);
	be_quiet(quiet_millis);
	list_ranges((uint64_t)(uintptr_t)__builtin_frame_address(0));
	scribble();
	return 0;
}
