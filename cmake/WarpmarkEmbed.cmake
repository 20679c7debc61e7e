# warpmark_embed(TARGET NAME files...): compiles text files into TARGET, which then includes "generated/NAME.h":
#
#   namespace warpmark::generated {
#   struct EmbeddedFile { std::string_view name, text; };        // generated/embedded_file.h
#   inline constexpr std::array<EmbeddedFile, N> kName = {...};   // sorted by name; "run_help" becomes kRunHelp
#   }
#
# Remade when a file changes. `name` is the file's name without its folder: "quick.yaml". The target warpmark_generated
# makes these headers and nothing else, for tools that only read the sources.
add_custom_target(warpmark_generated)
function(warpmark_embed target name)
  set(header ${CMAKE_BINARY_DIR}/generated/generated/${name}.h)
  list(SORT ARGN)
  add_custom_command(OUTPUT ${header}
    COMMAND ${CMAKE_COMMAND} -D NAME=${name} -D OUTPUT=${header} -D "FILES=${ARGN}"
            -P ${CMAKE_SOURCE_DIR}/cmake/embed_files.cmake
    DEPENDS ${ARGN} ${CMAKE_SOURCE_DIR}/cmake/embed_files.cmake
    COMMENT "Embedding ${name}" VERBATIM)
  add_custom_target(warpmark_embed_${name} DEPENDS ${header})
  add_dependencies(${target} warpmark_embed_${name})
  add_dependencies(warpmark_generated warpmark_embed_${name})
  target_include_directories(${target} PUBLIC ${CMAKE_BINARY_DIR}/generated)
endfunction()
configure_file(${CMAKE_SOURCE_DIR}/cmake/embedded_file.h.in
               ${CMAKE_BINARY_DIR}/generated/generated/embedded_file.h COPYONLY)
