# Writes OUTPUT: FILES one behind the other. Runs as a script at build time.
set(all "")
foreach(file IN LISTS FILES)
  file(READ "${file}" text)
  string(APPEND all "${text}\n")
endforeach()
file(WRITE "${OUTPUT}" "${all}")
