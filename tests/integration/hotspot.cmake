# A running JVM, read from outside and compared with what it says of itself.
add_executable(live_hotspot ${CMAKE_CURRENT_LIST_DIR}/live_hotspot.c
  ${CMAKE_CURRENT_LIST_DIR}/jvm_target.c)
target_link_libraries(live_hotspot PRIVATE js_hotspot js_target js_base PkgConfig::ELF)

# js_live_test(NAME JDK OPTIONS...): the JDK's major version; skipped where it is not installed.
function(js_live_test name jdk)
  js_integration_test(live.${name} 300 live_hotspot.py --jdk ${jdk} ${ARGN})
  set_property(TEST integration.live.${name} APPEND PROPERTY LABELS jvm)
endfunction()

file(GLOB live_jdks /usr/lib/jvm/*/release)
foreach(release IN LISTS live_jdks)
  file(STRINGS ${release} version REGEX "^JAVA_VERSION=")
  if(version MATCHES "\"(1\\.)?([0-9]+)")
    list(APPEND live_majors ${CMAKE_MATCH_2})
  endif()
endforeach()
list(REMOVE_DUPLICATES live_majors)
foreach(major IN LISTS live_majors)
  js_live_test(${major} ${major} --gc G1,Serial,Z)
  js_live_test(${major}.one-heap ${major} --gc Parallel --flags
    "-XX:-SegmentedCodeCache -XX:-UseCompressedOops -XX:-UseCompressedClassPointers")
endforeach()
