#ifndef JS_HPROF_DUMP_H
#define JS_HPROF_DUMP_H

/*
 * Output at the JVM's end, at SIGQUIT, and for commands. One dump at a time. All functions take hprof.data, and
 * release it while the JVM dumps its heap or its monitors.
 */
int dump_init(void); /* 0, or -ENOMEM */
void dump_write(void); /* what was counted since the last dump, in the manual's order; resets the counts */
void dump_end(void); /* the last dump, if doe=y, and the end of the output */

/* Parts of a dump. A part that the options do not select writes nothing. */
void dump_heap(void);
void dump_sites(unsigned flags, double cutoff);
void dump_summary(void);
void dump_cpu(double cutoff);
void dump_traces(void);
void dump_cpu_clear(void); /* with hprof.data */

#endif
