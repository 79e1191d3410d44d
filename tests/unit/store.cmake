js_unit_test(store js_store js_input js_output js_profile)
target_compile_definitions(test_store PRIVATE
  GOLDEN="${CMAKE_CURRENT_SOURCE_DIR}/golden")
js_unit_test(store_series js_store js_profile)
js_unit_test(store_cost js_store js_profile)
js_unit_test(store_compact js_store js_output js_profile)
js_unit_test(store_harm js_store js_profile)
js_unit_test(store_power js_store js_profile)
js_unit_test(store_names js_store js_profile)
