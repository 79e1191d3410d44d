js_unit_test(profile js_profile)
js_unit_test(profile_size js_profile)
js_unit_test(profile_named js_profile)
