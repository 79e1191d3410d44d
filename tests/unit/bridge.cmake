# Sources instead of the libraries: those export their entry points only.
js_unit_test(bridge_options)
target_sources(test_bridge_options PRIVATE ${CMAKE_SOURCE_DIR}/jvm-bridge/host/agents/options.c)
target_include_directories(test_bridge_options PRIVATE ${CMAKE_SOURCE_DIR})

js_unit_test(hprof_options)
target_sources(test_hprof_options PRIVATE ${CMAKE_SOURCE_DIR}/jvm-bridge/hprof/base/options.c)
target_include_directories(test_hprof_options PRIVATE ${CMAKE_SOURCE_DIR})

js_unit_test(hprof_heap_read)
target_sources(test_hprof_heap_read PRIVATE ${CMAKE_SOURCE_DIR}/jvm-bridge/hprof/tables/heap_read.c
  ${CMAKE_SOURCE_DIR}/jvm-bridge/hprof/tables/classes.c ${CMAKE_SOURCE_DIR}/jvm-bridge/hprof/base/addresses.c)
target_include_directories(test_hprof_heap_read PRIVATE ${CMAKE_SOURCE_DIR})
target_include_directories(test_hprof_heap_read SYSTEM PRIVATE ${JDK_INCLUDE} ${JDK_INCLUDE}/linux)

js_unit_test(hprof_traces)
target_sources(test_hprof_traces PRIVATE ${CMAKE_SOURCE_DIR}/jvm-bridge/hprof/tables/traces.c ${CMAKE_SOURCE_DIR}/jvm-bridge/hprof/tables/threads.c
  ${CMAKE_SOURCE_DIR}/jvm-bridge/hprof/tables/classes.c ${CMAKE_SOURCE_DIR}/jvm-bridge/hprof/base/addresses.c)
target_include_directories(test_hprof_traces PRIVATE ${CMAKE_SOURCE_DIR})
target_include_directories(test_hprof_traces SYSTEM PRIVATE ${JDK_INCLUDE} ${JDK_INCLUDE}/linux)

js_unit_test(bridge_stream Threads::Threads)
target_sources(test_bridge_stream PRIVATE ${CMAKE_SOURCE_DIR}/jvm-bridge/stream/ring.c
  ${CMAKE_SOURCE_DIR}/jvm-bridge/stream/sent_methods.c ${CMAKE_SOURCE_DIR}/jvm-bridge/stream/record.c)
target_include_directories(test_bridge_stream PRIVATE ${CMAKE_SOURCE_DIR})
target_include_directories(test_bridge_stream SYSTEM PRIVATE ${JDK_INCLUDE} ${JDK_INCLUDE}/linux)

js_unit_test(versions)
target_sources(test_versions PRIVATE ${CMAKE_SOURCE_DIR}/jvm-bridge/host/base/versions.c)
target_include_directories(test_versions PRIVATE ${CMAKE_SOURCE_DIR})
target_include_directories(test_versions SYSTEM PRIVATE ${JDK_INCLUDE} ${JDK_INCLUDE}/linux)

js_unit_test(method_list)
target_sources(test_method_list PRIVATE ${CMAKE_SOURCE_DIR}/jvm-bridge/host/base/method_list.c)
target_include_directories(test_method_list PRIVATE ${CMAKE_SOURCE_DIR})
target_include_directories(test_method_list SYSTEM PRIVATE ${JDK_INCLUDE} ${JDK_INCLUDE}/linux)

js_unit_test(records)
target_sources(test_records PRIVATE ${CMAKE_SOURCE_DIR}/jvm-bridge/host/stacks/records.c)
target_include_directories(test_records PRIVATE ${CMAKE_SOURCE_DIR})
target_include_directories(test_records SYSTEM PRIVATE ${JDK_INCLUDE} ${JDK_INCLUDE}/linux)

js_unit_test(id_record)
target_sources(test_id_record PRIVATE ${CMAKE_SOURCE_DIR}/jvm-bridge/host/id_record.c)
target_include_directories(test_id_record PRIVATE ${CMAKE_SOURCE_DIR})
target_include_directories(test_id_record SYSTEM PRIVATE ${JDK_INCLUDE} ${JDK_INCLUDE}/linux)

# What inserts calls is plain C without the JVM's headers.
file(GLOB rewrite_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/jvm-bridge/host/rewrite/*.c)
js_unit_test(rewrite)
target_sources(test_rewrite PRIVATE ${rewrite_sources})
target_include_directories(test_rewrite PRIVATE ${CMAKE_SOURCE_DIR})

js_unit_test(calls)
target_sources(test_calls PRIVATE ${CMAKE_SOURCE_DIR}/jvm-bridge/host/calls.c)
target_include_directories(test_calls PRIVATE ${CMAKE_SOURCE_DIR})

js_unit_test(jvmpi)
target_include_directories(test_jvmpi PRIVATE ${CMAKE_SOURCE_DIR})
target_include_directories(test_jvmpi SYSTEM PRIVATE ${JDK_INCLUDE} ${JDK_INCLUDE}/linux)

find_package(Python3 REQUIRED COMPONENTS Interpreter)
add_test(NAME unit.bridge_symbols COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/unit/bridge_symbols.py
  $<TARGET_FILE:jsampler-bridge> $<TARGET_FILE:jsampler-stream> $<TARGET_FILE:jsampler-hprof>)
set_tests_properties(unit.bridge_symbols PROPERTIES LABELS unit TIMEOUT 60)

# The page of what the bridge has of JVMPI: complete, and each row with a check that exists.
add_test(NAME unit.jvmpi_rows COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/unit/jvmpi_rows.py)
set_tests_properties(unit.jvmpi_rows PROPERTIES LABELS unit TIMEOUT 60)

# Old sources, C and C++, against the header.
add_test(NAME unit.jvmpi_idioms COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/unit/jvmpi_idioms.py
  ${CMAKE_C_COMPILER} ${JDK_INCLUDE})
set_tests_properties(unit.jvmpi_idioms PROPERTIES LABELS unit TIMEOUT 60 SKIP_RETURN_CODE 77)
