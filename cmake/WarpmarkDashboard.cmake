# The script of the dashboard's pages: TypeScript, bundled by esbuild, behind Chart.js as Debian has it. Both are programs
# and files of the system (packages.txt); nothing is fetched. Where a system has no esbuild, the same script from a build
# that had it can be given: -DWARPMARK_DASHBOARD_SCRIPT=/path/app.js (build/release/dashboard/app.js there). Without
# either the program is built all the same; its dashboard then answers the JSON API, and the page says what is missing.
set(WARPMARK_DASHBOARD_SCRIPT "" CACHE FILEPATH "script of the dashboard's pages, made elsewhere")
find_program(ESBUILD_PROGRAM esbuild)
find_file(CHART_JS NAMES chart.min.js chart.umd.js
          PATHS /usr/share/javascript/chart.js /usr/share/nodejs/chart.js/dist NO_DEFAULT_PATH)

set(web ${CMAKE_SOURCE_DIR}/src/watch/dashboard/web)
set(folder ${CMAKE_BINARY_DIR}/dashboard)
file(MAKE_DIRECTORY ${folder})
file(GLOB pages CONFIGURE_DEPENDS ${web}/*.html ${web}/*.css ${web}/*.svg)
warpmark_embed(warpmark_watch dashboard_web ${pages})
set(script ${folder}/app.js)
if(WARPMARK_DASHBOARD_SCRIPT)
  add_custom_command(OUTPUT ${script} COMMAND ${CMAKE_COMMAND} -E copy ${WARPMARK_DASHBOARD_SCRIPT} ${script}
                     DEPENDS ${WARPMARK_DASHBOARD_SCRIPT} VERBATIM)
elseif(ESBUILD_PROGRAM AND CHART_JS)
  file(GLOB typescript CONFIGURE_DEPENDS ${web}/*.ts)
  add_custom_command(OUTPUT ${folder}/pages.js
    COMMAND ${ESBUILD_PROGRAM} ${web}/app.ts --bundle --minify --format=iife --target=es2020 --charset=utf8
            --log-level=warning --outfile=${folder}/pages.js
    DEPENDS ${typescript} COMMENT "Bundling the dashboard's pages" VERBATIM)
  add_custom_command(OUTPUT ${script}
    COMMAND ${CMAKE_COMMAND} -D OUTPUT=${script} -D "FILES=${CHART_JS};${folder}/pages.js"
            -P ${CMAKE_SOURCE_DIR}/cmake/join_files.cmake
    DEPENDS ${CHART_JS} ${folder}/pages.js ${CMAKE_SOURCE_DIR}/cmake/join_files.cmake VERBATIM)
else()
  message(STATUS "No esbuild or no Chart.js (libjs-chart.js): the dashboard is built without its pages")
  set(script ${CMAKE_SOURCE_DIR}/src/watch/dashboard/web/without/app.js)
endif()
warpmark_embed(warpmark_watch dashboard_script ${script})
