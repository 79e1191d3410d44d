js_unit_test(wire js_peer)

# With the bridge's connection played by the test.
js_unit_test(gone_code js_hotspot js_target js_peer)
target_sources(test_gone_code PRIVATE ${CMAKE_SOURCE_DIR}/sampler/session/bridge/gone_code.c
  ${CMAKE_CURRENT_SOURCE_DIR}/support/fake_jvm.c)
target_include_directories(test_gone_code PRIVATE ${CMAKE_SOURCE_DIR})
