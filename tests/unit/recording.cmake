# The fuzzers' inputs, without libFuzzer.
if(NOT JS_FUZZ)
  add_subdirectory(${CMAKE_SOURCE_DIR}/tests/fuzz ${CMAKE_BINARY_DIR}/tests/fuzz)
endif()
js_unit_test(recording js_recording js_native js_base PkgConfig::ZSTD)
js_unit_test(recording_replay js_session js_recording js_output js_profile js_base)
js_unit_test(readers js_session js_recording js_unwind js_hotspot js_native js_base)
# A libjvm.so that only exports the table's name: what a loader has mapped in part.
add_library(partial_libjvm SHARED ${CMAKE_SOURCE_DIR}/tests/support/partial_libjvm.c)
set_target_properties(partial_libjvm PROPERTIES OUTPUT_NAME jvm LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/partial)
add_dependencies(test_readers partial_libjvm)
target_compile_definitions(test_readers PRIVATE PARTIAL_LIBJVM="${CMAKE_CURRENT_BINARY_DIR}/partial/libjvm.so")
js_unit_test(unknown_jdk js_session js_recording js_unwind js_hotspot js_native js_base)
