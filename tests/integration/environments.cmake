# Each about 20 to 45 s.
foreach(subject rights jvms places life)
  js_integration_test(environments_${subject} 180 environments_${subject}.py)
endforeach()
# What is cheap, and what is full of garbage.
js_integration_test(environments_hostile 180 environments_places.py mapped_traps perfmap_traps changing_maps
  bits32)
js_integration_test(environments_garbage 180 environments_jvms.py other_vms garbage)
js_integration_sanitized(environments_hostile)
js_integration_sanitized(environments_garbage)
