#ifndef JS_CONFIG_CONFIG_H
#define JS_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rules;

/*
 * The daemon's configuration: /etc/jsampler/jsampler.conf, then conf.d/NAME.conf next to it, sorted by name. A
 * setting in a later file replaces an earlier one; rules are appended. ini.h describes the syntax, the table in
 * config_keys.c the settings. Below [rule NAME], the key of a label (identity.h) is a condition, whose value is a
 * pattern (glob.h); other keys say what to do:
 *
 * [rule no-builds]
 * user = jenkins
 * sample = no
 *
 * [rule shop]
 * service = shop-*
 * frequency = 99
 * label.team = payments
 */
enum { CONFIG_STEPS = 3, CONFIG_PATH_MAX = 1024 };

struct config {
	/* [sampling] */
	uint64_t frequency; /* Hz */
	uint64_t cpu_limit; /* millionths of one core: 10,000 is 1 % */
	uint64_t ring_bytes; /* for the last hour */
	uint64_t captures; /* at the same time */
	bool isolate; /* a process for each JVM */
	/* [store] */
	char directory[CONFIG_PATH_MAX];
	char user[64]; /* who owns it: a name or a number */
	uint64_t keep_ns[CONFIG_STEPS]; /* 10 s, 1 min, 10 min */
	uint64_t max_bytes;
	uint64_t min_free; /* millionths of the file system */
	/* [http]; "": not used */
	char socket[108]; /* the size of sun_path */
	char group[64];
	char listen[64]; /* 127.0.0.1:7117, [::1]:7117 */
	char token_file[CONFIG_PATH_MAX];
	struct rules *rules;
};

/* A problem as a sentence: file and line, what is wrong, and what would be right. */
typedef void config_problem_fn(void *ctx, const char *problem);

/*
 * Reads all files, and reports every problem, so that they can be fixed in one go. -EINVAL: there was one; *ret is
 * unchanged, so the present configuration can stay in force. A file that others may write is a problem.
 */
int config_load(const char *path, config_problem_fn *problem, void *ctx, struct config **ret);

/* Likewise for one text in memory; `file` is its name in messages. */
int config_parse(const char *file, const char *text, size_t len, config_problem_fn *problem, void *ctx,
		 struct config **ret);
void config_free(struct config *c);

#endif
