# One cell each where threads live for less than a period: what was lost there was a third of the CPU time and more.
# All of them, with the bars that need many runs: short_threads_table.py.
js_integration_test(short_threads.17 120 short_threads.py --jdk 17 --freq 999 --option=--no-kernel --tries 3)
js_integration_test(short_threads.new 120 short_threads.py --jdk 25,21 --kind both --at-once 4 --tries 3)
# Deep stacks of brief threads, while others want the CPU: a reader in step with the samples made it 11 to 13 % too much.
js_integration_test(short_threads.rivals 120 short_threads.py --jdk 17 --life 15 --depth 6000 --rivals 2 --freq 999
  --tries 3)
js_integration_test(short_threads.user 120 short_threads.py --jdk 17 --user --life 25 --tries 3)
# Where so many want a CPU, each is switched to from one with the same parent, and the kernel may exchange the two's events.
js_integration_test(short_threads.crowd 120 short_threads.py --jdk 17 --user --life 25 --at-once 500 --tries 3)
js_integration_test(short_threads.suspend 120 short_threads.py --jdk 17 --option=--engine=suspend --user --tries 3)
# Once events move from so many threads to the CPUs, brief ones must not be counted by both: it was 52 % too much.
js_integration_test(short_threads.idle 120 short_threads.py --jdk 17 --idle 90 --duration 3 --warmup 2.5 --tries 3)
js_integration_alone(short_threads.17 short_threads.new short_threads.rivals short_threads.user short_threads.crowd
  short_threads.suspend short_threads.idle)
