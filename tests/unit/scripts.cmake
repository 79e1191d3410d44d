# What scripts/test and the applications' test decide with, what the scripts and the documents say, what a group may run as root, the daemon's service.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
foreach(name apps count_tests docs group_command scripts service)
  add_test(NAME unit.${name} COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/unit/${name}.py)
  set_tests_properties(unit.${name} PROPERTIES LABELS unit TIMEOUT 300)
endforeach()
