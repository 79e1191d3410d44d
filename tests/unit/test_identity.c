#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "sampler/daemon/identity/identity.h"
#include "sampler/daemon/identity/pairs.h"

#define TEXT(s) s, sizeof(s)
#define CONTAINER "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const char *get(const struct identity *id, const char *key)
{
	for (size_t i = 0; i < id->n; i++)
		if (strcmp(id->labels[i].key, key) == 0)
			return id->labels[i].value;
	return "";
}

#define EXPECT(id, key, text) assert_string_equal(get(&(id), key), text)

/* Each step takes away the place that counted. */
static void service_order(void **state)
{
	static const char property[] = "a=b\0otel.service.name=p";
	static const char properties[] = "a=b\0otel.resource.attributes=service.name=pa,service.version=1.0";
	static const char variable[] = "OTEL_SERVICE_NAME=e\0OTEL_RESOURCE_ATTRIBUTES=service.name=x";
	static const char variables[] = "OTEL_RESOURCE_ATTRIBUTES=service.name=ea,service.version=2.0";
	struct identity_facts f = {.properties = property,
				   .properties_len = sizeof(property),
				   .environment = variable,
				   .environment_len = sizeof(variable),
				   .cgroup = "0::/system.slice/u.service\n",
				   .cgroup_len = 27,
				   .main = "/opt/m-1.2.jar"};
	struct identity id;

	(void)state;
	identity_find(&f, &id);
	EXPECT(id, "service", "p");
	f.properties = properties;
	f.properties_len = sizeof(properties);
	identity_find(&f, &id);
	EXPECT(id, "service", "e");
	f.environment = variables;
	f.environment_len = sizeof(variables);
	identity_find(&f, &id);
	EXPECT(id, "service", "pa");
	EXPECT(id, "version", "1.0");
	f.properties_len = 0;
	identity_find(&f, &id);
	EXPECT(id, "service", "ea");
	EXPECT(id, "version", "2.0");
	f.environment_len = 0;
	identity_find(&f, &id);
	EXPECT(id, "service", "u");
	f.cgroup_len = 0;
	identity_find(&f, &id);
	EXPECT(id, "service", "m-1.2");
	EXPECT(id, "main", "/opt/m-1.2.jar");
	f.main = NULL;
	identity_find(&f, &id);
	EXPECT(id, "service", "unknown_service:java");
	assert_int_equal(id.n, 1);
}

static void names_of_mains(void **state)
{
	static const char *const rows[][3] = {
		/* cgroup, main, service */
		{"0::/user.slice/user-1.slice/session-3.scope\n", "com.acme.Shop", "com.acme.Shop"},
		{"0::/user.slice/user-1.slice/user@1.service/x\n", "mod/com.acme.Shop", "com.acme.Shop"},
		{"0::/system.slice/.service\n", "a.jar", "a"},
		{"0::/\n", ".jar", ".jar"},
		{"0::/\n", "/opt/", "unknown_service:java"},
		{"0::/system.slice/containerd.service/kubepods-poda.slice:cri-containerd:" CONTAINER "\n", "a.B",
		 "a.B"},
	};
	struct identity id;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct identity_facts f = {
			.cgroup = rows[i][0], .cgroup_len = strlen(rows[i][0]), .main = rows[i][1]};

		identity_find(&f, &id);
		assert_string_equal(get(&id, "service"), rows[i][2]);
	}
}

static void kubernetes(void **state)
{
	static const char cgroup[] =
		"0::/kubepods.slice/kubepods-pod90d81341_92de_11e7_8cf2_507b9d4141fa.slice/cri-containerd-" CONTAINER
		".scope\n";
	static const char environment[] =
		"POD_NAME=env-pod\0POD_NAMESPACE=env-space\0"
		"OTEL_RESOURCE_ATTRIBUTES=k8s.pod.name=otel-pod,k8s.container.name=otel-container";
	static const char attributes[] = "OTEL_RESOURCE_ATTRIBUTES=k8s.pod.name=otel-pod";
	struct identity_facts f = {.cgroup = cgroup,
				   .cgroup_len = strlen(cgroup),
				   .environment = environment,
				   .environment_len = sizeof(environment),
				   .pod_log = "prod_shop-7d9_90d81341-92de",
				   .pod_log_container = "app"};
	struct identity id;

	(void)state;
	identity_find(&f, &id);
	EXPECT(id, "container", CONTAINER);
	EXPECT(id, "pod_uid", "90d81341-92de-11e7-8cf2-507b9d4141fa");
	EXPECT(id, "namespace", "prod");
	EXPECT(id, "pod", "shop-7d9");
	EXPECT(id, "pod_container", "app");
	assert_string_equal(get(&id, "unit"), "");
	f.pod_log = "odd_name";
	f.pod_log_container = NULL;
	identity_find(&f, &id);
	EXPECT(id, "namespace", "env-space");
	EXPECT(id, "pod", "env-pod");
	EXPECT(id, "pod_container", "otel-container");
	f.environment = attributes;
	f.environment_len = sizeof(attributes);
	identity_find(&f, &id);
	EXPECT(id, "pod", "otel-pod");
}

/* Other code is another version; the same code is the same one on every host and in every run. */
static void versions(void **state)
{
	struct identity_facts f = {
		.code = "/opt/a.jar 1700000000 12345", .code_len = 27, .pid = 7, .user = "u", .jdk = "25", .host = "h"};
	struct identity a, b;

	(void)state;
	identity_find(&f, &a);
	EXPECT(a, "version", "code-36d0b7cc7ce2");
	EXPECT(a, "pid", "7");
	assert_int_equal(a.n, 6);
	f.code_len--;
	identity_find(&f, &b);
	assert_string_not_equal(get(&a, "version"), get(&b, "version"));
}

static void attributes(void **state)
{
	static const char *const rows[][2] = {
		/* list, value of "k"; NULL: none */
		{"k=v", "v"},
		{"a=b,k=v,c=", "v"},
		{" k = v w , a=b", "v w"},
		{"k=v=w", "v=w"},
		{"k=a%2Cb%25", "a,b%"},
		{"k=%c3%a4%e2", "\xc3\xa4?"},
		{"k=a%0ab", "a?b"},
		{"k=1,k=2", "1"},
		{"k=,k=2", "2"},
		{"k=v,", "v"},
		{"", NULL},
		{"k", NULL},
		{"kk=v", NULL},
		{"k=v,nonsense", NULL},
		{"k=v,=x", NULL},
		{"k=v,,a=b", NULL},
		{"k=v%4", NULL},
		{"k=v%g1", NULL},
		{"k=v,b=%1 ", NULL},
	};
	char got[64];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		size_t n = strlen(rows[i][0]);
		char *exact = malloc(n + 1); /* no byte behind the list */
		bool found;

		memcpy(exact, rows[i][0], n);
		found = pairs_attribute(exact, n, "k", got, sizeof(got));
		free(exact);
		if (found != (rows[i][1] != NULL) || (found && strcmp(got, rows[i][1])))
			fail_msg("%s: %s", rows[i][0], found ? got : "nothing");
	}
}

static void environments(void **state)
{
	static char long_one[100000];
	char got[8];

	(void)state;
	assert_true(pairs_find(TEXT("A=1\0B=2"), "B", got, sizeof(got)));
	assert_string_equal(got, "2");
	assert_true(pairs_find("A=1\0B=2", 7, "B", got, sizeof(got)));
	assert_true(pairs_find(TEXT("A=1\0A=2"), "A", got, sizeof(got)));
	assert_string_equal(got, "1");
	assert_false(pairs_find(TEXT("AA=1\0A\0=x\0"), "A", got, sizeof(got)));
	assert_false(pairs_find(TEXT("A="), "A", got, sizeof(got)));
	assert_false(pairs_find(NULL, 0, "A", got, sizeof(got)));
	assert_true(pairs_find(TEXT("A=\x1b]0;pwned"), "A", got, sizeof(got)));
	assert_string_equal(got, "?]0;pwn");
	/* Values as long as the environment can be: cut, and never read twice as long. */
	memset(long_one, 'x', sizeof(long_one));
	memcpy(long_one, "L=k=", 4);
	assert_true(pairs_find_attribute(long_one, sizeof(long_one), "L", "k", got, sizeof(got)));
	assert_string_equal(got, "xxxxxxx");
	memset(long_one + 4, '%', sizeof(long_one) - 4);
	assert_false(pairs_find_attribute(long_one, sizeof(long_one), "L", "k", got, sizeof(got)));
	memset(long_one + 2, '\0', sizeof(long_one) - 2);
	assert_false(pairs_find(long_one, sizeof(long_one), "L", got, sizeof(got)));
}

static void all_names(void **state)
{
	size_t n = 0;

	(void)state;
	for (const char *const *key = identity_keys(); *key; key++)
		n++;
	assert_int_equal(n, IDENTITY_LABELS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(service_order), cmocka_unit_test(names_of_mains), cmocka_unit_test(kubernetes),
		cmocka_unit_test(versions),      cmocka_unit_test(attributes),     cmocka_unit_test(environments),
		cmocka_unit_test(all_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
