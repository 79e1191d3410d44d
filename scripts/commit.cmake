# cmake -DSOURCE=DIRECTORY -DOUTPUT=commit.h -P commit.cmake: writes the commit of the sources and its day. Nothing
# else about the time or the place of a build goes into the program. Where there is no git, it is what `git archive`
# wrote into commit.txt. The file is touched only if it changes.
set(git git -c safe.directory=* -C ${SOURCE})
execute_process(COMMAND ${git} rev-parse --show-prefix OUTPUT_VARIABLE below RESULT_VARIABLE status
  ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
if(status EQUAL 0 AND below STREQUAL "")
  execute_process(COMMAND ${git} log -1 --format=%H\ %cs OUTPUT_VARIABLE commit ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  execute_process(COMMAND ${git} diff-index --quiet HEAD RESULT_VARIABLE changed OUTPUT_QUIET ERROR_QUIET)
else()
  file(STRINGS ${SOURCE}/scripts/commit.txt commit LIMIT_COUNT 1)
  set(changed 0)
endif()
if(commit MATCHES "^([0-9a-f]+) ([0-9]+-[0-9]+-[0-9]+)$")
  string(SUBSTRING ${CMAKE_MATCH_1} 0 12 id)
  set(commit "${id} of ${CMAKE_MATCH_2}")
  if(NOT changed EQUAL 0)
    string(APPEND commit ", with changes")
  endif()
else()
  set(commit "unknown")
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#define JS_COMMIT \"${commit}\"\n")
