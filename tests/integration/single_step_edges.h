#ifndef JS_TESTS_SINGLE_STEP_EDGES_H
#define JS_TESTS_SINGLE_STEP_EDGES_H

#include <stdbool.h>

/* May `caller` call `callee`, by the source of tests/java/step/Step.java? Names: "Step.round". */
bool edge_allowed(const char *caller, const char *callee);

#endif
