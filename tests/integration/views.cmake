# Saved profiles: reports, differences, gates.
js_integration_test(views 180 views.py)
js_integration_sanitized(views)
set_property(TEST integration.views PROPERTY RESOURCE_LOCK go)
js_integration_test(diff_page 120 diff_page.py)
set_property(TEST integration.diff_page APPEND PROPERTY LABELS page)
# 400 % slower shows at 30 standard errors where 6 are needed, in recordings of 2,500 samples on a machine
# with a load of 20. One recording cut in two by chance differs by 1 point (a deviation) in a method of 20 %: 6 is
# one in a billion. 30 % and 50,000 samples a side are measured by hand (diff_runs.py --same 6).
js_integration_test(diff_runs 700 diff_runs.py --jdk 17 --slow 400 --samples 2500 --warmup 2 --gate 6
  --relative 50)
