#ifndef JS_HPROF_DUMP_H
#define JS_HPROF_DUMP_H

/*
 * What is written at the JVM's end, at SIGQUIT, and for commands. One dump at a time. All functions take hprof.data, and
 * leave it while the JVM makes a dump of its heap or its monitors.
 */
int dump_init(void); /* 0, or -ENOMEM */
void dump_write(void); /* what was counted since the last dump, in the manual's order; counts begin anew */
void dump_end(void); /* the last one, if doe=y, and the end of the output */

/* Parts of it. Of a part that the options have not chosen: nothing. */
void dump_heap(void);
void dump_sites(unsigned flags, double cutoff);
void dump_summary(void);
void dump_cpu(double cutoff);
void dump_traces(void);
void dump_cpu_clear(void); /* with hprof.data */

#endif
