# generated/version.h in the build folder: version, git sha, compiler. Made at configure time and whenever HEAD moves. The
# checkout may belong to another user than the one who builds it (a container, sudo), which git refuses unless told.
set(git git -c safe.directory=* -C ${CMAKE_SOURCE_DIR})
execute_process(COMMAND ${git} rev-parse --short=12 HEAD
  OUTPUT_VARIABLE WARPMARK_GIT_SHA OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
execute_process(COMMAND ${git} status --porcelain --untracked-files=no
  OUTPUT_VARIABLE git_status OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT WARPMARK_GIT_SHA)
  set(WARPMARK_GIT_SHA "unknown")
endif()
set(WARPMARK_GIT_DIRTY false)
if(git_status)
  set(WARPMARK_GIT_DIRTY true)
endif()
# Git tells where: in a worktree .git is a file.
execute_process(COMMAND ${git} rev-parse --path-format=absolute --git-path logs/HEAD
  OUTPUT_VARIABLE head_moves OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(head_moves AND EXISTS ${head_moves})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${head_moves})
endif()
configure_file(${CMAKE_SOURCE_DIR}/cmake/version.h.in ${CMAKE_BINARY_DIR}/generated/generated/version.h @ONLY)
