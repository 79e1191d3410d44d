#ifndef JS_INPUT_FOLDED_H
#define JS_INPUT_FOLDED_H

struct err;
struct named_builder;
struct reader_report;
struct source;

/*
 * Folded lines into the builder: frames root first, `;` between them, a space, a count. Inlined
 * frames (`_[i]`) behind a compiled one become lines of its location; synthetic roots become the
 * samples' labels too. Lines that cannot be read go into the report. 0, -ENOMEM or what the source
 * answers.
 */
int folded_read(struct source *s, struct named_builder *b, struct reader_report *report,
		struct err *err);

#endif
