#ifndef JS_BRIDGE_STACKS_H
#define JS_BRIDGE_STACKS_H

#include "jvm-bridge/host/base/bridge.h"

/*
 * stacks=signal: GetCallTrace and ThreadHasRun of a suspended thread tell where it used the CPU, instead of where it
 * could be stopped. Each thread that an agent suspends gets a clock (clock.h) that expires whenever the thread has used as
 * much CPU time as lies between two suspensions. In user mode, a signal takes its stack then; the next suspension shows
 * that.
 */
struct thread;

int stacks_open(void); /* call in Agent_OnLoad or Agent_OnAttach. <0: impossible, said */
bool stacks_are_open(void);
void stacks_live(JNIEnv *env, uint64_t env_distance); /* once JNI works */

void stacks_end(struct thread *t); /* the calling thread ends; NULL: none */

/* What agents call. Without a clock, as thread_suspend_list() and its like. */
void stacks_suspend_list(jint n, JNIEnv **envs, jint *results);
void stacks_resume_list(jint n, JNIEnv **envs, jint *results);
jboolean stacks_has_run(JNIEnv *env);
void stacks_trace_get(JVMPI_CallTrace *trace, jint depth);

#endif
