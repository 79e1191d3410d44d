/*
 * How often attribution agrees, sample by sample, with what -XX:+DebugNonSafepoints says:
 *
 *     attribution_agree PID SECONDS [HZ]
 *
 * samples pcs of a JVM started with -XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints, hides the
 * records without oop map from attribution, and compares with the cleaned full records. Prints one
 * line a rule and kind of code, in percent ("no notes": samples of instructions of which the full records
 * only know who comes next); with --dump DIR also writes the most sampled C2
 * nmethods as fixtures of the unit tests.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "symbolizer/attribution/address_rule.h"
#include "symbolizer/attribution/attribution.h"
#include "symbolizer/attribution/choice.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/map.h"
#include "symbolizer/hotspot/code/roles.h"
#include "symbolizer/hotspot/hotspot.h"
#include "symbolizer/hotspot/methods/method.h"
#include "symbolizer/hotspot/reader/hs_arch.h"
#include "symbolizer/native/dso.h"
#include "symbolizer/native/modules/modmap.h"
#include "symbolizer/target/maps.h"
#include "symbolizer/target/mem.h"
#include "symbolizer/target/mem_live.h"
#include "symbolizer/target/proc.h"
#include "tests/integration/attribution_dump.h"
#include "tests/integration/attribution_foreign.h"
#include "tests/integration/attribution_reference.h"
#include "tests/integration/attribution_samples.h"
#include "tests/integration/attribution_score.h"

struct key {
	struct {
		uint32_t code_id;
		uint32_t off;
	} at;
	uint64_t count;
	UT_hash_handle hh;
};

enum group { G_ALL, G_C2, G_OSR, G_C1, G_INLINING, G_C2_INLINING, GROUPS };
static const char *const group_names[] = {"all", "C2", "C2 OSR", "C1", "inlining", "C2 inlin."};

enum rule { RULE_ADDRESS, RULE_FLOW, RULES };
static const char *const rule_names[] = {"address", "flow"};

/* What stands behind a sure name: evidence ahead or at the pc itself, or a return. */
enum { SURE_ENDS = EVIDENCE_KINDS + 1 };

struct method_share {
	uint32_t id;
	int64_t diff[RULES]; /* samples given minus samples due */
	UT_hash_handle hh;
};

struct agree {
	struct mem *mem;
	struct hotspot *hs;
	struct modmap *modmap;
	int major;
	struct key *keys;
	uint64_t samples, in_nmethods, compared, uncovered;
	uint64_t graphs, damaged;
	uint64_t pcs, foreign; /* pcs named, and those named after a method that cannot be there */
	struct score scores[GROUPS][RULES];
	/* by whether the reference is sure: of instructions without notes it only knows who comes next */
	struct score by_exactness[2][EXACTNESS_COUNT];
	struct score by_end[SURE_ENDS]; /* what is called sure, and the reference is sure of */
	struct score by_evidence[EVIDENCE_KINDS]; /* pcs that are evidence themselves */
	struct method_share *shares;
	uint64_t graph_ns, insns, find_ns, finds; /* CPU time */
	struct choice_scratch scratch;
	bool verbose;
	bool raw; /* compare with all records, also the wrong ones */
};

static bool libjvm_symbol(void *ctx, const char *name, uint64_t *ret)
{
	struct modmap *m = ctx;
	uint32_t id;
	uint64_t bias, vaddr, size;

	if (modmap_find_dso(m, "libjvm.so", &id, &bias) || !modmap_dso(m, id) ||
	    dso_find_by_name(modmap_dso(m, id), name, &vaddr, &size))
		return false;
	*ret = vaddr + bias;
	return true;
}

static void note_pc(void *ctx, uint64_t pc)
{
	struct agree *a = ctx;
	const struct code *c;
	struct key *k, probe;
	uint32_t id;

	a->samples++;
	if (!hs_in_code_cache(a->hs, pc))
		return;
	hotspot_walk_begin(a->hs);
	id = hs_code_find(a->hs, pc);
	if (!hotspot_walk_end(a->hs) || !id)
		return;
	c = hs_code(a->hs, id);
	if (c->kind != BLOB_NMETHOD)
		return;
	a->in_nmethods++;
	memset(&probe, 0, sizeof(probe));
	probe.at.code_id = id;
	probe.at.off = (uint32_t)(pc - c->begin);
	HASH_FIND(hh, a->keys, &probe.at, sizeof(probe.at), k);
	if (!k) {
		k = calloc(1, sizeof(*k));
		if (!k)
			return;
		k->at = probe.at;
		HASH_ADD(hh, a->keys, at, sizeof(k->at), k);
	}
	k->count++;
}

static void collect(struct agree *a, struct samples *s, unsigned seconds)
{
	uint64_t end = clock_monotonic_ns() + seconds * 1000000000ull;

	while (clock_monotonic_ns() < end) {
		nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
		mem_new_sample(a->mem);
		samples_drain(s, note_pc, a);
	}
}

/* A copy of the code as it is without the flag. The caller frees records. */
static struct code ordinary(const struct code *full)
{
	struct code c = *full;
	struct code_record *records = calloc(full->n_records + 1, sizeof(*records));

	c.n_records = 0;
	c.n_extra_records = 0;
	for (uint32_t i = 0; records && i < full->n_records; i++)
		if (full->records[i].safepoint)
			records[c.n_records++] = full->records[i];
	c.records = records;
	return c;
}

static void share_add(struct agree *a, uint32_t method, enum rule rule, int64_t count)
{
	struct method_share *m;

	HASH_FIND(hh, a->shares, &method, sizeof(method), m);
	if (!m) {
		m = calloc(1, sizeof(*m));
		if (!m)
			return;
		m->id = method;
		HASH_ADD(hh, a->shares, id, sizeof(m->id), m);
	}
	m->diff[rule] += count;
}

static bool has_inlining(const struct code *c, int major)
{
	struct code_scope scopes[CODE_MAX_SCOPES];

	for (uint32_t i = 0; i < c->n_records; i++)
		if (code_scopes_at(c, major, c->records[i].scope_offset, scopes, CODE_MAX_SCOPES) > 1)
			return true;
	return false;
}

static void compare(struct agree *a, const struct code *full, bool inlining, const struct attributed got[RULES],
		    const struct attributed *truth, uint64_t count, enum evidence_kind kind, int end)
{
	const struct attributed *flow = &got[RULE_FLOW];
	bool in[GROUPS] = {
		[G_ALL] = true,
		[G_C2] = full->tier == TIER_C2 && full->osr_bci < 0,
		[G_OSR] = full->tier == TIER_C2 && full->osr_bci >= 0,
		[G_C1] = full->tier != TIER_C2,
		[G_INLINING] = inlining,
		[G_C2_INLINING] = inlining && full->tier == TIER_C2,
	};

	a->compared += count;
	for (int r = 0; r < RULES; r++) {
		for (int g = 0; g < GROUPS; g++)
			if (in[g])
				score_add(a->hs, &a->scores[g][r], &got[r], truth, count);
		share_add(a, got[r].scope[0].method_id, r, (int64_t)count);
		share_add(a, truth->scope[0].method_id, r, -(int64_t)count);
	}
	score_add(a->hs, &a->by_exactness[end >= 0][flow->exactness], flow, truth, count);
	if (end >= 0 && (flow->exactness == EXACT || flow->exactness == EXACT_FLOW))
		score_add(a->hs, &a->by_end[end], flow, truth, count);
	if (kind != EVIDENCE_KINDS)
		score_add(a->hs, &a->by_evidence[kind], &got[RULE_FLOW], truth, count);
}

/* What evidence the instruction at pc is; EVIDENCE_KINDS: none. */
static enum evidence_kind evidence_at(const struct graph *g, uint32_t pc)
{
	int32_t i = graph_find(g, pc);

	return i >= 0 && g->insns[i].flags & INSN_EVIDENCE ? graph_evidence(g, (uint32_t)i).kind : EVIDENCE_KINDS;
}

static int end_of(struct agree *a, const struct graph *g, uint32_t pc)
{
	int32_t i = graph_find(g, pc);
	struct choice c;

	if (i < 0 || choose(g, &a->scratch, (uint32_t)i, &c))
		return EVIDENCE_KINDS;
	if (c.is_evidence)
		return c.own.kind;
	return c.forward.found && !c.forward.pseudo ? c.forward.kind : EVIDENCE_KINDS;
}

static const char *const evidence_names[] = {"call", "poll", "trap", "slow", "null"};
static const char *const exactness_names[] = {"exact", "flow", "inferred", "approximate"};

static void print_miss(const struct agree *a, const struct code *c, const struct key *k, const struct attributed *got,
		       const struct attributed *truth)
{
	if (got->scope[0].method_id == truth->scope[0].method_id)
		return;
	printf("miss %llu tier %d code %u+0x%x %s\n  got  ", (unsigned long long)k->count, c->tier, c->id, k->at.off,
	       exactness_names[got->exactness]);
	chain_print(a->hs, got);
	printf("\n  truth");
	chain_print(a->hs, truth);
	printf("\n");
}

/* Every pc, also those that the reference says nothing of. */
static void check_foreign(struct agree *a, const struct code *plain, const struct key *k, const struct attributed *got)
{
	a->pcs++;
	if (!names_foreign(a->hs, plain, got))
		return;
	a->foreign++;
	printf("foreign code %u+0x%x", plain->id, k->at.off);
	chain_print(a->hs, got);
	printf("\n");
}

/* What naming costs once the graph is there. */
static void measure_finds(struct agree *a, struct attribution *at, const struct code *plain, const struct key *first,
			  const struct key *end)
{
	uint64_t start = clock_process_cpu_ns();
	struct attributed got;

	for (const struct key *k = first; k != end; k = k->hh.next, a->finds++)
		attribution_find(at, plain, k->at.off, 0, &got);
	a->find_ns += clock_process_cpu_ns() - start;
}

/* All keys of one code; they come sorted by it. */
static void compare_code(struct agree *a, struct attribution *at, const struct decoder *d, struct attribution_env *env,
			 struct key *first, struct key *end)
{
	const struct code *full = hs_code(a->hs, first->at.code_id);
	struct code plain = ordinary(full);
	struct graph *g = NULL;
	struct reference *ref = NULL;
	bool inlining = has_inlining(full, a->major);
	uint64_t start = clock_process_cpu_ns();

	if (graph_new(&plain, env, d, &g) == 0) {
		a->graph_ns += clock_process_cpu_ns() - start;
		a->insns += g->n_insns;
		a->graphs++;
		a->damaged += g->damaged;
		if (g->damaged)
			printf("damaged code %u tier %d\n", plain.id, plain.tier);
		reference_new(full, a->major, g, d, a->raw, &ref);
	}
	for (struct key *k = first; k != end; k = k->hh.next) {
		struct attributed truth, got[RULES];
		bool sure;

		attribution_find(at, &plain, k->at.off, 0, &got[RULE_FLOW]);
		check_foreign(a, &plain, k, &got[RULE_FLOW]);
		if (!ref || !reference_find(ref, k->at.off, &truth, &sure)) {
			a->uncovered += k->count;
			continue;
		}
		address_rule(&plain, a->major, k->at.off, false, &got[RULE_ADDRESS]);
		compare(a, full, inlining, got, &truth, k->count, evidence_at(g, k->at.off),
			sure ? end_of(a, g, k->at.off) : -1);
		if (a->verbose)
			print_miss(a, full, k, &got[RULE_FLOW], &truth);
	}
	measure_finds(a, at, &plain, first, end);
	reference_free(ref);
	graph_free(g);
	free((void *)plain.records);
}

static int key_compare(const struct key *x, const struct key *y)
{
	if (x->at.code_id != y->at.code_id)
		return x->at.code_id < y->at.code_id ? -1 : 1;
	return x->at.off < y->at.off ? -1 : x->at.off > y->at.off;
}

static enum blob_role role_of(void *ctx, uint64_t target)
{
	return hs_code_role(ctx, target);
}

static enum trap_kind trap_of(void *ctx, int32_t request)
{
	return hs_trap_kind(ctx, request);
}

static void compare_all(struct agree *a)
{
	struct attribution_env env = {
		.ctx = a->hs,
		.major = a->major,
		.role = role_of,
		.trap = trap_of,
	};
	struct attribution *at = attribution_new(a->hs, NULL);
	struct decoder *d = decoder_new();

	HASH_SORT(a->keys, key_compare);
	for (struct key *k = a->keys, *end; k && at && d; k = end) {
		for (end = k; end && end->at.code_id == k->at.code_id; end = end->hh.next)
			;
		compare_code(a, at, d, &env, k, end);
	}
	attribution_free(at);
	decoder_free(d);
	choice_scratch_done(&a->scratch);
}

static void print_table(struct agree *a)
{
	uint64_t tv[RULES] = {0};
	struct method_share *m, *tmp;

	printf("samples %llu, in nmethods %llu, compared %llu, without clean record %llu\n",
	       (unsigned long long)a->samples, (unsigned long long)a->in_nmethods, (unsigned long long)a->compared,
	       (unsigned long long)a->uncovered);
	printf("pcs named %llu, after a method that is not there %llu\n", (unsigned long long)a->pcs,
	       (unsigned long long)a->foreign);
	printf("graphs %llu, of damaged code %llu\n", (unsigned long long)a->graphs, (unsigned long long)a->damaged);
	printf("graphs %.1f ns an instruction, then %.0f ns a pc\n",
	       (double)a->graph_ns / (double)(a->insns ? a->insns : 1),
	       (double)a->find_ns / (double)(a->finds ? a->finds : 1));
	printf("%-10s %-11s %6s %7s %6s %6s %6s\n", "code", "rule", "share", "method", "child", "line", "wrong");
	for (int g = 0; g < GROUPS; g++)
		for (int r = 0; r < RULES; r++)
			if (a->scores[g][r].n)
				score_print(group_names[g], rule_names[r], &a->scores[g][r], a->compared);
	for (int sure = 1; sure >= 0; sure--)
		for (int e = 0; e < EXACTNESS_COUNT; e++)
			score_print(sure ? "named" : "no notes", exactness_names[e], &a->by_exactness[sure][e],
				    a->compared);
	for (int e = 0; e < SURE_ENDS; e++)
		score_print("sure by", e < EVIDENCE_KINDS ? evidence_names[e] : "entry", &a->by_end[e], a->compared);
	for (int e = 0; e < EVIDENCE_KINDS; e++)
		score_print("evidence", evidence_names[e], &a->by_evidence[e], a->compared);
	HASH_ITER(hh, a->shares, m, tmp)
	for (int r = 0; r < RULES; r++)
		tv[r] += (uint64_t)(m->diff[r] < 0 ? -m->diff[r] : m->diff[r]);
	for (int r = 0; r < RULES; r++)
		printf("self time of methods, total variation, %s: %.1f points\n", rule_names[r],
		       percent(tv[r] / 2, a->compared));
}

static int open_target(struct agree *a, pid_t pid, struct err *e)
{
	struct proc *proc;
	struct maps *maps;
	int r = proc_open(pid, &proc, e);

	if (r == 0)
		r = mem_live_open(proc, &a->mem, e);
	if (r == 0)
		r = maps_open(proc, NULL, &maps, e);
	if (r == 0)
		r = modmap_open(proc, maps, a->mem, NULL, &a->modmap, e);
	if (r == 0)
		r = hotspot_open(a->mem, libjvm_symbol, a->modmap, &a->hs, e);
	if (r == 0)
		a->major = hotspot_version(a->hs)->major;
	return r;
}

enum { DUMP_RECORDS = 16 };

/* The ordinary records of the C2 code with the most samples, and the roles of its call targets. */
static int dump_hottest(struct agree *a, const char *dir, bool osr)
{
	uint64_t best = 0, n = 0;
	uint32_t id = 0;
	struct code plain;
	char path[4096];
	int r;

	for (struct key *k = a->keys; k; k = k->hh.next) {
		const struct code *c = hs_code(a->hs, k->at.code_id);
		struct key *prev = k->hh.prev;

		n = prev && prev->at.code_id == k->at.code_id ? n + k->count : k->count;
		if (n > best && c->tier == TIER_C2 && (c->osr_bci >= 0) == osr &&
		    c->n_records - c->n_extra_records >= DUMP_RECORDS) {
			best = n;
			id = k->at.code_id;
		}
	}
	if (!id)
		return 0;
	snprintf(path, sizeof(path), "%s/%s.code", dir, osr ? "osr" : "normal");
	plain = ordinary(hs_code(a->hs, id));
	r = dump_code(path, a->major, &plain, role_of, a->hs);
	free((void *)plain.records);
	return r;
}

int main(int argc, char **argv)
{
	struct agree a = {0};
	struct samples *s;
	struct err e = {0};
	const char *dump = NULL;
	int r;

	while (argc > 1 && argv[1][0] == '-') {
		if (!strcmp(argv[1], "-v")) {
			a.verbose = true;
		} else if (!strcmp(argv[1], "--raw")) {
			a.raw = true;
		} else if (!strcmp(argv[1], "--dump") && argc > 2) {
			dump = argv[2];
			argc--;
			argv++;
		}
		argc--;
		argv++;
	}
	if (argc < 3) {
		fprintf(stderr, "usage: attribution_agree [-v] [--raw] [--dump DIR] PID SECONDS [HZ]\n");
		return 2;
	}
	r = open_target(&a, atoi(argv[1]), &e);
	if (r == 0) {
		r = samples_open(atoi(argv[1]), argc > 3 ? (unsigned)atoi(argv[3]) : 1000, &s);
		if (r)
			err_set(&e, r, "perf_event_open: %s", strerror(-r));
	}
	if (r) {
		fprintf(stderr, "attribution_agree: %s\n", e.msg);
		return 1;
	}
	collect(&a, s, (unsigned)atoi(argv[2]));
	samples_close(s);
	compare_all(&a);
	print_table(&a);
	if (dump && (dump_hottest(&a, dump, false) || dump_hottest(&a, dump, true))) {
		fprintf(stderr, "attribution_agree: cannot write %s\n", dump);
		return 1;
	}
	return 0;
}
