# Headers that nearly every file includes, compiled once per preset: it halves the time of a clean build. Sources include
# what they use all the same. `-fno-pch-timestamp` and the sloppiness in CMakePresets.json are what ccache asks for; it
# goes by the compiler's own list of headers there, which saves running the preprocessor over every file first.
add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
file(WRITE ${CMAKE_BINARY_DIR}/precompiled.cpp.new "// Nothing: only its precompiled headers are wanted.\n")
configure_file(${CMAKE_BINARY_DIR}/precompiled.cpp.new ${CMAKE_BINARY_DIR}/precompiled.cpp COPYONLY)
set(common_headers <algorithm> <chrono> <cstdint> <expected> <functional> <map> <memory> <optional> <span> <string>
                   <string_view> <utility> <vector> <boost/json.hpp>)
add_library(sallyport_precompiled OBJECT ${CMAKE_BINARY_DIR}/precompiled.cpp)
target_link_libraries(sallyport_precompiled PRIVATE Boost::json)
target_precompile_headers(sallyport_precompiled PRIVATE ${common_headers})
