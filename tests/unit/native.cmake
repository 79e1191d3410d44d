pkg_check_modules(UNWIND REQUIRED IMPORTED_TARGET libunwind-generic)

set(native_samples ${CMAKE_CURRENT_BINARY_DIR}/native_samples)
set(native_support ${CMAKE_CURRENT_SOURCE_DIR}/support)
add_custom_command(OUTPUT ${native_samples}/bare.so
  COMMAND ${native_support}/native_samples.sh ${CMAKE_C_COMPILER} ${CMAKE_OBJCOPY}
    ${native_support}/native_sample.c ${native_samples}
  DEPENDS ${native_support}/native_samples.sh ${native_support}/native_sample.c)
add_custom_target(native_samples DEPENDS ${native_samples}/bare.so)

js_unit_test(native_cfi js_native PkgConfig::UNWIND)
js_unit_test(native_dso js_native)
js_unit_test(native_modmap js_modules)
js_unit_test(native_shared js_modules)
js_unit_test(native_text js_native)
foreach(test native_dso native_modmap native_shared)
  add_dependencies(test_${test} native_samples)
  target_compile_definitions(test_${test} PRIVATE SAMPLES="${native_samples}"
    OBJCOPY="${CMAKE_OBJCOPY}")
endforeach()
