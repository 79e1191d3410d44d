foreach(program calls signals churn)
  add_executable(eintr_${program} ${CMAKE_CURRENT_SOURCE_DIR}/../native/eintr_${program}.c)
  target_link_libraries(eintr_${program} PRIVATE Threads::Threads)
  # A sanitizer has signal handlers and threads of its own.
  target_compile_options(eintr_${program} PRIVATE -fno-sanitize=all)
  target_link_options(eintr_${program} PRIVATE -fno-sanitize=all)
endforeach()

# Together about 60 s. What they count is exact (an EINTR, a lost signal), or has bars that make room for chance
# and for what else the machine does; suspend.py --seconds 20 --exact wall is for a quiet machine.
js_integration_test(suspend_harm 400 suspend.py calls signals churn held tracers --seconds 3)
js_integration_test(suspend_wall 400 suspend.py wall chosen refused --seconds 6)
js_integration_test(suspend_kill 400 suspend.py kill --times 30)
js_integration_sanitized(suspend_harm)
set_property(TEST integration.suspend_harm integration.suspend_wall integration.suspend_kill
  APPEND PROPERTY ENVIRONMENT "EINTR_PROGRAMS=${CMAKE_CURRENT_BINARY_DIR}")

# For scripts/bench --has-run.
add_executable(has_run_mix ${CMAKE_CURRENT_SOURCE_DIR}/../native/has_run_mix.c)
target_link_libraries(has_run_mix PRIVATE Threads::Threads)
add_executable(has_run_probe ${CMAKE_CURRENT_SOURCE_DIR}/has_run_probe.c)
target_link_libraries(has_run_probe PRIVATE js_suspend js_engine)
add_custom_target(has_run_bench DEPENDS jsampler has_run_mix has_run_probe eintr_calls eintr_signals)
