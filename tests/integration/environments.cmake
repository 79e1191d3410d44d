# Together two to three minutes, a quarter of an hour beside twenty others; the last two are also for the
# sanitizer builds.
js_integration_test(environments_settings 600 environments_rights.py paranoid locked_memory kernel_names throttled)
js_integration_alone(environments_settings)
js_integration_test(environments_rights 600 environments_rights.py capabilities seccomp users descriptors threads)
js_integration_test(environments_jvms 600 environments_jvms.py broken replaced upgraded_library)
js_integration_test(environments_places 600 environments_places.py namespaces rootless nobody_inside
  same_container chroot)
js_integration_test(containers 600 containers.py)
js_integration_test(environments_life 600 environments_life.py)
js_integration_test(environments_hostile 600 environments_places.py mapped_traps perfmap_traps changing_maps
  bits32)
js_integration_test(environments_garbage 600 environments_jvms.py other_vms garbage)
js_integration_sanitized(environments_hostile)
js_integration_sanitized(environments_garbage)
