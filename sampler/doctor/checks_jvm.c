#include "sampler/doctor/checks_target.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sampler/readers/readers.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/log.h"
#include "symbolizer/files/fileio.h"
#include "symbolizer/hotspot/hotspot.h"
#include "symbolizer/native/dso.h"
#include "symbolizer/native/modules/modmap.h"
#include "symbolizer/target/target_file.h"

enum { SIGQUIT_BIT = 1 << (3 - 1), MAX_OS_RELEASE = 64 << 10 };

static bool find_jvm(struct checked *t)
{
	enum log_level level = log_get_level();

	/* The checks report what would be logged. */
	log_set_level(LOG_LEVEL_QUIET);
	readers_find_jvm(t->readers);
	log_set_level(level);
	switch (t->readers->jvm) {
	case JVM_READY: return true;
	case JVM_ABSENT:
		checks_add(t->c, CHECK_SKIP, "JDK", "not a JVM (no libjvm.so is mapped): native frames only");
		return false;
	case JVM_STARTING:
		checks_add(t->c, CHECK_SKIP, "JDK", "the JVM is still starting: try again in a second");
		return false;
	default:
		checks_add(t->c, CHECK_FAIL, "JDK", "%s", t->readers->why);
		checks_remedy(t->c, "a HotSpot JDK 8 to 27 with the tables that its debuggers use (OpenJDK, "
				    "Temurin, Oracle, Corretto, Zulu)");
		return false;
	}
}

static void check_tables(struct checked *t)
{
	const char *const *note = hotspot_notes(t->readers->hs);
	char notes[300] = "";

	for (; note && *note; note++)
		snprintf(notes + strlen(notes), sizeof(notes) - strlen(notes), "; %s", *note);
	checks_add(t->c, CHECK_OK, "JDK", "HotSpot %s", hotspot_version(t->readers->hs)->jdk);
	checks_add(t->c, CHECK_OK, "tables", "all entries that jsampler needs are present%s", notes);
}

/* "java-17-openjdk-amd64" (Debian), "java-17-openjdk-17.0.9..." (RHEL) -> "17"; false: neither. */
static bool package_version(const char *path, char *dst, size_t size)
{
	const char *p = strstr(path, "/java-"), *end;

	if (!p)
		return false;
	p += strlen("/java-");
	if (strncmp(p, "1.", 2) == 0)
		p += 2;
	for (end = p; isdigit((unsigned char)*end); end++)
		;
	snprintf(dst, size, "%.*s", (int)(end - p), p);
	return end > p && strstr(end, "-openjdk") != NULL;
}

static bool target_is_debian(struct checked *t)
{
	CLEANUP(close_at_exit) int fd = -1;
	CLEANUP(free_at_exit) char *text = NULL;

	return target_file_open(t->proc, "/etc/os-release", &fd, NULL) == 0 &&
	       file_read_fd(fd, MAX_OS_RELEASE, &text, NULL) == 0 && strstr(text, "debian");
}

static void symbols_remedy(struct checked *t, const char *path)
{
	char version[16];

	if (!package_version(path, version, sizeof(version)))
		checks_remedy(t->c, "put the libjvm.debuginfo of exactly this JDK build next to %s", path);
	else if (target_is_debian(t))
		checks_remedy(t->c, "sudo apt install openjdk-%s-dbg", version);
	else
		checks_remedy(t->c, "sudo dnf debuginfo-install java-%s%s-openjdk-headless",
			      strcmp(version, "8") == 0 ? "1." : "", strcmp(version, "8") == 0 ? "8.0" : version);
}

static void check_symbols(struct checked *t)
{
	struct dso *dso;
	uint64_t bias;
	uint32_t id;

	if (modmap_find_dso(t->readers->modmap, "libjvm.so", &id, &bias) < 0)
		return;
	dso = modmap_dso(t->readers->modmap, id);
	if (dso && dso_has_symtab(dso)) {
		checks_add(t->c, CHECK_OK, "libjvm symbols", "the JVM's own functions can be named");
		return;
	}
	checks_add(t->c, CHECK_WARN, "libjvm symbols",
		   "%s has none: the JVM's own functions (GC, "
		   "compilers) are shown as [libjvm.so]",
		   modmap_dso_path(t->readers->modmap, id));
	symbols_remedy(t, modmap_dso_path(t->readers->modmap, id));
}

static void check_records(struct checked *t)
{
	uint64_t on = 0;

	if (hotspot_flag(t->readers->hs, "DebugNonSafepoints", &on, NULL) < 0 || !on) {
		checks_add(t->c, CHECK_OK, "debug records", "-XX:+DebugNonSafepoints is not set: good");
		return;
	}
	checks_add(t->c, CHECK_WARN, "debug records",
		   "-XX:+DebugNonSafepoints is set: it makes C2 write "
		   "records that name wrong methods; jsampler does not use these");
	checks_remedy(t->c, "start the JVM without -XX:+DebugNonSafepoints");
}

static void attach_remedy(struct checked *t)
{
	checks_remedy(t->c, "sampling does not attach, so there is nothing to do; for jcmd and agents, start "
			    "the JVM without -Xrs and -XX:+DisableAttachMechanism");
}

static void check_attach(struct checked *t)
{
	uint64_t disabled = 0;

	hotspot_flag(t->readers->hs, "DisableAttachMechanism", &disabled, NULL);
	if (!disabled && t->st.sig_caught & SIGQUIT_BIT) {
		t->may_wake = true;
		checks_add(t->c, CHECK_OK, "attach",
			   "possible without harm: SIGQUIT is caught, "
			   "attaching is not disabled%s",
			   proc_same_ns(t->proc, "mnt") ? "" : "; through its own mount namespace");
	} else if (disabled) {
		t->no_attach = "-XX:+DisableAttachMechanism";
		checks_add(t->c, CHECK_WARN, "attach", "disabled by -XX:+DisableAttachMechanism");
		attach_remedy(t);
	} else {
		checks_add(t->c, CHECK_WARN, "attach",
			   "SIGQUIT is not caught (-Xrs, or the JVM is "
			   "starting): it would end the JVM, so it is not sent");
		attach_remedy(t);
	}
}

void checks_jvm(struct checked *t)
{
	if (!find_jvm(t))
		return;
	check_tables(t);
	check_symbols(t);
	check_records(t);
	check_attach(t);
}
