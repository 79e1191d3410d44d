js_unit_test(resolve_java_name js_resolve)
js_unit_test(resolve_text js_resolve)
# Brings its own hotspot, modules and attribution, so that none of theirs is linked.
js_unit_test(resolve js_resolve js_output)
