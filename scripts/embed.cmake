# Makes a C source of the page: joins its parts, adds hashes for the content security policy, and splits it where
# the data goes. Runs at build time.
#
# cmake -DPAGE=page.html -DSTYLE=page.css -DSCRIPT=page.js -DNAME=page -DOUTPUT=page.c -P embed.cmake
#
# esbuild has made STYLE and SCRIPT from the sources. The arrays are NAME_head and NAME_tail
# (sampler/output/page.h).
# page.html holds @STYLE@, @SCRIPT@, @STYLE_HASH@, @SCRIPT_HASH@ and, between head and tail, @DATA@.
cmake_minimum_required(VERSION 3.25)

# The policy takes the SHA-256 in base64; CMake gives hexadecimal digits. Converts three bytes at a time.
function(hash_base64 text ret)
  set(digits "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
  string(SHA256 hex "${text}")
  string(APPEND hex "00")
  set(out "")
  foreach(at RANGE 0 60 6)
    string(SUBSTRING "${hex}" ${at} 6 group)
    math(EXPR value "0x${group}")
    foreach(shift 18 12 6 0)
      math(EXPR digit "(${value} >> ${shift}) & 63")
      string(SUBSTRING "${digits}" ${digit} 1 character)
      string(APPEND out "${character}")
    endforeach()
  endforeach()
  string(SUBSTRING "${out}" 0 43 out) # 32 bytes are 43 digits and a filler
  set(${ret} "${out}=" PARENT_SCOPE)
endfunction()

function(c_array name path ret)
  file(READ ${path} hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(REGEX REPLACE "(................................................................................)"
    "\\1\n" bytes "${bytes}")
  set(${ret} "const unsigned char ${name}[] = {\n${bytes}\n};\nconst size_t ${name}_len = sizeof(${name});\n"
    PARENT_SCOPE)
endfunction()

file(READ ${STYLE} style)
file(READ ${SCRIPT} script)
string(STRIP "${style}" style)
string(STRIP "${script}" script)
if(script MATCHES "</script|<!--")
  message(FATAL_ERROR "the page's script holds what ends it")
endif()
hash_base64("${style}" style_hash)
hash_base64("${script}" script_hash)

# Attributes of one plain word need no quotes. Line breaks between tags do not matter: they are all in boxes that only
# lay out elements. Tags that end in "/>" keep their quotes.
function(squeeze_page text ret)
  string(REGEX REPLACE "=\"([A-Za-z0-9_-]+)\"([ >])" "=\\1\\2" text "${text}")
  string(REPLACE ">\n<" "><" text "${text}")
  set(${ret} "${text}" PARENT_SCOPE)
endfunction()

file(READ ${PAGE} page)
squeeze_page("${page}" page)
string(STRIP "${page}" page)
string(FIND "${page}" "@DATA@" at)
if(at LESS 0)
  message(FATAL_ERROR "${PAGE} has no @DATA@")
endif()
string(SUBSTRING "${page}" 0 ${at} head)
math(EXPR at "${at} + 6")
string(SUBSTRING "${page}" ${at} -1 tail)
foreach(part head tail)
  string(REPLACE "@STYLE_HASH@" "${style_hash}" ${part} "${${part}}")
  string(REPLACE "@SCRIPT_HASH@" "${script_hash}" ${part} "${${part}}")
  string(REPLACE "@STYLE@" "${style}" ${part} "${${part}}")
  string(REPLACE "@SCRIPT@" "${script}" ${part} "${${part}}")
  file(WRITE ${OUTPUT}.${part} "${${part}}")
  c_array(${NAME}_${part} ${OUTPUT}.${part} array)
  string(APPEND source "${array}")
endforeach()
file(WRITE ${OUTPUT} "#include \"sampler/output/page.h\"\n\n${source}")
