#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "symbolizer/base/text.h"
#include "symbolizer/base/user_name.h"

#ifdef JS_STATIC
/*
 * A static glibc would load the host's NSS modules into this process, and with them another glibc. So only /etc/passwd
 * is read; users of a directory service are shown by number.
 */
static struct passwd *find_user(uid_t uid)
{
	FILE *f = fopen("/etc/passwd", "re");
	struct passwd *pw;

	if (!f)
		return NULL;
	while ((pw = fgetpwent(f)) && pw->pw_uid != uid)
		;
	fclose(f);
	return pw;
}
#else
static struct passwd *find_user(uid_t uid)
{
	return getpwuid(uid);
}
#endif

bool user_name(uid_t uid, char *dst, size_t size)
{
	struct passwd *pw = find_user(uid);

	if (pw && *pw->pw_name) {
		text_sanitise(dst, size, pw->pw_name, strlen(pw->pw_name));
		return true;
	}
	snprintf(dst, size, "%u", (unsigned)uid);
	return false;
}
