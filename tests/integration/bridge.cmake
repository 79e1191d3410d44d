# Test agents: JVMPI agents like any other, loaded into JVMs, hence without sanitizers.
function(js_test_agent name)
  list(TRANSFORM ARGN PREPEND ${CMAKE_SOURCE_DIR}/tests/jvmpi/)
  add_library(jvmpi_${name} MODULE ${ARGN})
  target_include_directories(jvmpi_${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_include_directories(jvmpi_${name} SYSTEM PRIVATE ${JDK_INCLUDE} ${JDK_INCLUDE}/linux)
  target_compile_options(jvmpi_${name} PRIVATE -fno-sanitize=all -fPIC)
  target_link_options(jvmpi_${name} PRIVATE -fno-sanitize=all)
endfunction()

js_test_agent(checker check.c checker.c checker_functions.c checker_monitors.c checker_ids.c checker_told.c burner.c)
js_test_agent(tracer check.c tracer.c)
js_test_agent(counter check.c counter.c)
js_test_agent(calls check.c calls.c)
js_test_agent(sampler check.c sampler.c)
js_test_agent(edges check.c edges.c burner.c)
js_test_agent(churn check.c churn.c)
js_test_agent(holds check.c holds.c)
js_test_agent(defines check.c defines.c)
js_test_agent(events check.c events.c events_methods.c events_steps.c events_monitors.c events_deadlock.c events_alloc.c
  events_refs.c events_hook.c events_heap.c events_arena.c events_storm.c
  events_unload.c events_attach.c)

js_integration_test(bridge_checks 300 bridge.py checks)
js_integration_test(bridge_hosting 300 bridge.py hosting)
js_integration_test(bridge_agents 300 bridge.py agents)
js_integration_test(bridge_edges 300 bridge_edges.py)
js_integration_test(bridge_holds 300 bridge_holds.py)
js_integration_test(bridge_defines 300 bridge_defines.py)
js_integration_test(bridge_events 600 bridge_events.py)
js_integration_test(bridge_calls 600 bridge_calls.py)
js_integration_test(examples 300 examples.py)
js_integration_test(hprof 300 hprof.py)
js_integration_test(hprof_heap 300 hprof_heap.py)
js_integration_test(bridge_stream 300 bridge_stream.py stream)
js_integration_test(bridge_attach 300 bridge_stream.py attach)

# No JVM stands still under load. That the test would see one is shown by hand, with a bridge that makes the wrong call:
# bridge_churn.py --flush --jdk 17 --runs 40
add_executable(native_stacks ${CMAKE_CURRENT_LIST_DIR}/native_stacks.c)
target_link_libraries(native_stacks PRIVATE dw)
get_target_property(bridge_sources jsampler-bridge SOURCES)
list(TRANSFORM bridge_sources PREPEND ${CMAKE_SOURCE_DIR}/jvm-bridge/)
js_jvm_library(jvmpi_flush ../../jvm-bridge/host/bridge.map ${bridge_sources}
  ${CMAKE_SOURCE_DIR}/tests/jvmpi/flush.c)
target_link_options(jvmpi_flush PRIVATE -Wl,--wrap=ids_looked_for)
js_integration_test(bridge_churn 600 bridge_churn.py)
js_integration_alone(bridge_churn)
