js_unit_test(profile js_profile)
js_unit_test(profile_size js_profile)
js_unit_test(profile_named js_profile)
js_unit_test(profile_compile js_profile)
js_unit_test(profile_slices js_profile)
js_unit_test(profile_oom js_output js_profile)
target_link_options(test_profile_oom PRIVATE
  -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc)
