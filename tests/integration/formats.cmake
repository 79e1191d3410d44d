# Saved profiles, in our own and in other people's tools.
foreach(subject record convert go speedscope)
  js_integration_test(formats.${subject} 120 formats.py ${subject})
endforeach()
js_integration_sanitized(formats.convert)
# What Go compiles for the first of them serves the others.
set_property(TEST integration.formats.record integration.formats.go PROPERTY RESOURCE_LOCK go)
