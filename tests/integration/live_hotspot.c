/*
 * live_hotspot PID [CODELIST [THREADS]]: opens a running JVM, interns every blob, names every method and
 * thread, checks that lookups agree with the code heaps, and prints counts and times. The lists are
 * written in a form that scripts compare with what the JVM says of itself (live_hotspot.sh).
 * The JVM is stopped (SIGSTOP) while lookups are compared.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/hotspot/code/code_cache.h"
#include "symbolizer/hotspot/hotspot.h"
#include "symbolizer/hotspot/reader/hotspot_parts.h"
#include "symbolizer/hotspot/threads/hs_thread.h"
#include "symbolizer/target/mem_live.h"
#include "tests/integration/jvm_target.h"

struct blobs {
	struct hotspot *hs;
	VEC(struct live_code) v; /* id unused */
};

struct counts {
	unsigned kind[BLOB_BUFFER + 1];
	unsigned tier[TIER_C2 + 1];
	unsigned unused, dead, wrong, no_method, no_scope, garbage_scope, no_bytes;
	uint64_t records, extra, chains, depth, nulls, handlers, max_depth;
};

static void blob_note(void *ctx, uint64_t blob, uint64_t size)
{
	struct blobs *b = ctx;

	vec_push(&b->v, ((struct live_code){blob, blob + size, 0}));
}

/* Every address of a block must lead to its header. */
static bool segments_agree(struct hotspot *hs, const struct live_code *at)
{
	uint64_t header = at->start - hs->jvm->l.size.heap_block, step = (at->end - at->start) / 7 + 1;
	struct block b;

	for (uint64_t pc = at->start; pc < at->end; pc += step)
		if (!block_find(hs->cache, pc, &b) || b.header != header)
			return false;
	return block_find(hs->cache, at->end - 1, &b) && b.header == header;
}

static void nmethod_check(struct hotspot *hs, const struct code *c, struct counts *n)
{
	struct code_scope scopes[CODE_MAX_SCOPES];

	n->no_method += c->method_id == 0;
	n->tier[c->tier]++;
	n->records += c->n_records;
	n->extra += c->n_extra_records;
	n->nulls += c->n_null_checks;
	n->handlers += c->n_handlers;
	n->no_bytes += c->n_bytes != c->end - c->begin;
	for (uint32_t i = 0; i < c->n_records; i++) {
		size_t k =
			code_scopes_at(c, hs->jvm->version.major, c->records[i].scope_offset, scopes, CODE_MAX_SCOPES);

		n->garbage_scope += k == 0 || scopes[k - 1].method_id != c->method_id;
		n->chains++;
		n->depth += k;
		if (k > n->max_depth)
			n->max_depth = k;
		for (size_t j = 0; j < k; j++)
			n->no_scope += scopes[j].method_id == 0;
	}
}

static void blob_check(struct hotspot *hs, const struct live_code *at, struct counts *n)
{
	struct block block;
	struct blob b;
	const struct code *c;
	uint32_t id;

	if (!segments_agree(hs, at)) {
		printf("WRONG segments at %#lx\n", (unsigned long)at->start);
		n->wrong++;
		return;
	}
	if (!block_find(hs->cache, at->start, &block) || !blob_read(hs->cache, &block, &b) || b.begin == b.end) {
		n->unused++;
		return;
	}
	id = hs_code_find(hs, b.begin);
	c = hs_code(hs, id);
	if (!c || c->blob != at->start || hs_code_find(hs, b.begin + (b.end - b.begin) / 2) != id ||
	    hs_code_find(hs, b.end - 1) != id || hs_code_find(hs, b.end) == id) {
		printf("WRONG code at %#lx (%s)\n", (unsigned long)at->start, b.name);
		n->wrong++;
		return;
	}
	n->kind[c->kind]++;
	if (c->kind <= BLOB_MH_INTRINSIC && blob_dead(hs->jvm, b.header)) {
		n->dead++;
		return;
	}
	if (c->kind == BLOB_NMETHOD)
		nmethod_check(hs, c, n);
	else if (c->kind <= BLOB_MH_INTRINSIC)
		n->no_method += c->method_id == 0;
}

static void counts_print(const struct counts *n)
{
	static const char *const names[] = {"nmethod",   "native", "mh-intrinsic", "interpreter", "adapter",
					    "vtable",    "stubs",  "runtime",      "deopt",       "safepoint",
					    "exception", "upcall", "buffer"};

	for (int i = 0; i <= BLOB_BUFFER; i++)
		if (n->kind[i])
			printf("%s %u  ", names[i], n->kind[i]);
	printf("no-code %u, dead %u\n", n->unused, n->dead);
	printf("tiers: %u %u %u %u %u\n", n->tier[0], n->tier[1], n->tier[2], n->tier[3], n->tier[4]);
	printf("records %lu, extra %lu, mean depth %.2f, max %lu, null checks %lu, handlers %lu\n",
	       (unsigned long)n->records, (unsigned long)n->extra,
	       n->chains ? (double)n->depth / (double)n->chains : 0.0, (unsigned long)n->max_depth,
	       (unsigned long)n->nulls, (unsigned long)n->handlers);
	printf("wrong %u, without method %u, scopes without method %u, garbage chains %u, "
	       "without bytes %u\n",
	       n->wrong, n->no_method, n->no_scope, n->garbage_scope, n->no_bytes);
}

/* "compile-id level class.name(signature) begin", as jcmd Compiler.codelist has it. */
static void codelist_write(struct hotspot *hs, const char *path)
{
	FILE *f = fopen(path, "w");

	for (uint32_t id = 1; f && id <= hs_code_count(hs); id++) {
		const struct code *c = hs_code(hs, id);
		const struct hs_method *m = hs_method(hs, c->method_id);

		if (c->kind > BLOB_MH_INTRINSIC || !m)
			continue;
		fprintf(f, "%d %d ", c->compile_id, c->tier);
		for (const char *s = m->class_name; *s; s++)
			fputc(*s == '/' ? '.' : *s, f);
		fprintf(f, ".%s%s 0x%016lx\n", m->name, m->signature, (unsigned long)c->begin);
	}
	if (f)
		fclose(f);
}

static int threads_check(struct hotspot *hs, const char *path)
{
	FILE *f = path ? fopen(path, "w") : NULL;
	int r = hs_thread_refresh(hs), unnamed = 0;
	uint64_t t0 = clock_thread_cpu_ns();

	if (r) {
		printf("threads: error %d\n", r);
		return 1;
	}
	for (size_t i = 0; i < hs_thread_count(hs); i++) {
		const struct hs_thread *t = hs_thread_at(hs, i);
		struct hs_anchor a = {0};
		char name[512] = "";
		bool ok = hs_thread_name(hs, t, name, sizeof(name));

		hs_thread_anchor(hs, t, &a);
		unnamed += !ok;
		if (f)
			fprintf(f, "%s 0x%016lx\n", name, (unsigned long)t->addr);
		if (a.sp && (a.sp >= t->stack_base || a.sp < t->stack_base - t->stack_size)) {
			printf("WRONG anchor of \"%s\"\n", name);
			unnamed++;
		}
		if (hs_thread_find(hs, t->ns_tid) != t)
			unnamed++;
	}
	printf("threads %zu, not named %d, %.1f us each\n", hs_thread_count(hs), unnamed,
	       (double)(clock_thread_cpu_ns() - t0) / 1e3 / (double)(hs_thread_count(hs) + 1));
	if (f)
		fclose(f);
	return unnamed != 0 || hs_thread_count(hs) == 0;
}

/* Time of a lookup that the caches answer, and of the check at the end of a walk. */
static void times_print(struct hotspot *hs)
{
	enum { ROUNDS = 2000, FRAMES = 60 };
	uint64_t pcs[FRAMES], t0 = 0, t1 = 0, ends = 0, sum = 0;
	size_t n = 0;

	for (uint32_t id = hs_code_count(hs); id > 0 && n < FRAMES; id--)
		if (hs_code(hs, id)->kind == BLOB_NMETHOD)
			pcs[n++] = hs_code(hs, id)->begin + 5;
	for (int pass = 0; n && pass < 2; pass++) {
		t0 = clock_thread_cpu_ns();
		for (int i = 0; i < ROUNDS; i++)
			for (size_t k = 0; k < n; k++)
				sum += hs_code_find(hs, pcs[k]);
		t1 = clock_thread_cpu_ns();
	}
	for (int i = 0; n && i < ROUNDS; i++) {
		uint64_t before;

		hotspot_walk_begin(hs);
		for (size_t k = 0; k < n; k++)
			sum += hs_code_find(hs, pcs[k]);
		before = clock_thread_cpu_ns();
		sum += hotspot_walk_end(hs);
		ends += clock_thread_cpu_ns() - before;
	}
	if (n)
		printf("hs_code_find hit %.1f ns, walk end of %zu codes %.1f us (%lu)\n",
		       (double)(t1 - t0) / ROUNDS / (double)n, n, (double)ends / 1e3 / ROUNDS,
		       (unsigned long)(sum & 1));
}

static unsigned lines_print(struct hotspot *hs)
{
	unsigned with = 0, source = 0, bad = 0;

	for (uint32_t id = 1; id <= hs_method_count(hs); id++) {
		const struct hs_method *m = hs_method(hs, id);

		with += hs_method_line(hs, m, m->code_size - 1) > 0;
		source += m->source_file != NULL;
		bad += m->code_size && !m->bytecodes;
	}
	printf("methods %u, with lines %u, with source %u, bytecodes missing %u\n", hs_method_count(hs), with, source,
	       bad);
	return bad;
}

/* Interning with the JVM stopped: nothing may be wrong. Then again by a walk with it running. */
static int check(pid_t pid, struct jvm_target *t, struct hotspot *hs, char **argv)
{
	struct blobs blobs = {.hs = hs};
	struct counts n = {0};
	uint64_t t0, nanos, calls;
	int bad;

	kill(pid, SIGSTOP);
	usleep(50000);
	mem_new_sample(t->mem);
	hs_code_each(hs, blob_note, &blobs);
	calls = mem_live_stats(t->mem).syscalls;
	t0 = clock_thread_cpu_ns();
	for (size_t i = 0; i < blobs.v.n; i++)
		if (i % 64 == 0)
			mem_new_sample(t->mem);
	for (size_t i = 0; i < blobs.v.n; i++)
		blob_check(hs, &blobs.v.v[i], &n);
	nanos = clock_thread_cpu_ns() - t0;
	printf("blocks %zu, codes %u; checked in %.1f ms, %.1f us and %.1f system calls a block\n", blobs.v.n,
	       hs_code_count(hs), (double)nanos / 1e6, (double)nanos / 1e3 / (double)(blobs.v.n + 1),
	       (double)(mem_live_stats(t->mem).syscalls - calls) / (double)(blobs.v.n + 1));
	counts_print(&n);
	bad = n.wrong || n.no_method || n.no_scope || n.garbage_scope || n.kind[BLOB_NMETHOD] < 100 ||
	      n.kind[BLOB_INTERPRETER] != 1;
	bad |= lines_print(hs) != 0;
	bad |= threads_check(hs, argv[0] && argv[1] ? argv[1] : NULL);
	times_print(hs);
	kill(pid, SIGCONT);
	if (argv[0])
		codelist_write(hs, argv[0]);
	vec_done(&blobs.v);
	return bad;
}

/* What interning costs, alone: a second hotspot, only nmethods, each by one lookup. */
static void intern_time(struct jvm_target *t, const struct hotspot *known)
{
	struct hotspot *hs = NULL;
	uint64_t total = 0, worst = 0, bytes = 0;
	unsigned n = 0;

	if (hotspot_open(t->mem, jvm_target_symbol, t, &hs, NULL))
		return;
	for (uint32_t id = 1; id <= hs_code_count(known); id++) {
		const struct code *c = hs_code(known, id);
		uint64_t t0 = clock_thread_cpu_ns(), ns;

		if (c->kind != BLOB_NMETHOD)
			continue;
		mem_new_sample(t->mem);
		hs_code_find(hs, c->begin);
		ns = clock_thread_cpu_ns() - t0;
		total += ns;
		bytes += c->end - c->begin;
		if (ns > worst)
			worst = ns;
		n++;
	}
	printf("intern: %u nmethods of %lu bytes, mean %.1f us, worst %.1f us, memory %.1f KB each\n", n,
	       (unsigned long)(n ? bytes / n : 0), n ? (double)total / 1e3 / n : 0.0, (double)worst / 1e3,
	       n ? (double)hotspot_stats(hs).bytes / 1024 / n : 0.0);
	hotspot_close(hs);
}

int main(int argc, char **argv)
{
	struct jvm_target t;
	struct hotspot *hs = NULL;
	struct err err = {0};
	uint64_t t0;
	pid_t pid;
	int bad;

	if (argc < 2 || (pid = (pid_t)atoi(argv[1])) <= 1) {
		fprintf(stderr, "usage: live_hotspot PID [CODELIST [THREADS]]\n");
		return 2;
	}
	if (jvm_target_open(pid, &t))
		return 1;
	t0 = clock_thread_cpu_ns();
	if (hotspot_open(t.mem, jvm_target_symbol, &t, &hs, &err)) {
		fprintf(stderr, "hotspot_open: %s\n", err.msg);
		return 1;
	}
	printf("JDK %d (%s), opened in %.2f ms\n", hotspot_version(hs)->major, hotspot_version(hs)->release,
	       (double)(clock_thread_cpu_ns() - t0) / 1e6);
	for (const char *const *note = hotspot_notes(hs); *note; note++)
		printf("note: %s\n", *note);
	bad = check(pid, &t, hs, argv + 2);
	intern_time(&t, hs);
	printf("memory %.1f MB, bad blobs %lu, bad methods %lu\n%s\n", (double)hotspot_stats(hs).bytes / 1e6,
	       (unsigned long)hotspot_stats(hs).bad_blobs, (unsigned long)hotspot_stats(hs).bad_methods,
	       bad ? "FAILED" : "ok");
	hotspot_close(hs);
	jvm_target_close(&t);
	return bad;
}
