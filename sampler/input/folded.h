#ifndef JS_INPUT_FOLDED_H
#define JS_INPUT_FOLDED_H

struct err;
struct named_builder;
struct reader_report;
struct source;

/*
 * Reads folded lines into the builder: frames root first, with `;` between them, a space, a count. Inlined frames
 * (`_[i]`) that follow a compiled one become lines of its location; synthetic roots also become labels of the
 * samples. Unreadable lines go into the report. 0, -ENOMEM or an error of the source.
 */
int folded_read(struct source *s, struct named_builder *b, struct reader_report *report, struct err *err);

#endif
