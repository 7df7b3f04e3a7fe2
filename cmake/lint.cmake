# `lint`: clang-tidy over src/, one stamp a file, so that only what changed is looked at again.
file(GLOB_RECURSE lint_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*.cpp)
file(GLOB_RECURSE lint_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*.h)
list(FILTER lint_sources EXCLUDE REGEX "_test\\.cpp$")
set(lint_stamps)
foreach(source IN LISTS lint_sources)
  file(RELATIVE_PATH name ${PROJECT_SOURCE_DIR} ${source})
  set(stamp ${CMAKE_BINARY_DIR}/lint/${name}.stamp)
  get_filename_component(folder ${stamp} DIRECTORY)
  add_custom_command(
    OUTPUT ${stamp}
    COMMAND clang-tidy-19 --quiet -p ${CMAKE_BINARY_DIR} ${source}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
    COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
    DEPENDS ${source} ${lint_headers} ${PROJECT_SOURCE_DIR}/.clang-tidy
    COMMENT "Linting ${name}")
  list(APPEND lint_stamps ${stamp})
endforeach()
add_custom_target(lint DEPENDS ${lint_stamps})
