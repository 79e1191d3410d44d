#include "sampler/daemon/config/config_keys.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "symbolizer/base/buf.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/parse.h"

typedef int set_fn(void *field, size_t size, uint64_t min, uint64_t max, const char *value);

/* "1%", "0.5%" -> millionths */
static int set_percent(void *field, size_t size, uint64_t min, uint64_t max, const char *value)
{
	char number[16];
	size_t n = strlen(value);
	uint64_t ns;

	(void)size;
	if (n < 2 || n > sizeof(number) || value[n - 1] != '%' || value[n - 2] < '0' || value[n - 2] > '9')
		return -EINVAL;
	memcpy(number, value, n - 1);
	number[n - 1] = '\0';
	/* Parsed as seconds, 1e9 ns; 1 % is 10,000 millionths. */
	if (parse_duration(number, &ns) < 0)
		return -EINVAL;
	ns /= 100000;
	if (ns < min || ns > max)
		return -ERANGE;
	*(uint64_t *)field = ns;
	return 0;
}

static int set_number(void *field, size_t size, uint64_t min, uint64_t max, const char *value)
{
	(void)size;
	return parse_u64(value, min, max, field);
}

static int set_bytes(void *field, size_t size, uint64_t min, uint64_t max, const char *value)
{
	uint64_t bytes;
	int r = parse_size(value, &bytes);

	(void)size;
	if (r < 0 || bytes < min || bytes > max)
		return r < 0 ? r : -ERANGE;
	*(uint64_t *)field = bytes;
	return 0;
}

/* Also takes days, which parse_duration() does not, as it is for recordings. */
static int set_duration(void *field, size_t size, uint64_t min, uint64_t max, const char *value)
{
	char hours[24];
	size_t n = strlen(value);
	uint64_t ns, factor = 1;
	int r;

	(void)size;
	if (n > 1 && n < sizeof(hours) && value[n - 1] == 'd') {
		snprintf(hours, sizeof(hours), "%.*sh", (int)(n - 1), value);
		value = hours;
		factor = 24;
	}
	r = parse_duration(value, &ns);
	if (r < 0)
		return r;
	if (ns > max / factor || ns * factor < min)
		return -ERANGE;
	*(uint64_t *)field = ns * factor;
	return 0;
}

int config_parse_bool(const char *value, bool *ret)
{
	if (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)
		return -EINVAL;
	*ret = *value == 'y';
	return 0;
}

static int set_bool(void *field, size_t size, uint64_t min, uint64_t max, const char *value)
{
	(void)size, (void)min, (void)max;
	return config_parse_bool(value, field);
}

/* Keys that are planned, but not implemented. */
static int set_no(void *field, size_t size, uint64_t min, uint64_t max, const char *value)
{
	(void)field, (void)size, (void)min, (void)max;
	return strcmp(value, "no") == 0 ? 0 : -EINVAL;
}

static int set_text(void *field, size_t size, uint64_t min, uint64_t max, const char *value)
{
	(void)min, (void)max;
	if (strlen(value) >= size)
		return -ERANGE;
	snprintf(field, size, "%s", value);
	return 0;
}

static int set_path(void *field, size_t size, uint64_t min, uint64_t max, const char *value)
{
	return *value == '/' ? set_text(field, size, min, max, value) : -EINVAL;
}

/* "127.0.0.1:7117" or "[::1]:7117". *ret_local: reachable only from this host. */
static int parse_address(const char *value, bool *ret_local)
{
	const char *colon = strrchr(value, ':');
	char host[INET6_ADDRSTRLEN + 2];
	struct in6_addr six;
	struct in_addr four;
	uint64_t port;
	size_t n = colon ? (size_t)(colon - value) : 0;

	if (!n || n >= sizeof(host) || parse_u64(colon + 1, 1, 65535, &port) < 0)
		return -EINVAL;
	memcpy(host, value, n);
	host[n] = '\0';
	if (inet_pton(AF_INET, host, &four) == 1) {
		*ret_local = ntohl(four.s_addr) >> 24 == 127;
		return 0;
	}
	if (host[0] != '[' || host[n - 1] != ']')
		return -EINVAL;
	host[n - 1] = '\0';
	if (inet_pton(AF_INET6, host + 1, &six) != 1)
		return -EINVAL;
	*ret_local = IN6_IS_ADDR_LOOPBACK(&six);
	return 0;
}

static int set_address(void *field, size_t size, uint64_t min, uint64_t max, const char *value)
{
	bool local;
	int r = parse_address(value, &local);

	return r < 0 ? r : set_text(field, size, min, max, value);
}

#define HOUR_NS UINT64_C(3600000000000)
#define FIELD(name) offsetof(struct config, name), sizeof(((struct config *)0)->name)

static const struct key {
	const char *section, *key;
	size_t offset, size;
	set_fn *set;
	uint64_t min, max;
	const char *value; /* the default; "": none */
	const char *takes;
} keys[CONFIG_KEYS] = {
	{"sampling", "frequency", FIELD(frequency), set_number, CONFIG_HZ_MIN, CONFIG_HZ_MAX, "49",
	 "samples for each second of CPU time, from 5 to 1000"},
	{"sampling", "cpu_limit", FIELD(cpu_limit), set_percent, 1000, 1000000, "1%",
	 "a share of one core, from 0.1% to 100%"},
	{"sampling", "ring", FIELD(ring_bytes), set_bytes, UINT64_C(1) << 20, UINT64_C(1) << 30, "32M",
	 "memory for the last hour, from 1M to 1G"},
	{"sampling", "captures", FIELD(captures), set_number, 0, 4, "4", "how many at the same time, from 0 to 4"},
	{"sampling", "isolate", FIELD(isolate), set_bool, 0, 0, "no", "yes or no"},
	{"store", "directory", FIELD(directory), set_path, 0, 0, "/var/lib/jsampler", "an absolute path"},
	{"store", "user", FIELD(user), set_text, 0, 0, "jsampler", "the name of a user"},
	{"store", "keep_10s", FIELD(keep_ns[0]), set_duration, HOUR_NS, 366 * 24 * HOUR_NS, "48h",
	 "a time from 1h to 366d"},
	{"store", "keep_1min", FIELD(keep_ns[1]), set_duration, HOUR_NS, 366 * 24 * HOUR_NS, "7d",
	 "a time from 1h to 366d"},
	{"store", "keep_10min", FIELD(keep_ns[2]), set_duration, HOUR_NS, 366 * 24 * HOUR_NS, "30d",
	 "a time from 1h to 366d"},
	{"store", "max_size", FIELD(max_bytes), set_bytes, UINT64_C(16) << 20, UINT64_C(1) << 50, "5G",
	 "a size from 16M on"},
	{"store", "min_free", FIELD(min_free), set_percent, 1000, 900000, "5%",
	 "a share of the file system, from 0.1% to 90%"},
	{"store", "command_lines", 0, 0, set_no, 0, 0, "no", "no: they are not stored yet"},
	{"store", "environments", 0, 0, set_no, 0, 0, "no", "no: they are not stored yet"},
	{"http", "socket", FIELD(socket), set_path, 0, 0, "/run/jsampler/jsampler.sock",
	 "an absolute path of at most 107 bytes"},
	{"http", "group", FIELD(group), set_text, 0, 0, "jsampler", "the name of a group"},
	{"http", "listen", FIELD(listen), set_address, 0, 0, "",
	 "an address and a port, such as 127.0.0.1:7117 or [::1]:7117"},
	{"http", "token_file", FIELD(token_file), set_path, 0, 0, "", "an absolute path"},
};

static void *field_of(struct config *c, const struct key *k)
{
	return (char *)c + k->offset;
}

void config_defaults(struct config *c)
{
	for (const struct key *k = keys; k < keys + CONFIG_KEYS; k++)
		if (*k->value)
			k->set(field_of(c, k), k->size, k->min, k->max, k->value);
}

/* "frequency, cpu_limit, ring" */
static void list_keys(const char *section, struct buf *b)
{
	for (const struct key *k = keys; k < keys + CONFIG_KEYS; k++)
		if (strcmp(k->section, section) == 0)
			buf_printf(b, "%s%s", b->len ? ", " : "", k->key);
}

int config_key_find(const char *section, const char *key, struct err *err)
{
	struct buf all = {0};

	for (int i = 0; i < CONFIG_KEYS; i++)
		if (strcmp(keys[i].section, section) == 0 && strcmp(keys[i].key, key) == 0)
			return i;
	list_keys(section, &all);
	err_set(err, -ENOENT, "%.60s: there is no such key in [%s]; there are %s", key, section,
		all.data ? all.data : "none");
	buf_done(&all);
	return -ENOENT;
}

int config_key_set(struct config *c, int key, const char *value, struct err *err)
{
	const struct key *k = &keys[key];

	if (k->set(field_of(c, k), k->size, k->min, k->max, value) == 0)
		return 0;
	return err_set(err, -EINVAL, "%s = %.80s: it takes %s%s", k->key, value, k->takes,
		       strpbrk(value, "#;") ? " (a comment needs a line of its own)" : "");
}

int config_section_find(const char *section, struct err *err)
{
	for (const struct key *k = keys; k < keys + CONFIG_KEYS; k++)
		if (strcmp(k->section, section) == 0)
			return 0;
	return err_set(err, -ENOENT,
		       "[%.60s]: there is no such section; there are [sampling], [store], [http] and [rule NAME]",
		       section);
}

int config_agrees(const struct config *c, struct err *err)
{
	bool local = true;

	if (c->keep_ns[0] > c->keep_ns[1] || c->keep_ns[1] > c->keep_ns[2])
		return err_set(
			err, -EINVAL,
			"[store]: keep_10s must not be longer than keep_1min, nor keep_1min longer than keep_10min");
	if (*c->listen)
		parse_address(c->listen, &local);
	if (!local)
		return err_set(err, -EINVAL,
			       "[http]: listen = %s: other hosts could reach it, and there is no TLS yet; use "
			       "127.0.0.1 or [::1]",
			       c->listen);
	if (*c->listen && !*c->token_file)
		return err_set(err, -EINVAL,
			       "[http]: listen = %s: every local user can reach it, so it needs token_file", c->listen);
	return 0;
}
