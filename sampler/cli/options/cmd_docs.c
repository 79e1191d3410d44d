#include "sampler/cli/options/cmd_docs.h"

#include <stddef.h>
#include <string.h>

#include "sampler/cli/options/options.h"

static const char *const record_usage[] = {
	"[record] -p PID[,PID...] [options]",
	"[record] [options] NAME",
	"[record] [options] -- COMMAND [ARG...]",
	NULL,
};
static const char *const list_usage[] = {"list [-f text|json]", NULL};
static const char *const doctor_usage[] = {"doctor [-p PID] [-f text|json] [--no-attach]", NULL};
static const char *const report_usage[] = {"report FILE... [options]", NULL};
static const char *const diff_usage[] = {"diff BEFORE AFTER [options]", "diff BEFORE... -- AFTER... [options]", NULL};
static const char *const convert_usage[] = {"convert FILE... -o FILE [options]", NULL};
static const char *const help_usage[] = {"help [COMMAND]", "COMMAND --help", NULL};

static const char *const record_statuses[] = {
	"0",     "written, also after Ctrl-C, SIGTERM or the end of the target",
	"1",     "failed; a line on stderr says why, and what to do",
	"2",     "wrong usage",
	"128+N", "ended by signal N (as a shell reports it): a second one, or one before anything was sampled",
	NULL,
};
static const char *const daemon_usage[] = {"daemon [--config FILE] [--check]", NULL};
static const char *const daemon_statuses[] = {
	"0",  "ended by SIGTERM or SIGINT, or the configuration is valid",
	"1",  "it could not start",
	"2",  "wrong usage, or the configuration is wrong",
	NULL,
};
static const char *const capture_usage[] = {
	"capture TARGET [-F HZ] [-d TIME] [-o FILE]",
	"capture --get ID [-o FILE]",
	"capture --list",
	NULL,
};
static const char *const capture_statuses[] = {
	"0", "written", "1", "the daemon cannot be reached, or refuses; stderr says why", "2", "wrong usage", NULL,
};
static const char *const list_statuses[] = {
	"0", "listed, even if there are none", "1", "/proc cannot be read", "2", "wrong usage", NULL,
};
static const char *const doctor_statuses[] = {
	"0",  "nothing that jsampler needs is missing (warnings do not count)",
	"1",  "something is missing; lines marked fail say what, and how to fix it",
	"2",  "wrong usage",
	NULL,
};
static const char *const report_statuses[] = {
	"0", "written",     "1",  "a file is not a profile or cannot be read, or there is no such method",
	"2", "wrong usage", NULL,
};
/* clang-format off */
static const char *const diff_statuses[] = {
	"0", "written; no --fail-if expression is true", "1", "a file is not a profile, cannot be read or has no samples",
	"2", "wrong usage", "3", "a --fail-if expression is true; stderr says which, with the numbers", NULL,
};
/* clang-format on */
static const char *const convert_statuses[] = {
	"0", "written", "1", "a file is not a profile, or cannot be read or written", "2", "wrong usage", NULL,
};
static const char *const help_statuses[] = {"0", "shown", "2", "no such command", NULL};

static const struct cmd_doc docs[] = {
	{"record", "sample running processes, or a command", record_usage,
	 "Samples the threads of running processes from outside: no agent, no JVM flag, no restart. NAME is "
	 "the main class or jar of the one running JVM that matches. With COMMAND, stdout and the exit "
	 "status are the command's. Without -o: an HTML page named after PID and time if stdout is a terminal, "
	 "else folded stacks on stdout.",
	 record_option_specs, record_statuses},
	{"report", "text views of saved profiles: methods, calls, lines, tiers", report_usage,
	 "Reads profiles (pprof, folded text, or HPROF's text; - is stdin), adds them up and prints one view. Frames "
	 "that "
	 "differ only in tier or inlining are one method. METHOD is a name as profiles have it, with * "
	 "for any characters but a slash and ** for any; a dot may stand for a slash, and the package "
	 "may be left out.",
	 report_option_specs, report_statuses},
	{"diff", "compare two sets of profiles; a gate for CI", diff_usage,
	 "Compares shares of samples, method by method, and lists what changed by more than chance explains, "
	 "most certain first. With three or more files on each side, it takes into account how much runs of the same "
	 "program differ. "
	 "EXPR is [any] self(METHOD) or total(METHOD), > or <, and a change: +3pt (points of share) or "
	 "-10% (of the share before); METHOD as in report, * and ** included.",
	 diff_option_specs, diff_statuses},
	{"convert", "merge and filter saved profiles, change their format", convert_usage,
	 "Reads profiles (pprof, HPROF's text, or folded text as jsampler, flamegraph.pl's tools or async-profiler "
	 "write "
	 "it, in gzip or not; - is stdin), adds them up, applies the filters and writes the result. Lines "
	 "that cannot be read are skipped and reported with their numbers.",
	 convert_option_specs, convert_statuses},
	{"list", "list the JVMs on this host", list_usage,
	 "Lists the JVMs that you are allowed to see: PID, user, JDK (from the JVM's own tables, or a question "
	 "mark if they cannot be read), uptime, main class or jar, and the container by its cgroup.",
	 list_option_specs, list_statuses},
	{"daemon", "sample every JVM of this host, all the time", daemon_usage,
	 "Samples every JVM of this host from its start on, 49 times a second by default, and keeps the "
	 "counts in /var/lib/jsampler, so that report --since, or a request to its socket, shows what a "
	 "program did some time ago.",
	 daemon_option_specs, daemon_statuses},
	{"capture", "have the daemon record one program at a higher frequency", capture_usage,
	 "Asks the running daemon to sample, for a while and at another frequency, one of the programs that it samples "
	 "anyway; waits, and writes the result. TARGET is a PID, or the service that jsampler list shows, with * "
	 "for any characters. It needs no privileges, only access to the daemon's socket.",
	 capture_option_specs, capture_statuses},
	{"doctor", "check what works here, what does not, and how to fix it", doctor_usage,
	 "Tries out what jsampler needs: on this host and, with -p, from one process. If something is missing, it says "
	 "which command fixes that. With -p it also samples 200 stacks (or for 4 s), and compares the "
	 "stacks of waiting threads with the JVM's own thread dump, if asking for one does no harm.",
	 doctor_option_specs, doctor_statuses},
	{"help", "show the commands, or the options of one", help_usage, "Shows the commands, or the options of one.",
	 help_option_specs, help_statuses},
	{NULL, NULL, NULL, NULL, NULL, NULL},
};

const struct cmd_doc *cmd_docs(void)
{
	return docs;
}

const struct cmd_doc *cmd_doc_find(const char *name)
{
	for (const struct cmd_doc *d = docs; d->name; d++)
		if (strcmp(d->name, name) == 0)
			return d;
	return NULL;
}
