#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "symbolizer/base/text.h"
#include "symbolizer/base/user_name.h"

#ifdef JS_STATIC
/*
 * A static glibc would load the host's NSS modules into this process, and with them another glibc. So only /etc/passwd and
 * /etc/group are read; users of a directory service are shown by number.
 */
static struct passwd *find_user(uid_t uid, const char *name)
{
	FILE *f = fopen("/etc/passwd", "re");
	struct passwd *pw;

	if (!f)
		return NULL;
	while ((pw = fgetpwent(f)) && (name ? strcmp(pw->pw_name, name) != 0 : pw->pw_uid != uid))
		;
	fclose(f);
	return pw;
}

static struct group *find_group(const char *name)
{
	FILE *f = fopen("/etc/group", "re");
	struct group *g;

	if (!f)
		return NULL;
	while ((g = fgetgrent(f)) && strcmp(g->gr_name, name) != 0)
		;
	fclose(f);
	return g;
}
#else
static struct passwd *find_user(uid_t uid, const char *name)
{
	return name ? getpwnam(name) : getpwuid(uid);
}

static struct group *find_group(const char *name)
{
	return getgrnam(name);
}
#endif

bool user_name(uid_t uid, char *dst, size_t size)
{
	struct passwd *pw = find_user(uid, NULL);

	if (pw && *pw->pw_name) {
		text_sanitise(dst, size, pw->pw_name, strlen(pw->pw_name));
		return true;
	}
	snprintf(dst, size, "%u", (unsigned)uid);
	return false;
}

bool user_find(const char *name, uid_t *ret_uid, gid_t *ret_gid)
{
	const struct passwd *pw = find_user(0, name);

	if (!pw)
		return false;
	*ret_uid = pw->pw_uid;
	*ret_gid = pw->pw_gid;
	return true;
}

bool group_find(const char *name, gid_t *ret)
{
	const struct group *g = find_group(name);

	if (!g)
		return false;
	*ret = g->gr_gid;
	return true;
}
