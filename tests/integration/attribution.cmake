add_executable(attribution_agree
  ${CMAKE_CURRENT_LIST_DIR}/attribution_agree.c
  ${CMAKE_CURRENT_LIST_DIR}/attribution_dump.c
  ${CMAKE_CURRENT_LIST_DIR}/attribution_reference.c
  ${CMAKE_CURRENT_LIST_DIR}/attribution_samples.c)
target_link_libraries(attribution_agree PRIVATE js_attribution js_hotspot js_native)
