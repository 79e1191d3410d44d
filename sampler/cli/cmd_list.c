#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sampler/cli/cmd.h"
#include "sampler/cli/options.h"
#include "sampler/session/inspect.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"
#include "symbolizer/base/vec.h"

typedef VEC(struct inspection) inspections;

static int by_pid(const void *a, const void *b)
{
	const struct inspection *x = a, *y = b;

	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

static int find_jvms(inspections *ret)
{
	DIR *d = opendir("/proc");
	struct inspection i;
	struct dirent *e;

	if (!d)
		return -1;
	while ((e = readdir(d))) {
		pid_t pid = isdigit((unsigned char)e->d_name[0]) ? atoi(e->d_name) : 0;

		if (pid > 0 && pid != getpid() && inspect_process(pid, &i) == 0 &&
		    i.jvm != INSPECT_NO_JVM && !vec_push(ret, i))
			break;
	}
	closedir(d);
	qsort(ret->v, ret->n, sizeof(*ret->v), by_pid);
	return 0;
}

static const char *user_name(uid_t uid, char *buf, size_t size)
{
	struct passwd *pw = getpwuid(uid);

	if (pw)
		snprintf(buf, size, "%s", pw->pw_name);
	else
		snprintf(buf, size, "%u", (unsigned)uid);
	return buf;
}

/* "3d 4h", "5h 12m", "12m 3s": the two largest units. */
static const char *uptime_text(uint64_t s, char *buf, size_t size)
{
	if (s >= 86400)
		snprintf(buf, size, "%" PRIu64 "d %" PRIu64 "h", s / 86400, s / 3600 % 24);
	else if (s >= 3600)
		snprintf(buf, size, "%" PRIu64 "h %" PRIu64 "m", s / 3600, s / 60 % 60);
	else
		snprintf(buf, size, "%" PRIu64 "m %" PRIu64 "s", s / 60, s % 60);
	return buf;
}

static void print_text(const inspections *jvms)
{
	char user[40], up[40];

	printf("%7s %-10s %-14s %8s  %s\n", "PID", "USER", "JDK", "UPTIME", "MAIN (CONTAINER)");
	for (size_t k = 0; k < jvms->n; k++) {
		const struct inspection *i = &jvms->v[k];
		bool in = i->container[0];

		printf("%7d %-10.10s %-14.14s %8s  %s%s%s%s\n", (int)i->pid,
		       user_name(i->uid, user, sizeof(user)), i->release[0] ? i->release : "?",
		       uptime_text(i->uptime_s, up, sizeof(up)), i->main[0] ? i->main : "?",
		       in ? " (" : "", i->container, in ? ")" : "");
	}
}

static json_t *to_json(const struct inspection *i)
{
	char user[40];

	return json_pack("{s:i, s:i, s:s, s:s, s:I, s:s, s:s, s:b}", "pid", (int)i->pid, "ns_pid",
			 (int)i->ns_pid, "user", user_name(i->uid, user, sizeof(user)), "jdk",
			 i->release, "uptime_seconds", (json_int_t)i->uptime_s, "main", i->main,
			 "container", i->container, "readable", i->jvm == INSPECT_JVM);
}

static int print_json(const inspections *jvms)
{
	json_t *list = json_array();
	int r = 0;

	for (size_t k = 0; k < jvms->n; k++)
		r |= json_array_append_new(list, to_json(&jvms->v[k]));
	if (r == 0)
		r = json_dumpf(list, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(list);
	return r;
}

static int parse(int argc, char **argv, bool *json, bool *help, struct err *err)
{
	const struct option_spec *s = NULL;
	int r;

	optind = 0;
	while ((r = option_next(argc, argv, list_option_specs(), &s, err)) == 0 && s) {
		*help |= strcmp(s->name, "help") == 0;
		if (strcmp(s->name, "format") != 0)
			continue;
		*json = strcmp(optarg, "json") == 0;
		if (!*json && strcmp(optarg, "text") != 0)
			return err_set(err, -EINVAL, "-f %.80s: text or json", optarg);
	}
	if (r == 0 && optind < argc)
		r = err_set(err, -EINVAL, "list takes no '%.80s': it shows every JVM", argv[optind]);
	return r;
}

int cmd_list(int argc, char **argv)
{
	char *help_argv[] = {"help", "list", NULL};
	bool json = false, help = false;
	inspections jvms = {0};
	struct err err = {0};
	int r = 0;

	if (parse(argc, argv, &json, &help, &err) < 0) {
		log_error("%s", err.msg);
		return EXIT_USAGE;
	}
	if (help)
		return cmd_help(2, help_argv);
	if (find_jvms(&jvms) < 0) {
		log_error("cannot read /proc: %m");
		return EXIT_FAILED;
	}
	if (json)
		r = print_json(&jvms);
	else if (jvms.n)
		print_text(&jvms);
	else
		log_warn("no JVM that you may see is running");
	vec_done(&jvms);
	return r == 0 ? EXIT_WRITTEN : EXIT_FAILED;
}
