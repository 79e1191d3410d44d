# A running JVM, read from outside and compared with what it says of itself.
add_executable(live_hotspot ${CMAKE_CURRENT_LIST_DIR}/live_hotspot.c
  ${CMAKE_CURRENT_LIST_DIR}/jvm_target.c)
target_link_libraries(live_hotspot PRIVATE js_hotspot js_target js_base PkgConfig::ELF)
