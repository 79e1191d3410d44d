add_executable(attribution_agree
  ${CMAKE_CURRENT_LIST_DIR}/attribution_agree.c
  ${CMAKE_CURRENT_LIST_DIR}/attribution_dump.c
  ${CMAKE_CURRENT_LIST_DIR}/attribution_foreign.c
  ${CMAKE_CURRENT_LIST_DIR}/attribution_reference.c
  ${CMAKE_CURRENT_LIST_DIR}/attribution_samples.c
  ${CMAKE_CURRENT_LIST_DIR}/attribution_score.c)
target_link_libraries(attribution_agree PRIVATE js_attribution js_hotspot js_modules js_native)

# The bars of the attribution issue for javac. attribution.py allows four standard errors beyond them: if
# samples were independent, code right at a bar would miss it in one run of 30,000. Runs gave method 77.7
# to 85.6, child 87.8 to 91.5, wrong 6.3 to 10.5; by the present rules surely named 98.9 and 99.5. On the
# ground-truth program the reference itself is often wrong, so that only "never worse than the address
# rule" counts.
set(attribution_bars --bar-method 76 --bar-child 88 --bar-wrong 11 --bar-sure 97 --duration 25)
js_integration_test(attribution.javac.17 400 attribution.py --jdk 17 --workload javac
  ${attribution_bars})
js_integration_test(attribution.javac.new 400 attribution.py --jdk 25,21 --workload javac
  ${attribution_bars})
js_integration_test(attribution.truth.g1 200 attribution.py --jdk 17 --workload truth --gc G1)
js_integration_test(attribution.truth.parallel 200 attribution.py --jdk 17 --workload truth
  --gc Parallel)
js_integration_wide(attribution.javac.17 attribution.javac.new)
