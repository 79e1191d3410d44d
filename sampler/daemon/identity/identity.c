#include "sampler/daemon/identity/identity.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "sampler/daemon/identity/pairs.h"
#include "symbolizer/base/hash.h"
#include "symbolizer/base/text.h"
#include "symbolizer/target/cgroup.h"

enum { SIZE = IDENTITY_VALUE_MAX + 1 };

#define SERVICE_NAME "otel.service.name"
#define ATTRIBUTES "otel.resource.attributes"

/* Values that several labels need, computed once. */
struct known {
	const struct identity_facts *f;
	struct cgroup_names cgroup;
};

typedef bool find_fn(const struct known *k, const char *key, char *dst);

static bool put(const char *text, char *dst)
{
	return text && text_sanitise(dst, SIZE, text, strlen(text)) > 0;
}

static bool property(const struct known *k, const char *key, char *dst)
{
	return pairs_find(k->f->properties, k->f->properties_len, key, dst, SIZE);
}

static bool variable(const struct known *k, const char *key, char *dst)
{
	return pairs_find(k->f->environment, k->f->environment_len, key, dst, SIZE);
}

static bool property_attribute(const struct known *k, const char *key, char *dst)
{
	return pairs_find_attribute(k->f->properties, k->f->properties_len, ATTRIBUTES, key, dst, SIZE);
}

static bool variable_attribute(const struct known *k, const char *key, char *dst)
{
	return pairs_find_attribute(k->f->environment, k->f->environment_len, "OTEL_RESOURCE_ATTRIBUTES", key, dst,
				    SIZE);
}

static bool container(const struct known *k, const char *key, char *dst)
{
	(void)key;
	return put(k->cgroup.container, dst);
}

static bool pod_uid(const struct known *k, const char *key, char *dst)
{
	(void)key;
	return put(k->cgroup.pod_uid, dst);
}

static bool unit(const struct known *k, const char *key, char *dst)
{
	(void)key;
	return put(k->cgroup.unit, dst);
}

/* A scope is a login, or was created for one run; user@1000.service contains whatever a user starts. */
static bool unit_of_service(const struct known *k, const char *key, char *dst)
{
	size_t n = strlen(k->cgroup.unit), ending = strlen(".service");

	(void)key;
	if (n <= ending || strcmp(k->cgroup.unit + n - ending, ".service") != 0 ||
	    strncmp(k->cgroup.unit, "user@", 5) == 0)
		return false;
	return text_sanitise(dst, SIZE, k->cgroup.unit, n - ending) > 0;
}

/* NAMESPACE_POD_UID: the first two cannot contain '_'. `field`: "0" or "1". */
static bool pod_log(const struct known *k, const char *field, char *dst)
{
	const char *name = k->f->pod_log, *pod = name ? strchr(name, '_') : NULL,
		   *uid = pod ? strchr(pod + 1, '_') : NULL;

	if (!uid)
		return false;
	if (*field == '0')
		return text_sanitise(dst, SIZE, name, (size_t)(pod - name)) > 0;
	return text_sanitise(dst, SIZE, pod + 1, (size_t)(uid - pod - 1)) > 0;
}

static bool pod_log_container(const struct known *k, const char *key, char *dst)
{
	(void)key;
	return put(k->f->pod_log_container, dst);
}

static bool main_text(const struct known *k, const char *key, char *dst)
{
	(void)key;
	return put(k->f->main, dst);
}

/* The jar's name without directory and .jar, or the whole class; for MODULE/CLASS the class. */
static bool main_name(const struct known *k, const char *key, char *dst)
{
	const char *slash = k->f->main ? strrchr(k->f->main, '/') : NULL, *name = slash ? slash + 1 : k->f->main;
	size_t n = name ? strlen(name) : 0;

	(void)key;
	if (n > 4 && strcmp(name + n - 4, ".jar") == 0)
		n -= 4;
	return n && text_sanitise(dst, SIZE, name, n) > 0;
}

static bool code_hash(const struct known *k, const char *key, char *dst)
{
	(void)key;
	if (!k->f->code_len)
		return false;
	snprintf(dst, SIZE, "code-%012" PRIx64, hash_bytes(k->f->code, k->f->code_len) >> 16);
	return true;
}

static bool pid(const struct known *k, const char *key, char *dst)
{
	(void)key;
	snprintf(dst, SIZE, "%d", (int)k->f->pid);
	return k->f->pid > 0;
}

static bool user(const struct known *k, const char *key, char *dst)
{
	(void)key;
	return put(k->f->user, dst);
}

static bool jdk(const struct known *k, const char *key, char *dst)
{
	(void)key;
	return put(k->f->jdk, dst);
}

static bool host(const struct known *k, const char *key, char *dst)
{
	(void)key;
	return put(k->f->host, dst);
}

static bool literally(const struct known *k, const char *key, char *dst)
{
	(void)k;
	return put(key, dst);
}

enum { PLACES = 7 };

/* Where each label comes from; the first source that has it is used. */
static const struct {
	const char *label;
	struct place {
		find_fn *find;
		const char *key;
	} places[PLACES];
} table[IDENTITY_LABELS] = {
	{"service",
	 {{property, SERVICE_NAME},
	  {variable, "OTEL_SERVICE_NAME"},
	  {property_attribute, "service.name"},
	  {variable_attribute, "service.name"},
	  {unit_of_service, NULL},
	  {main_name, NULL},
	  /* OpenTelemetry's name for this case */
	  {literally, "unknown_service:java"}}},
	{"version",
	 {{property_attribute, "service.version"}, {variable_attribute, "service.version"}, {code_hash, NULL}}},
	{"pid", {{pid, NULL}}},
	{"user", {{user, NULL}}},
	{"jdk", {{jdk, NULL}}},
	{"main", {{main_text, NULL}}},
	{"host", {{host, NULL}}},
	{"unit", {{unit, NULL}}},
	{"container", {{container, NULL}}},
	{"namespace",
	 {{pod_log, "0"},
	  {variable, "POD_NAMESPACE"},
	  {property_attribute, "k8s.namespace.name"},
	  {variable_attribute, "k8s.namespace.name"}}},
	{"pod",
	 {{pod_log, "1"},
	  {variable, "POD_NAME"},
	  {property_attribute, "k8s.pod.name"},
	  {variable_attribute, "k8s.pod.name"}}},
	{"pod_uid", {{pod_uid, NULL}}},
	{"pod_container",
	 {{pod_log_container, NULL},
	  {property_attribute, "k8s.container.name"},
	  {variable_attribute, "k8s.container.name"}}},
};

static bool find(const struct known *k, size_t row, char *dst)
{
	for (const struct place *p = table[row].places; p < table[row].places + PLACES && p->find; p++)
		if (p->find(k, p->key, dst))
			return true;
	return false;
}

void identity_find(const struct identity_facts *f, struct identity *ret)
{
	struct known k = {.f = f};

	cgroup_parse(f->cgroup, f->cgroup_len, &k.cgroup);
	ret->n = 0;
	for (size_t row = 0; row < IDENTITY_LABELS; row++) {
		char *value = ret->values[ret->n];

		if (find(&k, row, value))
			ret->labels[ret->n++] = (struct label){table[row].label, value};
	}
}

const char *const *identity_properties(void)
{
	static const char *const names[] = {SERVICE_NAME, ATTRIBUTES, NULL};

	return names;
}

const char *const *identity_keys(void)
{
	static const char *keys[IDENTITY_LABELS + 1];

	for (size_t i = 0; i < IDENTITY_LABELS; i++)
		keys[i] = table[i].label;
	return keys;
}
