# The command line has no library: its tests take the sources that they test.
function(js_cli_test name)
  js_unit_test(${name} js_session js_output js_base)
  foreach(source ${ARGN})
    target_sources(test_${name} PRIVATE ${CMAKE_SOURCE_DIR}/sampler/cli/${source})
  endforeach()
endfunction()

js_cli_test(cli_options options.c option_tables.c habits.c)
js_cli_test(cli_docs cmd_docs.c options.c option_tables.c habits.c)
js_unit_test(thread_dump js_session)
js_unit_test(inspect js_session)
js_unit_test(each_process js_session)
js_unit_test(unsampled js_session)
