# Writes the x86-64 system call table, one SALLYPORT_CALL(name, number) a line:
#   cmake -D COMPILER=clang++ -D OUTPUT=syscall_names.inc -P syscall_names.cmake
# The numbers are ABI and never change; the table only grows. What the system's headers do not have yet is added from the
# list below, so that a cell on a new kernel names its calls although it was built on Debian 12 (headers of Linux 6.1).
set(newer
    335:uretprobe 336:uprobe 451:cachestat 452:fchmodat2 453:map_shadow_stack 454:futex_wake 455:futex_wait
    456:futex_requeue 457:statmount 458:listmount 459:lsm_get_self_attr 460:lsm_set_self_attr 461:lsm_list_modules
    462:mseal 463:setxattrat 464:getxattrat 465:listxattrat 466:removexattrat 467:open_tree_attr 468:file_getattr
    469:file_setattr 470:listns)

execute_process(
  COMMAND ${COMPILER} -x c -E -dM -include asm/unistd.h /dev/null
  OUTPUT_VARIABLE macros
  COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "#define __NR_[a-z0-9_]+ [0-9]+" macros "${macros}")
set(calls ${newer})
foreach(macro IN LISTS macros)
  string(REGEX REPLACE "#define __NR_([a-z0-9_]+) ([0-9]+)" "\\2:\\1" call ${macro})
  list(APPEND calls ${call})
endforeach()
list(REMOVE_DUPLICATES calls)
list(SORT calls COMPARE NATURAL)
list(TRANSFORM calls REPLACE "(.+):(.+)" "SALLYPORT_CALL(\\2, \\1)")
list(JOIN calls "\n" calls)
file(WRITE ${OUTPUT} "${calls}\n")
