#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "sampler/cli/cmd.h"
#include "sampler/cli/daemon/history.h"
#include "sampler/cli/filters.h"
#include "sampler/cli/inputs.h"
#include "sampler/cli/options/options.h"
#include "sampler/cli/options/record_values.h"
#include "sampler/cli/outputs.h"
#include "sampler/closed/opener.h"
#include "sampler/closing/closing.h"
#include "sampler/model/named_profile.h"
#include "sampler/profile/named_builder.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"

struct convert {
	struct record_options o; /* the options that convert shares with record */
	uint32_t kinds; /* --kind; 0: all */
	char **files;
	size_t n_files;
	struct history history; /* in place of files */
	struct outputs outs;
};

/* Without -o: stdout, if that is not a terminal or -f was given. */
static int choose_output(struct convert *c, struct err *err)
{
	if (c->o.n_outputs)
		return 0;
	if (isatty(STDOUT_FILENO) && !c->o.format)
		return err_set(err, -EINVAL, "convert to what? -o FILE; the ending of its name selects the format");
	c->o.outputs[c->o.n_outputs++] = "-";
	return 0;
}

static int check_files(struct convert *c, struct err *err)
{
	if (c->history.given && c->n_files)
		return err_set(err, -EINVAL, "give files, or --since for what the daemon has kept, not both");
	if (c->history.given)
		return history_check(&c->history, false, err);
	if (!c->n_files)
		return err_set(err, -EINVAL, "convert which file? jsampler convert FILE... -o FILE");
	return inputs_check((const char *const *)c->files, c->n_files, err);
}

static int parse(int argc, char **argv, struct convert *c, struct err *err)
{
	const struct option_spec *s = NULL;
	int r;

	optind = 0;
	while ((r = option_next(argc, argv, convert_option_specs, &s, err)) == 0 && s) {
		if (strcmp(s->name, "kind") == 0)
			r = filters_parse_kinds(optarg, &c->kinds, err);
		else if ((r = history_take(&c->history, s, optarg, err)) == 0)
			r = record_option_take(s, &c->o, err);
		if (r < 0)
			return r;
	}
	if (r < 0 || c->o.help)
		return r;
	c->files = argv + optind;
	c->n_files = (size_t)(argc - optind);
	r = check_files(c, err);
	return r < 0 ? r : choose_output(c, err);
}

static int write_all(struct convert *c, struct named_profile **np, struct err *err)
{
	struct writer_options wo = {.annotate = !c->o.no_annotate};
	bool empty = !(*np)->n_samples;
	int r = filters_apply(&c->o, c->kinds, np, err);

	if (r < 0)
		return r;
	if (empty)
		log_warn("no samples: there is nothing to convert");
	wo.lines = c->o.session.show.lines || (*np)->meta.lines_shown;
	return outputs_write(&c->outs, *np, NULL, &wo, err);
}

static int read_and_write(struct convert *c, struct opener *o, struct err *err)
{
	struct named_profile *np = NULL;
	int r = outputs_hand_over(&c->outs, o);

	if (r < 0)
		return err_set(err, r, "out of memory");
	r = c->history.given ? history_open(&c->history, err) : 0;
	if (r == 0)
		r = close_with(o, err);
	if (r == 0)
		r = c->history.given ? history_read(&c->history, 0, &np, err) :
				       inputs_read_merged(o, c->files, c->n_files, &np, err);
	if (r == 0)
		r = write_all(c, &np, err);
	named_profile_free(np);
	return r;
}

/* Returns the exit status. */
static int convert(struct convert *c, struct err *err)
{
	struct opener *o = opener_new((const char *const *)c->files, c->n_files);
	pid_t own = getpid(); /* files have no PID: %p needs some value */
	int r = o ? outputs_open(&c->o, &own, 1, &c->outs, err) : err_set(err, -ENOMEM, "out of memory");
	bool usage = r == -EINVAL;

	if (r == 0)
		r = read_and_write(c, o, err);
	outputs_done(&c->outs);
	opener_free(o);
	history_done(&c->history);
	return usage ? EXIT_USAGE : r < 0 ? EXIT_FAILED : EXIT_WRITTEN;
}

int cmd_convert(int argc, char **argv)
{
	struct convert c = {0};
	struct err err = {0};
	int status = parse(argc, argv, &c, &err) < 0 ? EXIT_USAGE : EXIT_WRITTEN;

	if (status == EXIT_WRITTEN && c.o.help)
		return cmd_help_on("convert");
	if (c.o.quiet)
		log_set_level(LOG_LEVEL_QUIET);
	if (status == EXIT_WRITTEN)
		status = convert(&c, &err);
	if (status != EXIT_WRITTEN)
		log_error("%s", err.msg);
	return status;
}
