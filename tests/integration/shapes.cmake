foreach(shape osr osr-int deep deep-int twins twins-int truncated huge huge-int exceptions exceptions-int overflow unload
    handles deopt thread-names hostile-names forbidden-names jni jni-int jni-format jni-bare redefine frame-pointers c1
    one-heap wide-code epsilon compile-all)
  js_integration_test(shapes.17.${shape} 90 shapes.py --jdk 17 ${shape})
endforeach()
foreach(shape osr deep huge exceptions overflow unload handles deopt thread-names hostile-names jni jni-bare
    redefine virtual)
  js_integration_test(shapes.new.${shape} 90 shapes.py --jdk 25,21 ${shape})
endforeach()
js_integration_test(shapes.17.storm 90 shapes.py --jdk 17 storm)
foreach(shape virtual-names virtual-many virtual-many-g1 virtual-many-z virtual-many-suspend virtual-many-int panama)
  js_integration_test(shapes.new.${shape} 90 shapes_later.py --jdk 25,21 ${shape})
endforeach()
js_integration_test(shapes.new.virtual-nobody 90 shapes_later.py --jdk 25,21 --nobody virtual-many)
# The checks themselves, without a recording: names are patched, frames left out.
js_integration_test(shapes.17.notice 60 shapes_notice.py --jdk 17)
js_integration_test(shapes.new.notice 60 shapes_notice.py --jdk 25,21)
js_integration_sanitized(shapes.17.deopt)
js_integration_sanitized(shapes.17.hostile-names)
js_integration_sanitized(shapes.17.unload)
js_integration_sanitized(shapes.new.virtual)
