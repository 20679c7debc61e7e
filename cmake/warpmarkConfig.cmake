# find_package(warpmark): the imported target warpmark::warpmark, a shared library whose headers need C++20 and nothing else.
include("${CMAKE_CURRENT_LIST_DIR}/warpmarkTargets.cmake")
