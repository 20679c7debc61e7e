install(TARGETS warpmark RUNTIME DESTINATION bin)
if(WARPMARK_HAS_CUDA)
  install(TARGETS warpmark_cuda LIBRARY DESTINATION lib/warpmark)
endif()
