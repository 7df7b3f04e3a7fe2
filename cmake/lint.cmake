# `lint`: clang-tidy over src/, one stamp a folder, so that only what changed is looked at again.
file(GLOB_RECURSE lint_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*.cpp)
file(GLOB_RECURSE lint_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*.h ${PROJECT_SOURCE_DIR}/include/*.h)
list(FILTER lint_sources EXCLUDE REGEX "_test\\.cpp$")
set(lint_folders)
foreach(source IN LISTS lint_sources)
  get_filename_component(folder ${source} DIRECTORY)
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${folder})
  list(APPEND lint_folders ${folder})
  list(APPEND lint_sources_of_${folder} ${source})
endforeach()
list(REMOVE_DUPLICATES lint_folders)
set(lint_stamps)
foreach(folder IN LISTS lint_folders)
  set(stamp ${CMAKE_BINARY_DIR}/lint/${folder}.stamp)
  add_custom_command(
    OUTPUT ${stamp}
    COMMAND ${PROJECT_SOURCE_DIR}/scripts/lint.sh ${CMAKE_BINARY_DIR} ${folder}
    COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    DEPENDS ${lint_sources_of_${folder}} ${lint_headers} ${PROJECT_SOURCE_DIR}/.clang-tidy
            ${PROJECT_SOURCE_DIR}/scripts/lint.sh
    COMMENT "Linting ${folder}")
  list(APPEND lint_stamps ${stamp})
endforeach()
add_custom_target(lint DEPENDS ${lint_stamps})
add_dependencies(lint sallyport_precompiled sallyport_restore)
