# The fuzzers' inputs, without libFuzzer.
if(NOT JS_FUZZ)
  add_subdirectory(${CMAKE_SOURCE_DIR}/tests/fuzz ${CMAKE_BINARY_DIR}/tests/fuzz)
endif()
js_unit_test(recording js_recording js_native js_base PkgConfig::ZSTD)
js_unit_test(recording_replay js_session js_recording js_output js_profile js_base)
js_unit_test(readers js_session js_recording js_unwind js_hotspot js_native js_base)
js_unit_test(unknown_jdk js_session js_recording js_unwind js_hotspot js_native js_base)
