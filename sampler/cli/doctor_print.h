#ifndef JS_CLI_DOCTOR_PRINT_H
#define JS_CLI_DOCTOR_PRINT_H

struct checks;

/* On stdout. The text shows each check as it stands in 80 columns; json is the whole list. */
void doctor_print_text(const struct checks *c);
int doctor_print_json(const struct checks *c); /* -1: cannot be written */

#endif
