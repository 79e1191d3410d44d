# What scripts/test decides with.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
add_test(NAME unit.count_tests COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/unit/count_tests.py)
set_tests_properties(unit.count_tests PROPERTIES LABELS unit TIMEOUT 60)
