js_unit_test(input_folded js_input js_output js_profile)
target_compile_definitions(test_input_folded PRIVATE
  GOLDEN="${CMAKE_CURRENT_SOURCE_DIR}/golden")
js_unit_test(input_hprof js_input js_output js_profile)
js_unit_test(output_pprof js_input js_output js_profile)
target_compile_definitions(test_output_pprof PRIVATE
  GOLDEN="${CMAKE_CURRENT_SOURCE_DIR}/golden")
js_unit_test(input_pprof js_input js_output js_profile)
