#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/cli/cmd.h"
#include "sampler/cli/daemon/history.h"
#include "sampler/cli/inputs.h"
#include "sampler/cli/options/options.h"
#include "sampler/cli/options/record_values.h"
#include "sampler/closed/opener.h"
#include "sampler/closing/closing.h"
#include "sampler/diff/diff.h"
#include "sampler/diff/diff_html.h"
#include "sampler/diff/diff_print.h"
#include "sampler/diff/diff_tiers.h"
#include "sampler/diff/gate.h"
#include "sampler/model/named_profile.h"
#include "sampler/output/data_out.h"
#include "sampler/profile/named_builder.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"
#include "symbolizer/base/parse.h"

enum { MAX_GATES = 64, MAX_DIFF_OUTPUTS = 4, TEXT_ROWS = 50, MOST_SHOWN = 5 };

struct diff_run {
	const char *paths[DIFF_MAX_FILES];
	size_t n_before, n_after;
	struct named_profile *profiles[DIFF_MAX_FILES];

	struct history history; /* in place of files: one range a side */

	struct opener *opener;
	struct data_out outs[MAX_DIFF_OUTPUTS]; /* opened ones; those already written are closed */
	size_t n_opened, n_written;

	struct gate gates[MAX_GATES];
	size_t n_gates;
	const char *outputs[MAX_DIFF_OUTPUTS];
	size_t n_outputs;
	const char *format; /* NULL: by file name ending */
	struct diff_options o;
	uint64_t rows;
	bool rows_given, all, tiers, help;
	double work;
};

static void run_done(struct diff_run *run)
{
	for (size_t i = run->n_written; i < run->n_opened; i++)
		data_out_close(&run->outs[i], -ECANCELED, NULL);
	opener_free(run->opener);
	history_done(&run->history);
	for (size_t i = 0; i < run->n_gates; i++)
		gate_done(&run->gates[i]);
	for (size_t i = 0; i < run->n_before + run->n_after; i++)
		named_profile_free(run->profiles[i]);
	free(run);
}

static void run_done_at_exit(struct diff_run **run)
{
	if (*run)
		run_done(*run);
}

static int parse_number(const char *option, const char *text, double least, double most, double *ret, struct err *err)
{
	char *end;
	double v = strtod(text, &end);

	if (end == text || *end || !isfinite(v) || v < least || v > most)
		return err_set(err, -EINVAL, "%s %.40s: a number from %g to %g", option, text, least, most);
	*ret = v;
	return 0;
}

static int add_gate(const char *text, struct diff_run *run, struct err *err)
{
	int r;

	if (run->n_gates == MAX_GATES)
		return err_set(err, -EINVAL, "more than %d --fail-if options", MAX_GATES);
	r = gate_parse(text, &run->gates[run->n_gates], err);
	if (r < 0)
		return err_wrap(err, r, "--fail-if");
	run->n_gates++;
	return 0;
}

static int take_value(const char *n, const char *arg, struct diff_run *run, struct err *err)
{
	int r;

	if (strcmp(n, "fail-if") == 0)
		return add_gate(arg, run, err);
	if (strcmp(n, "output") == 0)
		return record_value_output(arg, run->outputs, &run->n_outputs, MAX_DIFF_OUTPUTS, err);
	if (strcmp(n, "work") == 0)
		return parse_number("--work", arg, 1e-6, 1e6, &run->work, err);
	if (strcmp(n, "min-effect") == 0) {
		r = parse_number("--min-effect", arg, 0, 100, &run->o.min_effect, err);
		run->o.min_effect /= 100;
		return r;
	}
	if (strcmp(n, "rows") == 0) {
		run->rows_given = true;
		if (parse_u64(arg, 0, UINT64_MAX, &run->rows) < 0)
			return err_set(err, -EINVAL, "-n %.40s: a number of rows; 0: all", arg);
	}
	if (strcmp(n, "format") == 0)
		run->format = arg;
	return 0;
}

static int take_option(const struct option_spec *s, struct diff_run *run, struct err *err)
{
	int r = history_take(&run->history, s, optarg, err);

	if (r != 0)
		return r < 0 ? r : 0;
	if (s->arg)
		return take_value(s->name, optarg, run, err);
	run->all |= strcmp(s->name, "all") == 0;
	run->tiers |= strcmp(s->name, "tiers") == 0;
	run->help |= strcmp(s->name, "help") == 0;
	run->o.by_total |= strcmp(s->name, "by-total") == 0;
	return 0;
}

/* Parses options and files on one side of "--"; argv[0] is not an argument. */
static int parse_part(int argc, char **argv, struct diff_run *run, size_t *ret_files, struct err *err)
{
	const struct option_spec *s = NULL;
	size_t before = run->n_before;
	int r;

	optind = 0;
	while ((r = option_next(argc, argv, diff_option_specs, &s, err)) == 0 && s)
		if ((r = take_option(s, run, err)) < 0)
			break;
	for (; r == 0 && optind < argc; optind++) {
		if (before + *ret_files >= DIFF_MAX_FILES)
			return err_set(err, -EINVAL, "more than %d files", DIFF_MAX_FILES);
		run->paths[before + (*ret_files)++] = argv[optind];
	}
	return r;
}

static int check_history(struct diff_run *run, struct err *err)
{
	int r;

	if (run->n_before || run->n_after)
		return err_set(err, -EINVAL, "give files, or --since for what the daemon has kept, not both");
	r = history_check(&run->history, true, err);
	run->paths[0] = run->history.ranges[1].name;
	run->paths[1] = run->history.ranges[0].name;
	run->n_before = run->n_after = 1;
	return r;
}

static int check_files(struct diff_run *run, bool split, struct err *err)
{
	if (run->history.given)
		return check_history(run, err);
	if (!split && run->n_before == 2)
		run->n_before = run->n_after = 1;
	else if (!split && run->n_before > 2)
		return err_set(err, -EINVAL,
			       "which of the %zu files are before, which after? "
			       "jsampler diff BEFORE... -- AFTER...",
			       run->n_before);
	if (!run->n_before || !run->n_after)
		return err_set(err, -EINVAL, "two files, or BEFORE... -- AFTER...");
	return inputs_check(run->paths, run->n_before + run->n_after, err);
}

/* "--" separates the files unless it is the argument of an option. */
static int parse(int argc, char **argv, struct diff_run *run, struct err *err)
{
	size_t files = 0;
	int divider, r;

	for (divider = 1; divider < argc && strcmp(argv[divider], "--") != 0; divider++)
		;
	r = parse_part(divider, argv, run, &files, err);
	run->n_before = files;
	if (r == 0 && divider < argc) {
		files = 0;
		r = parse_part(argc - divider, argv + divider, run, &files, err);
		run->n_after = files;
	}
	if (r < 0 || run->help)
		return r;
	if (run->tiers && (run->n_gates || run->all || run->o.by_total))
		return err_set(err, -EINVAL, "--tiers cannot be combined with --fail-if, --all or --by-total");
	return check_files(run, divider < argc, err);
}

static bool ends_in(const char *path, const char *ending)
{
	size_t n = strlen(path), m = strlen(ending);

	return n > m && strcmp(path + n - m, ending) == 0;
}

/* NULL: not a format. */
static const char *format_for(const struct diff_run *run, const char *path)
{
	static const char *const endings[][2] = {
		{".html", "html"}, {".htm", "html"}, {".json", "json"},
		{".csv", "csv"},   {".txt", "text"}, {".text", "text"},
	};

	if (run->format)
		return run->format;
	if (!path || strcmp(path, "-") == 0)
		return "text";
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
		if (ends_in(path, endings[i][0]))
			return endings[i][1];
	return NULL;
}

static int check_formats(const struct diff_run *run, struct err *err)
{
	enum table_format t;

	for (size_t i = 0; i < (run->n_outputs ? run->n_outputs : 1); i++) {
		const char *path = run->n_outputs ? run->outputs[i] : NULL;
		const char *f = format_for(run, path);

		if (!f)
			return err_set(err, -EINVAL,
				       "'%s': unknown file name ending (not .html, .json, .csv "
				       "or .txt); give -f",
				       path);
		if (strcmp(f, "html") != 0 && table_format_parse(f, &t) < 0)
			return err_set(err, -EINVAL, "-f %.40s: text, json, csv or html", f);
		if (run->tiers && strcmp(f, "html") == 0)
			return err_set(err, -EINVAL, "--tiers has no HTML page: use text, json or csv");
	}
	return 0;
}

static const struct named_profile *const *borrow(const struct diff_run *run)
{
	return (const struct named_profile *const *)run->profiles;
}

static int write_tiers(const struct diff_run *run, enum table_format format, size_t width, FILE *out, struct err *err)
{
	struct diff_tiers_options o = {.format = format, .width = width, .work = run->work};
	struct named_profile *before = NULL, *after = NULL;
	int r;

	o.rows = run->rows_given ? run->rows : format == TABLE_TEXT ? TEXT_ROWS : 0;
	r = inputs_merge(borrow(run), run->paths, run->n_before, &before, err);
	if (r == 0)
		r = inputs_merge(borrow(run) + run->n_before, run->paths + run->n_before, run->n_after, &after, err);
	if (r == 0)
		r = diff_tiers_print(before, after, &o, out, err);
	named_profile_free(before);
	named_profile_free(after);
	return r;
}

/* Opens the files of -o; without -o, stdout. */
static int open_outputs(struct diff_run *run, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < (run->n_outputs ? run->n_outputs : 1); i++) {
		r = data_out_open(&run->outs[i], run->outputs[i], err);
		if (r < 0)
			return r;
		run->n_opened++;
		if (data_out_hand_over(&run->outs[i], run->opener) < 0)
			r = err_set(err, -ENOMEM, "out of memory");
	}
	return r;
}

static int write_one(struct diff_run *run, const struct diff *d, struct err *err)
{
	struct data_out *out = &run->outs[run->n_written];
	const char *format = format_for(run, run->outputs[run->n_written++]);
	struct diff_print_options o = {.all = run->all, .paths = run->paths};
	int r = 0;

	o.rows = run->rows_given ? run->rows : run->all ? 0 : TEXT_ROWS;
	o.width = data_out_width(out);
	if (strcmp(format, "html") == 0) {
		r = diff_html_write(borrow(run), run->paths, run->n_before, run->n_after, out->stream, err);
	} else {
		table_format_parse(format, &o.format);
		if (run->tiers)
			r = write_tiers(run, o.format, o.width, out->stream, err);
		else
			diff_print(d, &o, out->stream);
	}
	return data_out_close(out, r, err);
}

/* Shares of different events can be compared, but that is rarely intended. */
static void warn_of_events(const struct diff_run *run)
{
	const struct named_meta *first = NULL;

	for (size_t i = 0; i < run->n_before + run->n_after; i++) {
		const struct named_meta *m = &run->profiles[i]->meta;

		/* Folded stacks do not say which event they count. */
		if (strcmp(m->event, "samples") == 0 || strcmp(m->event, "") == 0)
			continue;
		if (!first)
			first = m;
		if (strcmp(first->event, m->event) == 0)
			continue;
		log_warn("'%s' has samples of %.40s, the files before it of %.40s: this may explain differences",
			 run->paths[i], m->event, first->event);
		return;
	}
}

static int read_all(struct diff_run *run, struct err *err)
{
	bool history = run->history.given;
	int r = history ? history_open(&run->history, err) : 0;

	if (r == 0)
		r = close_with(run->opener, err);
	for (unsigned i = 0; r == 0 && i < run->n_before + run->n_after; i++)
		r = history ? history_read(&run->history, 1 - i, &run->profiles[i], err) :
			      inputs_read(run->opener, run->paths[i], &run->profiles[i], err);
	if (r == 0)
		warn_of_events(run);
	return r;
}

static const char *p_text(double p, char *dst, size_t size)
{
	snprintf(dst, size, p < 0.001 ? "p < 0.001" : "p = %.3f", p);
	return dst;
}

/* For a failed expression: the matching methods that changed most. */
static void say_methods(const struct gate *g, const struct diff *d)
{
	double last = INFINITY;

	for (int shown = 0; shown < MOST_SHOWN; shown++) {
		const struct diff_row *best = NULL;
		double most = 0;

		for (size_t i = 0; i < d->n; i++) {
			double delta = g->total ? d->rows[i].total.delta : d->rows[i].self.delta;

			delta = g->less ? -delta : delta;
			if (delta > most && delta < last && gate_matches(g, d, &d->rows[i])) {
				most = delta;
				best = &d->rows[i];
			}
		}
		if (!best)
			return;
		last = most;
		log_error("    %+.2f points: %s", g->less ? -100 * most : 100 * most,
			  strtab_get(d->strings, best->name));
	}
}

static void say_failed(const struct gate *g, const struct gate_result *res, const struct diff *d)
{
	const struct diff_change *c = &res->change;
	char p[32], relative[48] = "new";

	if (c->share[DIFF_BEFORE] > 0)
		snprintf(relative, sizeof(relative), "%+.1f %%", 100 * c->delta / c->share[DIFF_BEFORE]);
	log_error("failed: %s: %s%s%.2f %% before, %.2f %% after: %+.2f ± %.2f points (%s), %s", g->text,
		  g->any ? strtab_get(d->strings, res->worst) : "", g->any ? " " : "", 100 * c->share[DIFF_BEFORE],
		  100 * c->share[DIFF_AFTER], 100 * c->delta, 100 * c->error, relative, p_text(c->p, p, sizeof(p)));
	if (!g->any && res->matches > 1)
		say_methods(g, d);
}

/* 1: a --fail-if expression failed. */
static int judge_gates(const struct diff_run *run, const struct diff *d, struct err *err)
{
	int failed = 0;

	for (size_t i = 0; i < run->n_gates; i++) {
		struct gate_result res;
		int r = gate_judge(&run->gates[i], d, borrow(run), &res);

		if (r < 0)
			return err_set(err, r, "out of memory");
		if (!res.matches)
			log_warn("--fail-if '%s': no method on either side matches", run->gates[i].text);
		if (res.failed)
			say_failed(&run->gates[i], &res, d);
		failed |= res.failed;
	}
	return failed;
}

static int run_diff(struct diff_run *run, struct err *err)
{
	CLEANUP(diff_done) struct diff d = {0};
	int r;

	run->opener = opener_new(run->paths, run->history.given ? 0 : run->n_before + run->n_after);
	r = run->opener ? open_outputs(run, err) : err_set(err, -ENOMEM, "out of memory");
	if (r == 0)
		r = read_all(run, err);
	if (r == 0 && !run->tiers)
		r = diff_build(borrow(run), run->n_before, run->n_after, &run->o, &d, err);
	while (r == 0 && run->n_written < run->n_opened)
		r = write_one(run, &d, err);
	return r == 0 && !run->tiers ? judge_gates(run, &d, err) : r;
}

int cmd_diff(int argc, char **argv)
{
	CLEANUP(run_done_at_exit) struct diff_run *run = calloc(1, sizeof(*run));
	struct err err = {0};
	int r;

	if (!run) {
		log_error("out of memory");
		return EXIT_FAILED;
	}
	run->o.min_effect = -1;
	run->work = 1;
	r = parse(argc, argv, run, &err);
	if (r == 0 && run->help)
		return cmd_help_on("diff");
	if (r == 0)
		r = check_formats(run, &err);
	if (r < 0)
		return cmd_fail(EXIT_USAGE, &err);
	r = run_diff(run, &err);
	return r < 0 ? cmd_fail(EXIT_FAILED, &err) : r > 0 ? EXIT_GATE : EXIT_WRITTEN;
}
