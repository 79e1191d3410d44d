#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sampler/cli/cmd.h"
#include "sampler/cli/daemon/daemon_targets.h"
#include "sampler/cli/options/options.h"
#include "sampler/cli/targets/find_jvms.h"
#include "sampler/inspect/inspect.h"
#include "sampler/output/columns.h"
#include "sampler/rights/descriptors.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/json.h"
#include "symbolizer/base/log.h"
#include "symbolizer/base/user_name.h"
#include "symbolizer/base/vec.h"
#include "symbolizer/target/proc.h"

/* LEFT: width of all columns but the last. */
enum { USER_COLUMNS = 10, JDK_COLUMNS = 14, LEFT = 7 + 1 + USER_COLUMNS + 1 + JDK_COLUMNS + 1 + 8 + 2 };

enum { SAMPLED_MAX = 256 };

struct user {
	uid_t uid;
	char name[40];
};

/* What `list` holds. */
struct listing {
	pid_t *pids;
	size_t n_pids;
	VEC(struct user) users;
	struct found_jvms jvms;
	daemon_targets sampled; /* by the daemon */
};

struct list_options {
	bool json, help;
	const char *socket; /* NULL: not given */
};

static void listing_done(struct listing *l)
{
	free(l->pids);
	vec_done(&l->users);
	found_jvms_done(&l->jvms);
	vec_done(&l->sampled);
}

static const char *listed_user(struct listing *l, uid_t uid)
{
	struct user u = {.uid = uid};

	for (size_t i = 0; i < l->users.n; i++)
		if (l->users.v[i].uid == uid)
			return l->users.v[i].name;
	user_name(uid, u.name, sizeof(u.name));
	return vec_push(&l->users, u) ? l->users.v[l->users.n - 1].name : "?";
}

/* Names of users are looked up before anything is closed. */
static int read_processes(struct listing *l)
{
	int r = proc_others(&l->pids, &l->n_pids);

	for (size_t i = 0; r == 0 && i < l->n_pids; i++) {
		char path[32];
		struct stat st;

		snprintf(path, sizeof(path), "/proc/%d", (int)l->pids[i]);
		if (stat(path, &st) == 0)
			listed_user(l, st.st_uid);
	}
	return r;
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

/* "sampled at 49 Hz for 3h 4m as shop" */
static void sampled_text(const struct daemon_target *t, char *dst, size_t size)
{
	uint64_t now = clock_realtime_ns() / 1000000000;
	char hz[24] = "", since[40];

	if (t->hz > 0)
		snprintf(hz, sizeof(hz), " at %.3g Hz", t->hz);
	snprintf(dst, size, "sampled%s for %s as %s", hz,
		 uptime_text(now > t->since_s ? now - t->since_s : 0, since, sizeof(since)), t->service);
}

/* "abc123def456, bridge": shown in parentheses after the main class. */
static void notes_text(const struct listing *l, const struct inspection *i, char *dst, size_t size)
{
	const struct daemon_target *t = daemon_targets_find(&l->sampled, i->pid);
	char sampled[SAMPLED_MAX] = "";
	const char *notes[] = {i->container, i->bridge ? "bridge" : "", i->silent ? "no answer" : "", sampled};

	if (t)
		sampled_text(t, sampled, sizeof(sampled));

	dst[0] = '\0';
	for (size_t k = 0; k < sizeof(notes) / sizeof(notes[0]); k++)
		if (*notes[k])
			snprintf(dst + strlen(dst), size - strlen(dst), "%s%s", *dst ? ", " : "", notes[k]);
}

static void print_jvm(struct listing *l, const struct inspection *i, size_t width)
{
	char up[40], who[16], jdk[24], notes[sizeof(i->container) + 32 + SAMPLED_MAX];
	char what[sizeof(i->main) + sizeof(notes)];
	size_t room = width > LEFT ? width - LEFT : SIZE_MAX, tail;
	bool in;

	notes_text(l, i, notes, sizeof(notes));
	in = notes[0];
	tail = in ? columns_of(notes) + 3 : 0;
	columns_fit(who, sizeof(who), listed_user(l, i->uid), USER_COLUMNS, false);
	columns_fit(jdk, sizeof(jdk), i->release[0] ? i->release : "?", JDK_COLUMNS, false);
	columns_fit(what, sizeof(what), i->main[0] ? i->main : "?", room > tail ? room - tail : 8, true);
	printf("%7d %-*s %-*s %8s  %s%s%s%s\n", (int)i->pid, USER_COLUMNS, who, JDK_COLUMNS, jdk,
	       uptime_text(i->uptime_s, up, sizeof(up)), what, in ? " (" : "", notes, in ? ")" : "");
}

/* Lines are cut to a terminal's width, but complete in a pipe. */
static void print_text(struct listing *l)
{
	size_t width = columns_of_terminal(STDOUT_FILENO);

	printf("%7s %-*s %-*s %8s  %s\n", "PID", USER_COLUMNS, "USER", JDK_COLUMNS, "JDK", "UPTIME",
	       "MAIN (CONTAINER)");
	for (size_t k = 0; k < l->jvms.n; k++)
		print_jvm(l, &l->jvms.v[k], width);
}

static void put_sampled(const struct daemon_target *t, struct json *j)
{
	char hz[24];

	json_key(j, "daemon");
	if (!t)
		return json_raw(j, "null");
	snprintf(hz, sizeof(hz), "%.4g", t->hz);
	json_open(j, '{');
	json_member_text(j, "service", t->service);
	json_member_uint(j, "since", t->since_s);
	json_key(j, "hz");
	json_raw(j, hz);
	json_close(j, '}');
}

static void put_json(struct listing *l, const struct inspection *i, struct json *j)
{
	json_open(j, '{');
	json_member_uint(j, "pid", (uint64_t)i->pid);
	json_member_uint(j, "ns_pid", (uint64_t)i->ns_pid);
	json_member_text(j, "user", listed_user(l, i->uid));
	json_member_text(j, "jdk", i->release);
	json_member_uint(j, "uptime_seconds", (uint64_t)i->uptime_s);
	json_member_text(j, "main", i->main);
	json_member_text(j, "container", i->container);
	json_member_bool(j, "readable", i->jvm == INSPECT_JVM);
	json_member_bool(j, "bridge", i->bridge);
	json_member_bool(j, "answered", !i->silent);
	put_sampled(daemon_targets_find(&l->sampled, i->pid), j);
	json_close(j, '}');
}

static int print_json(struct listing *l)
{
	struct json j = {.out = stdout, .indent = 2};

	json_open(&j, '[');
	for (size_t k = 0; k < l->jvms.n; k++)
		put_json(l, &l->jvms.v[k], &j);
	json_close(&j, ']');
	putchar('\n');
	return ferror(stdout) ? -1 : 0;
}

static int parse(int argc, char **argv, struct list_options *o, struct err *err)
{
	const struct option_spec *s = NULL;
	int r;

	optind = 0;
	while ((r = option_next(argc, argv, list_option_specs, &s, err)) == 0 && s) {
		o->help |= strcmp(s->name, "help") == 0;
		o->json |= strcmp(s->name, "json") == 0;
		if (strcmp(s->name, "socket") == 0)
			o->socket = optarg;
		if (strcmp(s->name, "format") != 0)
			continue;
		o->json = strcmp(optarg, "json") == 0;
		if (!o->json && strcmp(optarg, "text") != 0)
			return err_set(err, -EINVAL, "-f %.80s: text or json", optarg);
	}
	if (r == 0 && optind < argc)
		r = err_set(err, -EINVAL, "list takes no argument '%.80s': it shows every JVM", argv[optind]);
	return r;
}

static int read_all(struct listing *l, const char *socket, struct err *err)
{
	int r;

	descriptors_raise();
	if ((r = descriptors_check(err)) < 0)
		return r;
	r = read_processes(l);
	if (r < 0)
		return err_set(err, r, "cannot read /proc: %s; is it mounted?", strerror(-r));
	daemon_targets_read(socket, &l->sampled);
	r = find_jvms(l->pids, l->n_pids, &l->jvms, err);
	if (r == 0 && l->jvms.left)
		log_warn("%zu processes were left out: others took too long to read", l->jvms.left);
	return r;
}

static int print(struct listing *l, bool json)
{
	int r = 0;

	if (json)
		r = print_json(l);
	else if (l->jvms.n)
		print_text(l);
	else
		log_warn("no running JVM is visible to you%s", proc_own_pids_advice());
	return cmd_end(r);
}

int cmd_list(int argc, char **argv)
{
	struct list_options o = {0};
	struct listing l = {0};
	struct err err = {0};
	int status;

	if (parse(argc, argv, &o, &err) < 0)
		return cmd_fail(EXIT_USAGE, &err);
	if (o.help)
		return cmd_help_on("list");
	status = read_all(&l, o.socket, &err) < 0 ? cmd_fail(EXIT_FAILED, &err) : print(&l, o.json);
	listing_done(&l);
	return status;
}
