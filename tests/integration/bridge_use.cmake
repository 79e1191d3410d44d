# The sampler with the bridge: --bridge, --symbols, list, and what can go wrong.
js_integration_test(bridge_use 180 bridge_use.py)
js_integration_all_processes(bridge_use)
js_integration_sanitized(bridge_use)
js_integration_test(bridge_hostile 120 bridge_hostile.py)

# One recording named by the JVM's memory and by the bridge's stream.
add_executable(symbols_agree ${CMAKE_CURRENT_LIST_DIR}/symbols_agree.c)
target_link_libraries(symbols_agree PRIVATE js_session Threads::Threads)
js_integration_test(symbols_agree.17 60 symbols_agree.py --jdk 17)
js_integration_test(symbols_agree.new 60 symbols_agree.py --jdk 25,21)
js_integration_test(bridge_stall 300 bridge_stall.py)
js_integration_alone(bridge_stall)
