js_unit_test(unwind_flow js_unwind)
js_unit_test(unwind_walk js_unwind)
target_sources(test_unwind_walk PRIVATE ${CMAKE_CURRENT_LIST_DIR}/unwind_fake.c)
