add_executable(keeper_fill ${CMAKE_CURRENT_SOURCE_DIR}/keeper_fill.c)
target_link_libraries(keeper_fill PRIVATE js_keeper js_output js_profile)
js_integration_test(history 60 history.py)
js_integration_sanitized(history)

add_executable(store_month ${CMAKE_CURRENT_SOURCE_DIR}/store_month.c)
target_link_libraries(store_month PRIVATE js_store js_input js_profile)
