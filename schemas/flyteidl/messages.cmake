# Writes the table of all messages that generated headers declare: cmake -DOUT=FILE.c
# "-DHEADERS=HEADER;..." -P messages.cmake. It is read by actors/graph/flyte/flyte_any.c.
set(includes "")
set(rows "")
foreach(header IN LISTS HEADERS)
    file(STRINGS ${header} lines REGEX "^extern const ProtobufCMessageDescriptor ")
    get_filename_component(name ${header} NAME)
    string(APPEND includes "#include <flyteidl/${name}>\n")
    foreach(line IN LISTS lines)
        string(REGEX REPLACE ".* ([a-z0-9_]+)[;]?$" "    &\\1,\n" row "${line}")
        string(APPEND rows "${row}")
    endforeach()
endforeach()
file(WRITE ${OUT} "${includes}#include <stddef.h>
extern const ProtobufCMessageDescriptor *const tri_flyteidl_messages[];
extern const size_t tri_flyteidl_message_count;
const ProtobufCMessageDescriptor *const tri_flyteidl_messages[] = {\n${rows}};
const size_t tri_flyteidl_message_count =
    sizeof tri_flyteidl_messages / sizeof tri_flyteidl_messages[0];
")
