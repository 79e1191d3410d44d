js_unit_test(unwind_arch js_unwind)
js_unit_test(unwind_flow js_unwind)
js_unit_test(unwind_walk js_unwind)
js_unit_test(unwind_frozen js_unwind)
target_sources(test_unwind_arch PRIVATE ${CMAKE_CURRENT_LIST_DIR}/unwind_fake.c)
target_sources(test_unwind_frozen PRIVATE ${CMAKE_CURRENT_LIST_DIR}/unwind_fake.c)
target_sources(test_unwind_walk PRIVATE ${CMAKE_CURRENT_LIST_DIR}/unwind_fake.c)
target_link_options(test_unwind_walk PRIVATE
  -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc)
