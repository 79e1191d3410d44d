#ifndef JS_DOCTOR_CHECKS_PRINT_H
#define JS_DOCTOR_CHECKS_PRINT_H

struct checks;

/* Print to stdout. Text shows each check wrapped to 80 columns; JSON has the whole list. */
void checks_print_text(const struct checks *c);
int checks_print_json(const struct checks *c); /* -1: writing failed */

#endif
