# What a prefix gets: bin, lib/warpmark, include/warpmark, share. `./dev dist` installs into an empty folder and adds the
# libraries the executable needs as lib/.

# The loader looks beside the executable first. DT_RPATH and not DT_RUNPATH, as it also serves the libraries' own
# dependencies and comes before LD_LIBRARY_PATH, where clusters keep other builds of the same libraries. No other folder of
# the machine that built it: OpenBLAS is found there or where the system's loader looks.
target_link_options(warpmark PRIVATE -Wl,--disable-new-dtags)
set_target_properties(warpmark PROPERTIES INSTALL_RPATH "$ORIGIN/../lib")
install(TARGETS warpmark RUNTIME DESTINATION bin)
if(WARPMARK_HAS_CUDA)
  install(TARGETS warpmark_cuda LIBRARY DESTINATION lib/warpmark)
endif()

if(WARPMARK_HAS_INJECT)
  install(TARGETS warpmark_inject LIBRARY DESTINATION lib/warpmark)
endif()

if(WARPMARK_HAS_MPI)
  install(TARGETS warpmark_mpi LIBRARY DESTINATION lib/warpmark)
endif()

include(CMakePackageConfigHelpers)
set(package_folder lib/cmake/warpmark)
install(TARGETS warpmark_shared EXPORT warpmarkTargets LIBRARY DESTINATION lib/libwarpmark)
configure_file(cmake/warpmark.pc.in ${CMAKE_BINARY_DIR}/warpmark.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/warpmark.pc DESTINATION lib/pkgconfig)
install(EXPORT warpmarkTargets NAMESPACE warpmark:: DESTINATION ${package_folder})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/warpmarkConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES cmake/warpmarkConfig.cmake ${CMAKE_BINARY_DIR}/warpmarkConfigVersion.cmake DESTINATION ${package_folder})

install(DIRECTORY include/warpmark DESTINATION include OPTIONAL FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(FILES README.md LICENSE CHANGELOG.md DESTINATION share/doc/warpmark)
install(DIRECTORY docs/ DESTINATION share/doc/warpmark/docs)
install(DIRECTORY suites acceptance datasheets examples monitoring DESTINATION share/warpmark OPTIONAL)

# The completions and manual pages are printed by the tool that was just built; for another processor, under its emulator.
install(CODE "
  set(warpmark $<TARGET_PROPERTY:warpmark,CROSSCOMPILING_EMULATOR> \"$<TARGET_FILE:warpmark>\")
  function(printed_by_warpmark destination)
    execute_process(COMMAND \${warpmark} \${ARGN} OUTPUT_VARIABLE text RESULT_VARIABLE code)
    if(NOT code EQUAL 0 OR text STREQUAL \"\")
      message(FATAL_ERROR \"'warpmark \${ARGN}' printed nothing or failed\")
    endif()
    file(WRITE \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/share/\${destination}\" \"\${text}\")
  endfunction()
  printed_by_warpmark(bash-completion/completions/warpmark completion bash)
  printed_by_warpmark(zsh/site-functions/_warpmark completion zsh)
  printed_by_warpmark(fish/vendor_completions.d/warpmark.fish completion fish)
  printed_by_warpmark(man/man1/warpmark.1 help --man)
  execute_process(COMMAND \${warpmark} list verbs --ids OUTPUT_VARIABLE verbs RESULT_VARIABLE code)
  string(STRIP \"\${verbs}\" verbs)
  string(REPLACE \"\\n\" \";\" verbs \"\${verbs}\")
  foreach(verb IN LISTS verbs)
    printed_by_warpmark(man/man1/warpmark-\${verb}.1 help \${verb} --man)
  endforeach()")
