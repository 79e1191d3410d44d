# Saved profiles, in our own and in other people's tools.
foreach(subject record convert go speedscope)
  js_integration_test(formats.${subject} 120 formats.py ${subject})
endforeach()
js_integration_sanitized(formats.convert)
