#ifndef JS_CONFIG_CONFIG_H
#define JS_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rules;

/*
 * The daemon's configuration: /etc/jsampler/jsampler.conf, then conf.d/NAME.conf beside it in the order of their names. A setting in
 * a later file replaces that of an earlier one; rules are put behind those that are there. The lines are those of ini.h; the
 * settings are in the table of config_keys.c. Below [rule NAME], the key of a label (identity.h) is a condition, whose value is a
 * pattern (glob.h), and the others say what is done:
 *
 *	[rule no-builds]
 *	user = jenkins
 *	sample = no
 *
 *	[rule shop]
 *	service = shop-*
 *	frequency = 99
 *	label.team = payments
 */
enum { CONFIG_STEPS = 3, CONFIG_PATH_MAX = 1024 };

struct config {
	/* [sampling] */
	uint64_t frequency; /* Hz */
	uint64_t cpu_limit; /* of one core, in millionths: 10,000 is 1 % */
	uint64_t ring_bytes; /* for the last hour */
	/* [store] */
	char directory[CONFIG_PATH_MAX];
	uint64_t keep_ns[CONFIG_STEPS]; /* 10 s, 1 min, 10 min */
	uint64_t max_bytes;
	uint64_t min_free; /* of the file system, in millionths */
	bool command_lines, environments; /* are stored; they may hold secrets */
	/* [http]; "": not used */
	char socket[108]; /* as long as an address can be */
	char group[64];
	char listen[64]; /* 127.0.0.1:7117, [::1]:7117 */
	char token_file[CONFIG_PATH_MAX], certificate[CONFIG_PATH_MAX], certificate_key[CONFIG_PATH_MAX];
	struct rules *rules;
};

/* A problem, as a sentence that names file and line, what is wrong, and what would be right. */
typedef void config_problem_fn(void *ctx, const char *problem);

/*
 * Reads all files. Every problem is told, so that a person need not look for the next one. -EINVAL: there was one, *ret stays as
 * it was, and the configuration in force can stay in force. A file that everybody may write is a problem.
 */
int config_load(const char *path, config_problem_fn *problem, void *ctx, struct config **ret);

/* The same of one text in memory; `file` stands for its name. */
int config_parse(const char *file, const char *text, size_t len, config_problem_fn *problem, void *ctx,
		 struct config **ret);
void config_free(struct config *c);

#endif
