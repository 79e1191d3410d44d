# What parses saved files holds nothing.
add_library(closed_trials SHARED ${CMAKE_CURRENT_LIST_DIR}/closed_trials.c)
target_link_libraries(closed_trials PRIVATE PkgConfig::ZSTD PkgConfig::ZLIB PkgConfig::ELF)
js_integration_test(closed 600 closed.py)
js_integration_all_processes(closed)
js_integration_test(closed_rights 120 closed_rights.py)
js_integration_test(closed_daemon 120 closed_daemon.py)
