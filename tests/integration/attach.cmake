# The attach client: JVMs of all kinds, agents that load and that do not.
add_executable(attach_probe ${CMAKE_CURRENT_LIST_DIR}/attach_probe.c)
target_link_libraries(attach_probe PRIVATE js_attach js_target js_base)

js_integration_test(attach 120 attach.py)
js_integration_sanitized(attach)
js_integration_test(attach_hostile 120 attach_hostile.py)
js_integration_sanitized(attach_hostile)
set_property(TEST integration.attach integration.attach_hostile APPEND PROPERTY
  ENVIRONMENT ATTACH_PROBE=$<TARGET_FILE:attach_probe>)
