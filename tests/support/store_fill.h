#ifndef JS_TESTS_STORE_FILL_H
#define JS_TESTS_STORE_FILL_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sampler/model/named_profile.h"
#include "sampler/profile/named_builder.h"
#include "sampler/store/store.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"

/* 2026-11-24 00:00:00 UTC */
#define MIDNIGHT UINT64_C(1795478400)
#define SECOND UINT64_C(1000000000)

enum { STORE_TEST_PERIOD = 20408163 }; /* 49 Hz */

static inline void store_test_dir(char dst[64])
{
	strcpy(dst, "/tmp/jsampler-store-XXXXXX");
	if (!mkdtemp(dst))
		abort();
	log_set_level(LOG_LEVEL_QUIET);
}

static inline void store_test_remove(const char *dir)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	if (system(command) != 0)
		abort();
}

/* One sample of a.run > b.hash, which calls a method that is different for each `which`. */
static inline struct named_profile *store_test_profile(uint64_t at_s, uint32_t which, uint64_t count)
{
	struct named_builder *b = named_builder_new();
	char name[32];
	uint32_t jit = named_builder_mapping(b, "[jit]", ""), at[2];
	struct named_line leaf = {.line = 5, .bci = -1, .kind = NAMED_INTERPRETED};
	struct named_line compiled[] = {
		{.line = 12, .bci = -1, .kind = NAMED_INLINED, .tier = 4, .exactness = 2},
		{.line = 7, .bci = -1, .kind = NAMED_C2, .tier = 4, .exactness = 1, .osr = true}};
	struct named_sample s = {.count = count, .weight = count * STORE_TEST_PERIOD};

	snprintf(name, sizeof(name), "c/C.m%u", which);
	leaf.function = named_builder_function(b, name, "m()V", "C.java");
	compiled[0].function = named_builder_function(b, "b/B.hash", "hash(I)I", "B.java");
	compiled[1].function = named_builder_function(b, "a/A.run", "run()V", "A.java");
	at[0] = named_builder_location(b, jit, 0, &leaf, 1);
	at[1] = named_builder_location(b, jit, 0, compiled, 2);
	s.stack = named_builder_stack(b, at, 2);
	s.thread = named_builder_string(b, "http-nio-8080-exec-12");
	named_builder_sample(b, &s);
	named_builder_meta(b)->event = named_builder_keep(b, "cpu");
	named_builder_meta(b)->unit = named_builder_keep(b, "nanoseconds");
	named_builder_meta(b)->period = STORE_TEST_PERIOD;
	named_builder_meta(b)->complete = count;
	named_builder_meta(b)->start_realtime_ns = at_s * SECOND;
	return named_builder_take(b);
}

static inline struct store_target store_test_target(pid_t pid)
{
	static const struct label shop[] = {{"service", "shop"}, {"jdk", "25.0.3"}, {"main", "com.acme.Shop"}};
	static const struct label bank[] = {{"service", "bank"}, {"jdk", "17.0.1"}, {"main", "com.acme.Bank"}};

	return (struct store_target){.boot_id = "7c1f",
				     .pid = pid,
				     .start_ticks = 4711,
				     .since_ns = MIDNIGHT * SECOND,
				     .labels = pid % 2 ? shop : bank,
				     .n_labels = 3};
}

/* 0, or what failed. */
static inline int store_test_add(struct store *s, pid_t pid, uint64_t at_s, uint32_t which, uint64_t count)
{
	struct store_target t = store_test_target(pid);
	struct named_profile *np = store_test_profile(at_s, which, count);
	int r = store_add(s, &t, np, NULL);

	named_profile_free(np);
	return r;
}

static inline int store_test_read(const char *dir, uint64_t from_s, uint64_t to_s, const char *service,
				  struct named_profile **ret)
{
	struct label label = {"service", service};
	struct store_query q = {.from_ns = from_s * SECOND,
				.to_ns = to_s * SECOND,
				.event = "cpu",
				.labels = &label,
				.n_labels = service != NULL};
	struct store_view *v = NULL;
	int r = store_view_open(dir, &q, &v, NULL);

	if (r == 0)
		r = store_view_read(v, ret, NULL);
	store_view_close(v);
	return r;
}

/* Samples of a range; 0: none, or it cannot be read. */
static inline uint64_t store_test_count(const char *dir, uint64_t from_s, uint64_t to_s, const char *service)
{
	struct named_profile *np = NULL;
	uint64_t n = 0;

	if (store_test_read(dir, from_s, to_s, service, &np) < 0)
		return 0;
	for (uint32_t i = 0; i < np->n_samples; i++)
		n += np->samples[i].count;
	named_profile_free(np);
	return n;
}

#endif
