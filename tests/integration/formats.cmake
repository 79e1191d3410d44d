# Saved profiles, in our own and in other people's tools.
foreach(subject record go speedscope)
  js_integration_test(formats.${subject} 120 formats.py ${subject})
endforeach()
