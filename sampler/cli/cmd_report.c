#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sampler/cli/cmd.h"
#include "sampler/cli/daemon/history.h"
#include "sampler/cli/filters.h"
#include "sampler/cli/inputs.h"
#include "sampler/cli/options/options.h"
#include "sampler/cli/options/record_values.h"
#include "sampler/closed/opener.h"
#include "sampler/closing/closing.h"
#include "sampler/model/named_profile.h"
#include "sampler/output/data_out.h"
#include "sampler/profile/named_builder.h"
#include "sampler/views/name_pattern.h"
#include "sampler/views/view.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"
#include "symbolizer/base/parse.h"

/* Default number of rows in text. JSON and CSV are for programs and have all rows. */
enum { TEXT_ROWS = 50 };

static const double LEAST_PERCENT = 0.5;

struct report {
	view_fn *view;
	const char *chosen; /* the option that selected it */
	struct view_options o;
	struct record_options filters; /* -I, -X, --include-threads */
	struct history history; /* in place of files */
	bool rows_given;
	const char *output;
	bool help;
};

static const struct {
	const char *option;
	view_fn *view;
} views[] = {
	{"flat", view_flat},       {"top", view_flat},        {"tree", view_tree},
	{"callers", view_callers}, {"callees", view_callees}, {"lines", view_lines},
	{"tiers", view_tiers},     {"threads", view_threads}, {"timeline", view_timeline},
};

static int choose_view(const char *option, const char *arg, struct report *rep, struct err *err)
{
	for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++) {
		if (strcmp(option, views[i].option) != 0)
			continue;
		if (rep->chosen)
			return err_set(err, -EINVAL, "--%s and --%s cannot be combined: only one view at a time",
				       rep->chosen, option);
		rep->chosen = option;
		rep->view = views[i].view;
		rep->o.method = arg;
		return arg ? name_pattern_check(arg, err) : 0;
	}
	return 0;
}

static int parse_percent(const char *text, double *ret, struct err *err)
{
	char *end;
	double v = strtod(text, &end);

	if (end == text || *end || !isfinite(v) || v < 0 || v > 100)
		return err_set(err, -EINVAL, "--least %.40s: a percentage from 0 to 100", text);
	*ret = v;
	return 0;
}

static int take_option(const struct option_spec *s, struct report *rep, struct err *err)
{
	const char *n = s->name, *arg = s->arg ? optarg : NULL;
	int r = history_take(&rep->history, s, arg, err);

	if (r != 0)
		return r < 0 ? r : 0;
	if (strcmp(n, "help") == 0) {
		rep->help = true;
	} else if (strcmp(n, "output") == 0) {
		rep->output = arg;
	} else if (strcmp(n, "rows") == 0) {
		rep->rows_given = true;
		if (parse_u64(arg, 0, UINT64_MAX, &rep->o.rows) < 0)
			return err_set(err, -EINVAL, "-n %.40s: a number of rows; 0: all", arg);
	} else if (strcmp(n, "include") == 0 || strcmp(n, "exclude") == 0 || strcmp(n, "include-threads") == 0) {
		return record_option_take(s, &rep->filters, err);
	} else if (strcmp(n, "least") == 0) {
		return parse_percent(arg, &rep->o.least, err);
	} else if (strcmp(n, "format") == 0) {
		if (table_format_parse(arg, &rep->o.format) < 0)
			return err_set(err, -EINVAL, "-f %.40s: text, json or csv", arg);
	} else {
		return choose_view(n, arg, rep, err);
	}
	return 0;
}

static bool is_there(const char *path)
{
	return access(path, F_OK) == 0;
}

/* A view without a required argument, or with one too many, gets an error about that, not about a missing file. */
static int check_files(struct report *rep, const char *const *files, size_t n, struct err *err)
{
	if (rep->history.given && n)
		return err_set(err, -EINVAL, "give files, or --since for what the daemon has kept, not both");
	if (rep->history.given)
		return history_check(&rep->history, false, err);
	if (n == 0 && rep->o.method && is_there(rep->o.method))
		return err_set(err, -EINVAL, "--%s needs a method: jsampler report --%s METHOD %.80s", rep->chosen,
			       rep->chosen, rep->o.method);
	if (n == 0)
		return err_set(err, -EINVAL, "report on which file? jsampler report FILE...");
	for (size_t i = 0; i < n; i++) {
		if (is_there(files[i]))
			continue;
		if (files[i][strspn(files[i], "0123456789")] == '\0')
			return err_set(err, -EINVAL, "there is no file '%.80s'; for a number of rows, -n %.80s",
				       files[i], files[i]);
		if (n > 1 && rep->chosen && strcmp(rep->chosen, "threads") == 0)
			return err_set(err, -EINVAL,
				       "there is no file '%.80s'; --threads shows all threads, and --include-threads "
				       "'%.80s' leaves out the others",
				       files[i], files[i]);
	}
	return inputs_check(files, n, err);
}

static int parse(int argc, char **argv, struct report *rep, struct err *err)
{
	const struct option_spec *s = NULL;
	int r;

	optind = 0;
	while ((r = option_next(argc, argv, report_option_specs, &s, err)) == 0 && s)
		if ((r = take_option(s, rep, err)) < 0)
			break;
	if (r < 0 || rep->help)
		return r;
	if (check_files(rep, (const char *const *)argv + optind, (size_t)(argc - optind), err) < 0)
		return -EINVAL;
	if (!rep->rows_given)
		rep->o.rows = rep->o.format == TABLE_TEXT ? TEXT_ROWS : 0;
	return 0;
}

static int read_and_view(struct report *rep, struct opener *o, char **files, size_t n, const struct data_out *out,
			 struct err *err)
{
	struct named_profile *np = NULL;
	int r = rep->history.given ? history_open(&rep->history, err) : 0;

	if (r == 0)
		r = close_with(o, err);
	if (r == 0)
		r = rep->history.given ? history_read(&rep->history, 0, &np, err) :
					 inputs_read_merged(o, files, n, &np, err);
	if (r == 0)
		r = filters_apply(&rep->filters, 0, &np, err);
	rep->o.width = data_out_width(out);
	if (r == 0)
		r = rep->view(np, &rep->o, out->stream, err);
	named_profile_free(np);
	return r;
}

static int report(struct report *rep, char **files, size_t n, struct err *err)
{
	struct opener *o = opener_new((const char *const *)files, n);
	struct data_out out;
	int r = o ? data_out_open(&out, rep->output, err) : err_set(err, -ENOMEM, "out of memory");

	if (r == 0 && data_out_hand_over(&out, o) < 0)
		r = data_out_close(&out, err_set(err, -ENOMEM, "out of memory"), err);
	else if (r == 0)
		r = data_out_close(&out, read_and_view(rep, o, files, n, &out, err), err);
	opener_free(o);
	history_done(&rep->history);
	return r;
}

int cmd_report(int argc, char **argv)
{
	struct report rep = {.view = view_flat, .o = {.least = LEAST_PERCENT}};
	struct err err = {0};
	int r;

	if (parse(argc, argv, &rep, &err) < 0)
		return cmd_fail(EXIT_USAGE, &err);
	if (rep.help)
		return cmd_help_on("report");
	r = report(&rep, argv + optind, (size_t)(argc - optind), &err);
	return r < 0 ? cmd_fail(EXIT_FAILED, &err) : EXIT_WRITTEN;
}
