# Shares are reported here with a bar that only a broken attribution misses; how good it is, is what
# `tests/integration/truth.py --runs 5 --duration 60 --bar 1.5` says. Complete stacks and names have
# their real bars. samples x period within 2 % holds on a quiet machine (truth.py --bar-period 2); with
# others running beside it, -7.6 to +6.3 % were seen in runs as short as these.
set(truth_common --warmup 12 --duration 10 --bar-complete 99.9 --bar-period 10 --no-unknown)
js_integration_test(truth.17.g1 120 truth.py --jdk 17 --gc G1 --bar 8 ${truth_common})
js_integration_test(truth.17.parallel 120 truth.py --jdk 17 --gc Parallel --bar 40 ${truth_common})
# Interpreted recursion is deeper than the kernel copies: 99.96 % here, less when others take the CPUs.
js_integration_test(truth.17.interpreted 120 truth.py --jdk 17 --mode int --bar 8 ${truth_common}
  --bar-complete 99.5)
js_integration_test(truth.new.g1 120 truth.py --jdk 25,21 --gc G1 --bar 8 ${truth_common})
js_integration_test(truth.new.z 120 truth.py --jdk 25,21 --gc Z --bar 40 ${truth_common})
js_integration_test(truth.smoke 120 truth.py --jdk 17 --freq 199 --warmup 5 --duration 5
  --min-samples 200 --bar-complete 99)
js_integration_sanitized(truth.smoke)
foreach(gc Serial Parallel G1 Z)
  string(TOLOWER ${gc} lower)
  js_integration_test(javac.17.${lower} 120 javac.py --jdk 17 --gc ${gc} --duration 8)
endforeach()
js_integration_test(javac.new.z 120 javac.py --jdk 25,21 --gc Z --duration 8)
js_integration_test(kill.17 120 kill.py --jdk 17 --times 100)
js_integration_test(kill.17.suspend 200 kill.py --jdk 17 --times 60 --suspend)
