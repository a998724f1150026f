/*
 * The tables of the laws. Each row is a law; nothing here does anything.
 *
 * A row says what is forbidden, where it is allowed all the same, and what to do instead. Tests may
 * use any library, since they need second opinions, and the clock, since they watch over time.
 */
#include "tests/unit/house/laws.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

const char *const house_law_names[HOUSE_LAW_COUNT] = {
    [HOUSE_LAW_INCLUDE] = "include",         [HOUSE_LAW_BAN] = "ban",
    [HOUSE_LAW_READER] = "one reader",       [HOUSE_LAW_FILE_SIZE] = "file size",
    [HOUSE_LAW_FUNCTION] = "function size",  [HOUSE_LAW_WIDTH] = "line width",
    [HOUSE_LAW_OPENING] = "opening comment", [HOUSE_LAW_GUARD] = "include guard",
    [HOUSE_LAW_BRACES] = "braces",           [HOUSE_LAW_UNFINISHED] = "unfinished",
    [HOUSE_LAW_BLANKS] = "blanks",           [HOUSE_LAW_README] = "readme",
    [HOUSE_LAW_TOP_LEVEL] = "top level",
};

const char *const house_folders[] = {
    "actors", "runtime", "plugins", "schemas", "deploy", "examples", "tests", NULL,
};

/* Beside the folders, names that begin with a dot, and `build`, where builds go. */
const char *const house_top_level[] = {"CMakeLists.txt", "README.md", "LICENSE", NULL};

#define PUBLIC_RUNTIME "runtime/troupe.h", "runtime/limits.h", "runtime/memory.h"
#define FOR_RUNTIME PUBLIC_RUNTIME, "schemas/codec/", "schemas/runtime/"
#define FOR_PLUGINS PUBLIC_RUNTIME, "schemas/", "plugins/sdk/"

const struct house_include_law house_include_laws[] = {
    {"schemas", {"schemas/"}},
    {"schemas/codec", {"schemas/codec/"}},
    {"schemas/runtime", {"schemas/codec/", "schemas/runtime/"}},
    {"schemas/engine", {"schemas/codec/", "schemas/runtime/", "schemas/engine/"}},
    /* Of schemas, the runtime knows the envelope, control and records, but no workflows. */
    {"runtime", {"schemas/codec/", "schemas/runtime/", "runtime/"}},
    {"runtime/env", {FOR_RUNTIME, "runtime/env/", "runtime/link/"}},
    {"runtime/blob", {FOR_RUNTIME, "runtime/blob/", "runtime/env/"}},
    {"runtime/secret", {FOR_RUNTIME, "runtime/secret/", "runtime/env/", "runtime/blob/"}},
    {"runtime/process",
     {FOR_RUNTIME, "runtime/process/", "runtime/env/", "runtime/blob/", "runtime/secret/"}},
    {"runtime/http", {FOR_RUNTIME, "runtime/http/", "runtime/env/", "runtime/secret/"}},
    {"runtime/link", {FOR_RUNTIME, "runtime/link/", "runtime/border/directory.h"}},
    {"runtime/tap",
     {FOR_RUNTIME, "runtime/tap/", "runtime/env/", "runtime/actor/", "runtime/host/control.h",
      "runtime/move/luggage.h"}},
    {"runtime/journal",
     {FOR_RUNTIME, "runtime/journal/", "runtime/env/", "runtime/link/", "runtime/tap/",
      "runtime/actor/actor.h"}},
    {"runtime/border",
     {FOR_RUNTIME, "runtime/border/", "runtime/actor/", "runtime/env/", "runtime/link/",
      "runtime/tap/"}},
    {"runtime/actor",
     {FOR_RUNTIME, "runtime/actor/", "runtime/border/", "runtime/env/", "runtime/journal/",
      "runtime/link/", "runtime/tap/"}},
    {"runtime/move",
     {FOR_RUNTIME, "runtime/move/", "runtime/actor/", "runtime/border/", "runtime/tap/",
      "runtime/host/worker.h"}},
    {"runtime/host", {"schemas/codec/", "schemas/runtime/", "runtime/"}},
    {"actors", {PUBLIC_RUNTIME, "schemas/", "actors/"}},
    {"plugins", {PUBLIC_RUNTIME, "schemas/", "plugins/"}},
    {"plugins/sdk", {FOR_PLUGINS}},
    {"plugins/process", {FOR_PLUGINS, "plugins/process/"}},
    {"plugins/http", {FOR_PLUGINS, "plugins/http/"}},
    {"plugins/armada", {FOR_PLUGINS, "plugins/armada/"}},
    /* Here is the table of all; each plugin's own header declares its table of functions. */
    {"plugins/builtin",
     {FOR_PLUGINS, "plugins/builtin/", "plugins/process/process.h", "plugins/http/http.h",
      "plugins/armada/armada.h"}},
    {"deploy", {"schemas/", "runtime/", "actors/", "plugins/", "deploy/"}},
    {"examples",
     {PUBLIC_RUNTIME, "schemas/", "plugins/sdk/plugin.h", "plugins/sdk/webapi.h", "examples/"}},
    {"tests", {"schemas/", "runtime/", "actors/", "plugins/", "deploy/", "examples/", "tests/"}},
};
const size_t house_include_law_count = COUNT(house_include_laws);

#define ZEROMQ_FILES "runtime/link/*", "runtime/tap/*", "tests/*"
#define HTTP_FILES                                                                     \
    "runtime/http/http.c", "runtime/http/http_transfer.*", "runtime/http/http_easy.*", \
        "runtime/http/http_library.*", "tests/*"
#define SQLITE_FILES "runtime/journal/sqlite*", "tests/*"
#define PROTOBUF_FILES "actors/graph/flyte*", "tests/*"

const struct house_ban house_bans[] = {
    {HOUSE_BAN_HEADER,
     {"zmq.h", "zmq_*.h", "czmq.h", "czmq_*.h"},
     {ZEROMQ_FILES},
     "ZeroMQ is spoken only in runtime/link/ and runtime/tap/; go through link.h"},
    {HOUSE_BAN_CALL,
     {"zmq_*", "zsock_*", "zmsg_*", "zframe_*", "zactor_*", "zpoller_*", "zloop_*", "zcert_*",
      "zcertstore_*", "zauth_*", "zstr_*", "zsys_*", "zproc_*"},
     {ZEROMQ_FILES},
     "ZeroMQ is spoken only in runtime/link/ and runtime/tap/; go through link.h"},
    {HOUSE_BAN_HEADER,
     {"curl/*"},
     {HTTP_FILES},
     "libcurl is called only in runtime/http/http.c, http_transfer.c and http_easy.c; "
     "ask for http through tr_env"},
    {HOUSE_BAN_CALL,
     {"curl_*"},
     {HTTP_FILES},
     "libcurl is called only in runtime/http/http.c, http_transfer.c and http_easy.c; "
     "ask for http through tr_env"},
    {HOUSE_BAN_HEADER,
     {"sqlite3.h", "sqlite3ext.h", "libpq-fe.h"},
     {SQLITE_FILES},
     "SQL stands behind runtime/journal/store.h; only sqlite*.c there speaks it"},
    {HOUSE_BAN_CALL,
     {"sqlite3_*"},
     {SQLITE_FILES},
     "SQL stands behind runtime/journal/store.h; only sqlite*.c there speaks it"},
    {HOUSE_BAN_HEADER,
     {"protobuf-c/*", "flyteidl/*"},
     {PROTOBUF_FILES},
     "protobuf is spoken only in actors/graph/flyte*; go through flyte.h"},
    {HOUSE_BAN_CALL,
     {"protobuf_c_*", "flyteidl__*"},
     {PROTOBUF_FILES},
     "protobuf is spoken only in actors/graph/flyte*; go through flyte.h"},
    {HOUSE_BAN_CALL,
     {"dlopen", "dlmopen", "dlsym", "dlvsym", "dlclose"},
     {"plugins/builtin/load.c", "runtime/http/http_library.c", "tests/*"},
     "shared objects are opened only in plugins/builtin/load.c, and libcurl in http_library.c"},
    {HOUSE_BAN_CALL,
     {"malloc", "calloc", "realloc", "reallocarray", "free", "strdup", "strndup", "aligned_alloc",
      "posix_memalign", "memalign", "asprintf", "vasprintf"},
     {"runtime/memory.c", "tests/*"},
     "take memory from runtime/memory.h (schemas/ takes none at all)"},
    {HOUSE_BAN_CALL,
     {"sleep", "usleep", "nanosleep", "clock_nanosleep", "thrd_sleep", "zclock_sleep"},
     {NULL},
     "wait for the event itself, with a timer as its limit"},
    {HOUSE_BAN_CALL, {"sprintf", "vsprintf"}, {NULL}, "use snprintf, which knows the size"},
    {HOUSE_BAN_CALL,
     {"strcpy", "strcat", "stpcpy", "strncat", "gets"},
     {NULL},
     "copy with a known size: memcpy or snprintf"},
    {HOUSE_BAN_CALL, {"alloca", "strdupa", "strndupa"}, {NULL}, "use an array with a named limit"},
    {HOUSE_BAN_CALL,
     {"time", "clock", "clock_gettime", "clock_getres", "gettimeofday", "timespec_get", "ftime",
      "zclock_time", "zclock_mono", "zclock_usecs"},
     {"runtime/env/*", "tests/*"},
     "time comes through tr_env, so that the simulator can bend it"},
    {HOUSE_BAN_CALL,
     {"rand", "srand", "rand_r", "random", "srandom", "random_r", "drand48", "lrand48", "mrand48",
      "getrandom", "getentropy", "arc4random*", "randombytes*", "uuid_generate*"},
     {"runtime/env/*", "runtime/process/*", "tests/*"},
     "randomness comes through tr_env, so that a seed repeats it"},
    {HOUSE_BAN_CALL,
     {"assert"},
     {"tests/*"},
     "use TR_ASSERT of schemas/codec/base.h, which stays on in a release"},
    {HOUSE_BAN_WORD, {"NDEBUG"}, {NULL}, "assertions are never turned off"},
    {HOUSE_BAN_WORD, {"msg"}, {NULL}, "write `message`"},
};
const size_t house_ban_count = COUNT(house_bans);

const struct house_reader house_readers[] = {
    {"yaml.h", "tests/*"},
    {"jansson.h", "tests/*"},
    {"glib.h", "tests/*"},
};
const size_t house_reader_count = COUNT(house_readers);

/* The last letter of each is an octal number, so that this file keeps its own law. */
const struct house_unfinished house_unfinished_words[] = {
    {"TOD\117", 0}, {"FIXM\105", 0},           {"XX\130", 0},
    {"HAC\113", 0}, {"not implemente\144", 1}, {"stu\142", 1},
};
const size_t house_unfinished_count = COUNT(house_unfinished_words);
