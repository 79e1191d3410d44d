# The flame graph page in headless Chromium.
add_executable(page_profile ${CMAKE_CURRENT_LIST_DIR}/page_profile.c)
target_link_libraries(page_profile PRIVATE js_output js_profile)
foreach(subject use filters hostile large deep slices)
  js_integration_test(page.${subject} 120 page.py ${subject} $<TARGET_FILE:page_profile>)
  set_property(TEST integration.page.${subject} APPEND PROPERTY LABELS page)
endforeach()
js_integration_test(page.javac 180 page.py javac)
set_property(TEST integration.page.javac APPEND PROPERTY LABELS page)
