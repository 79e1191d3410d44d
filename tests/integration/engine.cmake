add_executable(engine_load ${CMAKE_CURRENT_SOURCE_DIR}/engine_load.c)
target_link_libraries(engine_load PRIVATE Threads::Threads)
add_executable(engine_probe ${CMAKE_CURRENT_SOURCE_DIR}/engine_probe.c)
target_link_libraries(engine_probe PRIVATE js_engine m)
