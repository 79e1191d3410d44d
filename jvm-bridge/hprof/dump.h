#ifndef JS_HPROF_DUMP_H
#define JS_HPROF_DUMP_H

/* Writes what was counted since the last dump, in the manual's order, and begins anew. Takes hprof.data. */
void dump_write(void);

/* The last one, if doe=y, and the end of the output. */
void dump_end(void);

#endif
