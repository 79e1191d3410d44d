add_executable(engine_load ${CMAKE_CURRENT_SOURCE_DIR}/engine_load.c)
target_link_libraries(engine_load PRIVATE Threads::Threads)
# What is sampled is no subject of the sanitizers: its threads race for the CPUs.
target_compile_options(engine_load PRIVATE -fno-sanitize=all)
target_link_options(engine_load PRIVATE -fno-sanitize=all)
add_executable(engine_probe ${CMAKE_CURRENT_SOURCE_DIR}/engine_probe.c)
target_link_libraries(engine_probe PRIVATE js_perf js_engine m)

foreach(subject truth life refusals counts)
  js_integration_test(engine_${subject} 600 engine.py ${subject} $<TARGET_FILE:engine_probe>
    $<TARGET_FILE:engine_load>)
  set_property(TEST integration.engine_${subject} APPEND PROPERTY LABELS perf)
endforeach()
js_integration_alone(engine_truth engine_counts)
js_integration_sanitized(engine_life)
js_integration_sanitized(engine_refusals)
