#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sampler/daemon/config/config.h"
#include "sampler/daemon/config/config_keys.h"
#include "sampler/daemon/rules/rules.h"
#include "symbolizer/base/err.h"

static char said[20000];

static void say(void *ctx, const char *problem)
{
	(void)ctx;
	strncat(said, problem, sizeof(said) - strlen(said) - 2);
	strcat(said, "\n");
}

static int parse(const char *text, struct config **ret)
{
	said[0] = '\0';
	*ret = NULL;
	return config_parse("f", text, strlen(text), say, NULL, ret);
}

static void defaults(void **state)
{
	struct config *c;

	(void)state;
	assert_int_equal(parse("# nothing\n\n ; at all\n", &c), 0);
	assert_int_equal(c->frequency, 49);
	assert_int_equal(c->cpu_limit, 10000);
	assert_int_equal(c->ring_bytes, 32 << 20);
	assert_string_equal(c->directory, "/var/lib/jsampler");
	assert_string_equal(c->user, "jsampler");
	assert_true(c->keep_ns[0] == 48 * UINT64_C(3600000000000) &&
		    c->keep_ns[2] == 30 * 24 * UINT64_C(3600000000000));
	assert_true(c->max_bytes == UINT64_C(5) << 30);
	assert_int_equal(c->min_free, 50000);
	assert_string_equal(c->socket, "/run/jsampler/jsampler.sock");
	assert_string_equal(c->group, "jsampler");
	assert_true(!*c->listen && !*c->token_file);
	assert_int_equal(rules_count(c->rules), 0);
	config_free(c);
}

#define SERVICE FIXTURES "/../../packaging/service/"

/* The file that packages install has every key with its default, and the manual page has, too. */
static void what_is_shipped(void **state)
{
	static char man[65536], line[500];
	FILE *conf = fopen(SERVICE "jsampler.conf", "re"), *page = fopen(SERVICE "jsampler.conf.5", "re");
	struct config *by_default, shipped = {0};
	char section[20] = "", key[40], value[100], entry[200];
	bool seen[CONFIG_KEYS] = {false};

	(void)state;
	assert_non_null(conf);
	assert_non_null(page);
	assert_in_range(fread(man, 1, sizeof(man) - 1, page), 1, sizeof(man) - 2);
	fclose(page);
	assert_int_equal(parse("", &by_default), 0);
	while (fgets(line, sizeof(line), conf) && strncmp(line, "#[rule", 6) != 0) {
		struct err err = {0};
		int i, n = sscanf(line, "#%39[a-z_0-9] = %99s", key, value);

		if (sscanf(line, "[%19[a-z]]", section) == 1 || n < 1 || !strchr(line, '='))
			continue;
		i = config_key_find(section, key, &err);
		assert_string_equal(err.msg, "");
		seen[i] = true;
		snprintf(entry, sizeof(entry), "%s \" (%s)", key, n == 2 ? value : "none");
		if (!strstr(man, entry))
			fail_msg("jsampler.conf.5 lacks %s", entry);
		if (n == 2)
			assert_int_equal(config_key_set(&shipped, i, value, &err), 0);
	}
	fclose(conf);
	for (int i = 0; i < CONFIG_KEYS; i++)
		if (!seen[i])
			fail_msg("jsampler.conf lacks a key, number %d in config_keys.c", i);
	assert_memory_equal(&shipped, by_default, offsetof(struct config, rules));
	config_free(by_default);
}

static void settings(void **state)
{
	static const char text[] =
		"[sampling]\r\nfrequency=99\r\n\tcpu_limit =\t0.5% \n[store]\ndirectory = /a b/c\nkeep_10s = 1.5d\n"
		"command_lines = no\nmin_free = 12.34%\n[http]\nlisten = [::1]:80\ntoken_file = /t\n"
		"[sampling]\nring = 1G";
	struct config *c;

	(void)state;
	assert_int_equal(parse(text, &c), 0);
	assert_int_equal(c->frequency, 99);
	assert_int_equal(c->cpu_limit, 5000);
	assert_string_equal(c->directory, "/a b/c");
	assert_true(c->keep_ns[0] == 36 * UINT64_C(3600000000000));
	assert_int_equal(c->min_free, 123400);
	assert_string_equal(c->listen, "[::1]:80");
	assert_true(c->ring_bytes == 1 << 30);
	config_free(c);
}

static void rules(void **state)
{
	static const char text[] =
		"[rule builds]\nuser = jenkins\nsample = no\n"
		"[rule shop]\nservice = shop-*\nsample = yes\npod = ?*\nfrequency = 19\nengine = suspend\nwall = no\n"
		"label.team = payments = ours\n"
		"[rule db]\nservice = db\nwall = yes\n";
	static const struct label build[] = {{"user", "jenkins"}, {"service", "shop-eu"}};
	static const struct label shop[] = {{"user", "x"}, {"service", "shop-eu"}, {"pod", "p"}};
	static const struct label db[] = {{"service", "db"}};
	struct rule_choice choice;
	struct config *c;

	(void)state;
	assert_int_equal(parse(text, &c), 0);
	choice = rules_choose(c->rules, build, 2);
	assert_true(choice.leave_out);
	choice = rules_choose(c->rules, shop, 3);
	assert_string_equal(choice.rule, "shop");
	assert_true(!choice.leave_out && choice.frequency == 19 && choice.suspend && !choice.wall);
	assert_true(rules_suspend(c->rules) && rules_wall(c->rules));
	assert_true(rules_choose(c->rules, db, 1).wall);
	assert_int_equal(choice.n_labels, 1);
	assert_string_equal(choice.labels[0].key, "team");
	assert_string_equal(choice.labels[0].value, "payments = ours");
	assert_null(rules_choose(c->rules, shop, 2).rule);
	config_free(c);
}

/* Each text has one problem, which is reported with its line, its key and what would be right. */
static void problems(void **state)
{
	static const char *const rows[][2] = {
		{"[sampling]\nfreqency = 1\n", "f:2: freqency: there is no such key in [sampling]; there are "
					       "frequency, cpu_limit, ring, captures, isolate\n"},
		{"[sample]\nx = 1\n",
		 "f:1: [sample]: there is no such section; there are [sampling], [store], [http] and [rule NAME]\n"},
		{"[sampling x]\n", "f:1: [sampling x]: this section has no name; write [sampling]\n"},
		{"frequency = 49\n", "f:1: frequency: it must be below a heading such as [sampling]\n"},
		{"[sampling]\nfrequency = 4\n",
		 "f:2: frequency = 4: it takes samples for each second of CPU time, from 5 to 1000\n"},
		{"[sampling]\nfrequency = 49 # Hz\n", "f:2: frequency = 49 # Hz: it takes samples for each second of "
						      "CPU time, from 5 to 1000 (a comment needs a line of its own)\n"},
		{"[sampling]\nfrequency = 9\nring = 2M\nfrequency = 9\n",
		 "f:4: frequency: it is in line 2 already; remove one of them\n"},
		{"[sampling]\ncpu_limit = 1\n",
		 "f:2: cpu_limit = 1: it takes a share of one core, from 0.1% to 100%\n"},
		{"[sampling]\ncpu_limit = 0.01%\n",
		 "f:2: cpu_limit = 0.01%: it takes a share of one core, from 0.1% to 100%\n"},
		{"[sampling]\ncpu_limit = 1s%\n",
		 "f:2: cpu_limit = 1s%: it takes a share of one core, from 0.1% to 100%\n"},
		{"[sampling]\nfrequency =\n",
		 "f:2: frequency: the value is missing; to use the default, leave out the line\n"},
		{"[sampling]\nfrequency\n", "f:2: 'frequency': neither '[section]' nor 'key = value'\n"},
		{"[sampling]\n = 1\n", "f:2: a value without a key\n"},
		{"[sampling\n", "f:1: '[sampling': a heading is '[section]' and nothing else\n"},
		{"[sampling] x\n", "f:1: '[sampling] x': a heading is '[section]' and nothing else\n"},
		{"[ ]\n", "f:1: a heading without a name\n"},
		{"[store]\ndirectory = var\n", "f:2: directory = var: it takes an absolute path\n"},
		{"[store]\nkeep_10s = 400d\n", "f:2: keep_10s = 400d: it takes a time from 1h to 366d\n"},
		{"[store]\nkeep_10s = 213505d\n", "f:2: keep_10s = 213505d: it takes a time from 1h to 366d\n"},
		{"[store]\nkeep_10s = 10m\n", "f:2: keep_10s = 10m: it takes a time from 1h to 366d\n"},
		{"[store]\nkeep_10s = 8d\n",
		 "f: [store]: keep_10s must not be longer than keep_1min, nor keep_1min longer than keep_10min\n"},
		{"[store]\ncommand_lines = yes\n", "f:2: command_lines = yes: it takes no: they are not stored yet\n"},
		{"[store]\nmax_size = 1M\n", "f:2: max_size = 1M: it takes a size from 16M on\n"},
		{"[http]\nlisten = localhost:80\n",
		 "f:2: listen = localhost:80: it takes an address and a port, such as 127.0.0.1:7117 or [::1]:7117\n"},
		{"[http]\nlisten = 127.0.0.1:65536\n", "f:2: listen = 127.0.0.1:65536: it takes an address and a port, "
						       "such as 127.0.0.1:7117 or [::1]:7117\n"},
		{"[http]\nlisten = ::1:80\n",
		 "f:2: listen = ::1:80: it takes an address and a port, such as 127.0.0.1:7117 or [::1]:7117\n"},
		{"[http]\nlisten = 0.0.0.0:80\n",
		 "f: [http]: listen = 0.0.0.0:80: other hosts could reach it, and there is no TLS yet; use 127.0.0.1 "
		 "or [::1]\n"},
		{"[http]\nlisten = [2001:db8::1]:80\ntoken_file = /t\n",
		 "f: [http]: listen = [2001:db8::1]:80: other hosts could reach it, and there is no TLS yet; use "
		 "127.0.0.1 or [::1]\n"},
		{"[http]\nlisten = 127.0.0.1:7117\n",
		 "f: [http]: listen = 127.0.0.1:7117: every local user can reach it, so it needs token_file\n"},
		{"[rule]\n", "f:1: [rule]: a rule needs a name: [rule NAME]\n"},
		{"[rule a b]\n", "f:1: [rule a b]: a name has up to 64 letters, digits, '_', '-' and '.'\n"},
		{"[rule a]\n[rule a]\nsample = x\n", "f:2: there is a rule 'a' already, in f:1\n"},
		{"[rule a]\nsample = maybe\n", "f:2: sample = maybe: it takes yes or no\n"},
		{"[rule a]\nsample = no\nsample = no\n",
		 "f:3: sample: it is in this rule already; remove one of them\n"},
		{"[rule a]\nuser = a\nuser = b\n", "f:3: user: it is in this rule already; remove one of them\n"},
		{"[rule a]\nfrequency = 1001\n",
		 "f:2: frequency = 1001: it takes samples for each second of CPU time, from 1 to 1000\n"},
		{"[rule a]\nengine = ptrace\n", "f:2: engine = ptrace: it takes perf or suspend\n"},
		{"[rule a]\nwall = 1\n", "f:2: wall = 1: it takes yes or no\n"},
		{"[rule a]\nwall = yes\nengine = suspend\n",
		 "f:3: engine = suspend and wall = yes: only one process can stop the threads of a JVM\n"},
		{"[rule a]\nuser = a\\\n", "f:2: user: 'a\\' ends with a backslash; '\\\\' stands for one\n"},
		{"[rule a]\nlabel.service = x\n",
		 "f:2: label.service: jsampler gives this label itself; choose another name\n"},
		{"[rule a]\nlabel. = x\n", "f:2: label.: a name has up to 64 letters, digits, '_', '-' and '.'\n"},
		{"[sampling]\nring = \x1b[2J\n", "f:2: the line is not valid UTF-8\n"},
		{"[sampling]\nring = \xff\n", "f:2: the line is not valid UTF-8\n"},
	};
	struct config *c;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_int_equal(parse(rows[i][0], &c), -EINVAL);
		assert_null(c);
		assert_string_equal(said, rows[i][1]);
	}
	assert_int_equal(parse("[rule a]\nusr = x\n", &c), -EINVAL);
	assert_non_null(strstr(
		said,
		"f:2: usr: there is no such key in a rule; there are sample, frequency, engine, wall, service, "));
	assert_int_equal(config_parse("f", "[store]\ndirectory = /a\0b\n", 25, say, NULL, &c), -EINVAL);
}

/* All are told, up to a number that fits a screen. */
static void many(void **state)
{
	static char text[1 << 20];
	struct config *c;
	size_t lines = 0;

	(void)state;
	assert_int_equal(parse("[x]\na = 1\n[sampling]\nfrequency = 1\nring = 0\n", &c), -EINVAL);
	assert_string_equal(
		said, "f:1: [x]: there is no such section; there are [sampling], [store], [http] and [rule NAME]\n"
		      "f:4: frequency = 1: it takes samples for each second of CPU time, from 5 to 1000\n"
		      "f:5: ring = 0: it takes memory for the last hour, from 1M to 1G\n");
	for (size_t i = 0; i + 2 < sizeof(text); i += 2)
		memcpy(text + i, "x\n", 2);
	assert_int_equal(parse(text, &c), -EINVAL);
	for (const char *s = said; (s = strchr(s, '\n')); s++)
		lines++;
	assert_int_equal(lines, 21);
	memset(text, '#', sizeof(text) - 1);
	text[4096] = '\n';
	text[4097 + 4097] = '\0';
	assert_int_equal(parse(text, &c), -EINVAL);
	assert_string_equal(said, "f:2: the line is too long; a line has at most 4096 bytes\n");
	for (size_t i = 0, n = 0; n < 201; n++)
		i += (size_t)sprintf(text + i, "[rule r%zu]\n", n);
	assert_int_equal(parse(text, &c), -EINVAL);
	assert_string_equal(said, "f:201: there are at most 200 rules\n");
}

static char dir[] = "/tmp/jsampler-test-config-XXXXXX";

static const char *in_dir(const char *name)
{
	static char path[4][200];
	static unsigned i;
	char *p = path[i++ % 4];

	snprintf(p, sizeof(path[0]), "%s/%s", dir, name);
	return p;
}

static void put(const char *name, const char *text)
{
	FILE *f = fopen(in_dir(name), "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int load(struct config **ret)
{
	said[0] = '\0';
	*ret = NULL;
	return config_load(in_dir("jsampler.conf"), say, NULL, ret);
}

static int set_up(void **state)
{
	(void)state;
	umask(022);
	return !mkdtemp(dir) || mkdir(in_dir("conf.d"), 0755) < 0;
}

static int clean_up(void **state)
{
	static const char *const names[] = {"conf.d/a.conf", "conf.d/b.conf", "conf.d/.c.conf", "conf.d/d.txt",
					    "conf.d/e.conf", "conf.d",        "jsampler.conf"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		remove(in_dir(names[i]));
	return rmdir(dir);
}

static void files(void **state)
{
	struct config *c;

	(void)state;
	assert_int_equal(load(&c), -EINVAL);
	assert_non_null(strstr(said, "/jsampler.conf: cannot open it: No such file or directory\n"));
	put("jsampler.conf", "[sampling]\nfrequency = 19\ncpu_limit = 2%\n[rule a]\n");
	put("conf.d/b.conf", "[sampling]\nfrequency = 29\n[rule c]\n");
	put("conf.d/a.conf", "[sampling]\nfrequency = 39\n[rule b]\n");
	put("conf.d/.c.conf", "nonsense");
	put("conf.d/d.txt", "nonsense");
	assert_int_equal(load(&c), 0);
	assert_int_equal(c->frequency, 29);
	assert_int_equal(c->cpu_limit, 20000);
	assert_int_equal(rules_count(c->rules), 3);
	config_free(c);
	put("conf.d/b.conf", "[rule a]\n");
	assert_int_equal(load(&c), -EINVAL);
	assert_non_null(strstr(said, "/conf.d/b.conf:1: there is a rule 'a' already, in /tmp/"));
	unlink(in_dir("conf.d/b.conf"));
}

/* What is no file of ours is not waited for, nor believed. */
static void foreign_files(void **state)
{
	struct config *c;

	(void)state;
	put("jsampler.conf", "");
	put("conf.d/a.conf", "");
	assert_int_equal(mkfifo(in_dir("conf.d/e.conf"), 0600), 0);
	assert_int_equal(load(&c), -EINVAL);
	assert_non_null(strstr(said, "/conf.d/e.conf: it is not a regular file\n"));
	unlink(in_dir("conf.d/e.conf"));
	assert_int_equal(chmod(in_dir("conf.d/a.conf"), 0646), 0);
	assert_int_equal(load(&c), -EINVAL);
	assert_non_null(strstr(said, "/conf.d/a.conf: others may write to it; use chmod go-w\n"));
	assert_int_equal(chmod(in_dir("conf.d/a.conf"), 0644), 0);
	assert_int_equal(load(&c), 0);
	config_free(c);
	if (geteuid() == 0) {
		assert_int_equal(chown(in_dir("conf.d/a.conf"), 65534, 65534), 0);
		assert_int_equal(load(&c), -EINVAL);
		assert_non_null(strstr(said, "it belongs to another user (uid 65534); chown it to root\n"));
		assert_int_equal(chown(in_dir("conf.d/a.conf"), 0, 0), 0);
	}
	assert_int_equal(truncate(in_dir("conf.d/a.conf"), (256 << 10) + 1), 0);
	assert_int_equal(load(&c), -EINVAL);
	assert_non_null(strstr(said, "it is larger than 256 KB\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults),      cmocka_unit_test(settings),
		cmocka_unit_test(rules),         cmocka_unit_test(problems),
		cmocka_unit_test(many),          cmocka_unit_test(files),
		cmocka_unit_test(foreign_files), cmocka_unit_test(what_is_shipped),
	};

	return cmocka_run_group_tests(tests, set_up, clean_up);
}
