#include "symbolizer/target/cgroup.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "symbolizer/base/text.h"

enum { ID_LEN = 64, ID_SHOWN = 12, TASK_LEN = 32 };

/* A part of the text: a line, a path, or a name. */
struct span {
	const char *s;
	size_t n;
};

static bool begins(struct span p, const char *with)
{
	size_t n = strlen(with);

	return p.n >= n && memcmp(p.s, with, n) == 0;
}

static bool ends(struct span p, const char *with)
{
	size_t n = strlen(with);

	return p.n >= n && memcmp(p.s + p.n - n, with, n) == 0;
}

static bool is(struct span p, const char *text)
{
	return p.n == strlen(text) && begins(p, text);
}

static struct span between(struct span p, size_t before, size_t behind)
{
	return (struct span){p.s + before, p.n - before - behind};
}

/* Returns the part before `c`, or all of *p; *p continues after `c`. */
static struct span cut(struct span *p, char c)
{
	const char *at = memchr(p->s, c, p->n);
	struct span head = {p->s, at ? (size_t)(at - p->s) : p->n};

	p->s += at ? head.n + 1 : head.n;
	p->n -= at ? head.n + 1 : head.n;
	return head;
}

static size_t hex_digits(struct span p)
{
	size_t n = 0;

	while (n < p.n && isxdigit((unsigned char)p.s[n]))
		n++;
	return n;
}

static bool is_all(struct span p, const char *also)
{
	for (size_t i = 0; i < p.n; i++)
		if (!isalnum((unsigned char)p.s[i]) && !(p.s[i] && strchr(also, p.s[i])))
			return false;
	return p.n > 0;
}

static void put(char *dst, size_t size, struct span p)
{
	text_sanitise(dst, size, p.s, p.n);
}

/* Finds the ID in "docker-ID.scope", "crio-ID", "x.slice:cri-containerd:ID", "ID". */
static bool find_id(struct span name, struct span *ret)
{
	for (size_t i = 0, n; i < name.n; i += n ? n : 1) {
		struct span rest = between(name, i, 0);

		n = hex_digits(rest);
		if (n == ID_LEN && (i == 0 || strchr("-:", name.s[i - 1])) && (n == rest.n || rest.s[n] == '.')) {
			*ret = (struct span){rest.s, ID_LEN};
			return true;
		}
	}
	return false;
}

/* Cloud Foundry: groups of 8, 4, 4, 4 and at least 4 hex digits. */
static bool is_garden_id(struct span name)
{
	static const size_t groups[] = {8, 4, 4, 4};

	for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++) {
		struct span group = cut(&name, '-');

		if (group.n != groups[i] || hex_digits(group) != group.n)
			return false;
	}
	return name.n >= 4 && hex_digits(name) == name.n;
}

/* Amazon Fargate: the 32 digits of the task, a hyphen, a number. */
static bool is_task_id(struct span name, struct span parent)
{
	return parent.n == TASK_LEN && hex_digits(parent) == TASK_LEN && name.n > TASK_LEN + 1 &&
	       memcmp(name.s, parent.s, TASK_LEN) == 0 && name.s[TASK_LEN] == '-' &&
	       is_all(between(name, TASK_LEN + 1, 0), "");
}

/* With the cgroupfs driver, any group directly below that of a pod is a container, whatever its name. */
static bool is_below_pod(struct span name, struct span parent)
{
	return begins(parent, "pod") && parent.n > 3 && is_all(name, "-_.");
}

static bool find_container(struct span name, struct span parent, bool in_pods, struct span *ret)
{
	static const struct {
		const char *before, *behind;
	} named[] = {{"lxc.payload.", ""}, {"systemd-nspawn@", ".service"}};

	if (find_id(name, ret))
		return true;
	for (size_t i = 0; i < sizeof(named) / sizeof(*named); i++) {
		size_t before = strlen(named[i].before), behind = strlen(named[i].behind);

		if (name.n > before + behind && begins(name, named[i].before) && ends(name, named[i].behind)) {
			*ret = between(name, before, behind);
			return true;
		}
	}
	if (is(parent, "machine.slice") && begins(name, "machine-") && ends(name, ".scope") && name.n > 14) {
		*ret = between(name, 8, 6);
		return true;
	}
	*ret = name;
	return is(parent, "lxc") || (is(parent, "garden") && is_garden_id(name)) || is_task_id(name, parent) ||
	       (in_pods && is_below_pod(name, parent));
}

/* The systemd driver uses "kubepods-burstable-podUID.slice", the cgroupfs driver "podUID" below "kubepods". */
static void read_pod(struct span name, bool in_pods, struct cgroup_names *ret)
{
	struct span uid = cut(&name, ':');

	if (ends(uid, ".slice")) {
		uid.n -= strlen(".slice");
		while (uid.n && !begins(uid, "-pod"))
			uid = between(uid, 1, 0);
		uid = uid.n ? between(uid, 1, 0) : uid;
	}
	if (!in_pods || !begins(uid, "pod"))
		return;
	uid = between(uid, 3, 0);
	if (!is_all(uid, "-_"))
		return;
	put(ret->pod_uid, sizeof(ret->pod_uid), uid);
	for (char *c = ret->pod_uid; *c; c++)
		if (*c == '_')
			*c = '-';
}

/*
 * The last unit on the path counts. The unit of a container engine is not that of the processes in its containers, but
 * "shop.service/libpod-payload-ID" is a service that consists of a container.
 */
static void read_name(struct span name, struct span parent, bool in_pods, struct cgroup_names *ret)
{
	struct span container;

	read_pod(name, in_pods, ret);
	if (find_container(name, parent, in_pods, &container)) {
		put(ret->container, sizeof(ret->container), container);
		if (!begins(name, "libpod-payload-"))
			ret->unit[0] = '\0';
		return;
	}
	if (!ends(name, ".service") && !ends(name, ".scope"))
		return;
	/* systemd prepends '_' to names that the kernel could take for its own files. */
	put(ret->unit, sizeof(ret->unit), between(name, *name.s == '_', 0));
}

static struct cgroup_names read_path(struct span path)
{
	struct cgroup_names ret = {0};
	struct span parent = {"", 0}, name;
	bool in_pods = false;

	if (ends(path, " (deleted)"))
		path.n -= strlen(" (deleted)");
	while (path.n) {
		name = cut(&path, '/');
		if (!name.n)
			continue;
		in_pods |= begins(name, "kubepods") || begins(name, "kubelet-kubepods");
		read_name(name, parent, in_pods, &ret);
		parent = name;
	}
	return ret;
}

static void fill(char *dst, size_t size, const char *text)
{
	if (!*dst)
		snprintf(dst, size, "%s", text);
}

/*
 * ID:CONTROLLERS:PATH. systemd's own hierarchy is that of version 2, or the one named "systemd". Every process is in
 * its unit in that hierarchy.
 */
static void read_line(struct span line, bool of_systemd, struct cgroup_names *ret)
{
	struct span id = cut(&line, ':'), controllers = cut(&line, ':');
	bool is_systemd = (is(id, "0") && !controllers.n) || is(controllers, "name=systemd");
	struct cgroup_names n;

	if (is_systemd != of_systemd || hex_digits(id) != id.n || !begins(line, "/"))
		return;
	n = read_path(line);
	fill(ret->container, sizeof(ret->container), n.container);
	fill(ret->pod_uid, sizeof(ret->pod_uid), n.pod_uid);
	fill(ret->unit, sizeof(ret->unit), n.unit);
}

void cgroup_parse(const char *text, size_t len, struct cgroup_names *ret)
{
	*ret = (struct cgroup_names){0};
	for (int pass = 0; pass < 2; pass++)
		for (struct span rest = {text, len}; rest.n;)
			read_line(cut(&rest, '\n'), pass == 0, ret);
}

void cgroup_container(const char *text, size_t len, char *dst, size_t size)
{
	struct cgroup_names n;
	size_t whole;

	cgroup_parse(text, len, &n);
	whole = strlen(n.container);
	snprintf(dst, size, "%.*s", whole == ID_LEN ? ID_SHOWN : (int)whole, n.container);
}
