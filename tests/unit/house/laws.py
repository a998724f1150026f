"""The tables of the laws. Each row is a law; nothing here does anything.

A row says what is forbidden, where it is allowed all the same, and what to do instead. Tests may
use any library, since they need second opinions, and the clock, since they watch over time.

Paths are from the root of the tree; patterns are those of a shell, where `*` passes `/` too.
"""

# The laws by name; test_laws.py shows that each of them can fail.
LAWS = [
    "include",  # includes follow the floors and are written from the root
    "ban",  # a word or header outside the files it belongs to
    "one reader",  # a library that only one file may speak to
    "file size",  # lines in a file
    "function size",  # lines in a function
    "line width",  # columns in a line
    "opening comment",  # a .c file opens with a few lines of explanation
    "include guard",  # a header has the include guard its path asks for
    "braces",  # a body has braces, always
    "unfinished",  # no marks of work left undone
    "blanks",  # no tabs, no trailing blanks, a newline at the end
    "reference",  # what prose names is there
    "readme",  # each folder has one, and that of a room is a page to begin with
    "room size",  # .c and .h files in a folder of the program
    "room circle",  # no room includes another one that leads back to it
    "top level",  # exactly what belongs there
]

FILE_LINES_MAX = 1000
FUNCTION_LINES_MAX = 70  # between the braces
LINE_COLUMNS_MAX = 100
OPENING_LINES_MIN = 2
ROOM_FILES_MAX = 30  # .c and .h together
ROOM_README_LINES_MAX = 40
PAGES_OF_ANY_LENGTH = ["examples", "tests"]  # manuals and cookbooks, not rooms of the program
README_DEPTH_MAX = 2  # deeper folders are explained by the README above them

FOLDERS = ["actors", "runtime", "plugins", "schemas", "deploy", "examples", "tests"]

# Beside the folders, names that begin with a dot, and `build`, where builds go.
TOP_LEVEL = ["CMakeLists.txt", "README.md", "LICENSE"]

PUBLIC_RUNTIME = ["runtime/troupe.h", "runtime/limits.h", "runtime/memory.h"]
# runtime/troupe.h is for the floors above: the runtime includes the part of it that it needs.
FOR_RUNTIME = ["runtime/behaviour.h", "runtime/exchange.h", "runtime/figures.h", "runtime/limits.h",
               "runtime/memory.h", "schemas/codec/", "schemas/runtime/"]
FOR_GRAPH = [*PUBLIC_RUNTIME, "schemas/"]
FOR_ACTORS = [*FOR_GRAPH, "actors/graph/", "actors/metrics/", "actors/store/"]
FOR_SERVICES = [*FOR_ACTORS, "actors/engine.h", "actors/values/", "actors/history/",
                "actors/services/"]
FOR_PLUGINS = [*PUBLIC_RUNTIME, "schemas/", "plugins/sdk/"]
FOR_DEPLOY = [*PUBLIC_RUNTIME, "schemas/", "actors/", "deploy/console/"]

# What knows no terminal; and what speaks with people, one above the other.
ENGINE_ROOMS = ["deploy/common/", "deploy/inputs/", "deploy/graphs/", "deploy/history/",
                "deploy/recovery/", "deploy/selection/", "deploy/retention/", "deploy/settings/",
                "deploy/inquiries/", "deploy/engine/", "deploy/entry/", "deploy/metrics/",
                "deploy/server/", "deploy/offline/", "deploy/transfer/", "deploy/backup/",
                "deploy/flyte/"]

# Files below a folder, a floor or a room of one, may include what begins with one of these. A
# room's law stands in place of its floor's.
INCLUDES = {
    "schemas": ["schemas/"],
    "schemas/codec": ["schemas/codec/"],
    "schemas/runtime": ["schemas/codec/", "schemas/runtime/"],
    "schemas/engine": ["schemas/codec/", "schemas/runtime/", "schemas/engine/"],
    # Of schemas, the runtime knows the envelope, control and records, but no workflows.
    "runtime": ["schemas/codec/", "schemas/runtime/", "runtime/"],
    "runtime/env": [*FOR_RUNTIME, "runtime/env/", "runtime/link/"],
    "runtime/blob": [*FOR_RUNTIME, "runtime/blob/", "runtime/env/"],
    "runtime/secret": [*FOR_RUNTIME, "runtime/secret/", "runtime/env/", "runtime/blob/"],
    "runtime/process": [*FOR_RUNTIME, "runtime/process/", "runtime/env/", "runtime/blob/",
                        "runtime/secret/"],
    "runtime/cgroup": [*FOR_RUNTIME, "runtime/cgroup/"],
    "runtime/keeper_client": [*FOR_RUNTIME, "runtime/keeper_client/", "runtime/env/",
                              "runtime/secret/"],
    "runtime/keeper": [*FOR_RUNTIME, "runtime/keeper/", "runtime/keeper_client/",
                       "runtime/cgroup/", "runtime/process/", "runtime/env/", "runtime/blob/"],
    "runtime/http": [*FOR_RUNTIME, "runtime/http/", "runtime/env/", "runtime/secret/"],
    "runtime/fetch": [*FOR_RUNTIME, "runtime/fetch/", "runtime/env/", "runtime/blob/",
                      "runtime/http/"],
    # Of downloads, where objects are and how answers are read.
    "runtime/objects": [*FOR_RUNTIME, "runtime/objects/", "runtime/env/",
                        "runtime/blob/blob_remote.h", "runtime/blob/below.h", "runtime/http/",
                        "runtime/fetch/fetch_list.h", "runtime/fetch/fetch_location.h"],
    "runtime/link": [*FOR_RUNTIME, "runtime/link/"],
    "runtime/trace": [*FOR_RUNTIME, "runtime/trace/", "runtime/env/"],
    "runtime/journal": [*FOR_RUNTIME, "runtime/journal/", "runtime/env/", "runtime/link/",
                        "runtime/trace/"],
    "runtime/commits": [*FOR_RUNTIME, "runtime/commits/", "runtime/journal/"],
    "runtime/database": [*FOR_RUNTIME, "runtime/database/", "runtime/journal/"],
    "runtime/sqlite": [*FOR_RUNTIME, "runtime/sqlite/", "runtime/database/", "runtime/commits/",
                       "runtime/journal/", "runtime/env/", "runtime/trace/"],
    "runtime/members": [*FOR_RUNTIME, "runtime/members/", "runtime/journal/store.h",
                        "runtime/link/wire_keys.h", "runtime/env/"],
    "runtime/remote": [*FOR_RUNTIME, "runtime/remote/", "runtime/journal/", "runtime/link/",
                       "runtime/members/member.h", "runtime/env/clock.h"],
    "runtime/postgres": [*FOR_RUNTIME, "runtime/postgres/", "runtime/database/", "runtime/commits/",
                         "runtime/journal/", "runtime/members/", "runtime/env/library.h"],
    "runtime/postgres_care": [*FOR_RUNTIME, "runtime/postgres_care/",
                              "runtime/postgres/postgres_internal.h",
                              "runtime/postgres/postgres_compress.h",
                              "runtime/journal/store_care.h", "runtime/database/findings.h",
                              "runtime/commits/commit_entry.h"],
    "runtime/actor": [*FOR_RUNTIME, "runtime/actor/", "runtime/env/", "runtime/journal/",
                      "runtime/link/", "runtime/trace/"],
    "runtime/cluster": [*FOR_RUNTIME, "runtime/cluster/", "runtime/actor/", "runtime/env/",
                        "runtime/link/"],
    "runtime/move": [*FOR_RUNTIME, "runtime/move/", "runtime/actor/", "runtime/cluster/"],
    "runtime/watch": [*FOR_RUNTIME, "runtime/watch/", "runtime/trace/", "runtime/actor/",
                      "runtime/move/"],
    "runtime/worker": [*FOR_RUNTIME, "runtime/hosting.h", "runtime/worker/", "runtime/actor/",
                       "runtime/cluster/interhost.h", "runtime/move/", "runtime/trace/",
                       "runtime/watch/"],
    "runtime/crashes": [*FOR_RUNTIME, "runtime/crashes/", "runtime/actor/", "runtime/journal/",
                        "runtime/trace/"],
    "runtime/services": [*FOR_RUNTIME, "runtime/services/", "runtime/env/", "runtime/blob/",
                         "runtime/secret/", "runtime/process/", "runtime/keeper_client/",
                         "runtime/http/", "runtime/fetch/", "runtime/store_blobs.h",
                         "runtime/link/sender.h"],
    "runtime/host": [*FOR_RUNTIME, "runtime/hosting.h", "runtime/store_blobs.h",
                     "runtime/store_open.h", "runtime/host/", "runtime/env/", "runtime/blob/",
                     "runtime/secret/", "runtime/process/", "runtime/keeper_client/",
                     "runtime/http/", "runtime/link/", "runtime/trace/", "runtime/journal/",
                     "runtime/commits/commit_log.h", "runtime/members/", "runtime/actor/",
                     "runtime/cluster/", "runtime/move/", "runtime/watch/", "runtime/worker/",
                     "runtime/crashes/", "runtime/services/"],
    "runtime/tap": [*FOR_RUNTIME, "runtime/hosting.h", "runtime/tap/", "runtime/trace/",
                    "runtime/watch/", "runtime/host/control.h"],
    "actors": [*PUBLIC_RUNTIME, "schemas/", "actors/engine.h", "actors/metrics/", "actors/store/"],
    "actors/graph": [*PUBLIC_RUNTIME, "schemas/", "actors/graph/"],
    "actors/graph/document": [*FOR_GRAPH, "actors/graph/document/"],
    "actors/graph/value": [*FOR_GRAPH, "actors/graph/document/", "actors/graph/value/"],
    "actors/graph/flyte": [*FOR_GRAPH, "flyteidl/", "actors/graph/document/",
                           "actors/graph/value/", "actors/graph/flyte/"],
    "actors/graph/flyteworkflow": [*FOR_GRAPH, "flyteidl/", "actors/graph/document/",
                                   "actors/graph/value/", "actors/graph/flyte/",
                                   "actors/graph/flyteworkflow/"],
    "actors/graph/compiled": [*FOR_GRAPH, "actors/graph/document/", "actors/graph/value/",
                              "actors/graph/compiled/"],
    "actors/graph/language": [*FOR_GRAPH, "actors/graph/document/", "actors/graph/value/",
                              "actors/graph/compiled/", "actors/graph/language/"],
    "actors/graph/compiler": [*FOR_GRAPH, "actors/graph/document/", "actors/graph/value/",
                              "actors/graph/compiled/", "actors/graph/language/",
                              "actors/graph/compiler/"],
    "actors/graph/import": [*FOR_GRAPH, "flyteidl/", "actors/graph/document/",
                            "actors/graph/value/", "actors/graph/flyte/",
                            "actors/graph/compiled/", "actors/graph/language/",
                            "actors/graph/compiler/", "actors/graph/import/"],
    "actors/metrics": [*PUBLIC_RUNTIME, "schemas/", "actors/metrics/"],
    "actors/store": [*FOR_ACTORS, "actors/store/"],
    "actors/values": [*FOR_ACTORS, "actors/values/"],
    "actors/history": [*FOR_ACTORS, "actors/history/"],
    "actors/services": [*FOR_SERVICES],
    "actors/backend": [*FOR_SERVICES, "actors/backend/"],
    # Tasks, arrays and workflows know each other by messages (schemas/engine/flow.h) alone.
    "actors/task": [*FOR_SERVICES, "actors/task/"],
    "actors/array": [*FOR_SERVICES, "actors/array/"],
    "actors/workflow": [*FOR_SERVICES, "actors/workflow/"],
    "actors/explain": [*FOR_SERVICES, "actors/backend/", "actors/task/", "actors/array/",
                       "actors/workflow/", "actors/explain/"],
    "plugins": [*PUBLIC_RUNTIME, "schemas/", "plugins/"],
    "plugins/sdk": [*FOR_PLUGINS],
    "plugins/process": [*FOR_PLUGINS, "plugins/process/"],
    "plugins/http": [*FOR_PLUGINS, "plugins/http/"],
    "plugins/pod": [*FOR_PLUGINS, "plugins/pod/"],
    "plugins/armada": [*FOR_PLUGINS, "plugins/armada/", "plugins/pod/"],
    "plugins/cards": [*FOR_PLUGINS, "plugins/cards/"],
    "plugins/kubernetes": [*FOR_PLUGINS, "plugins/kubernetes/", "plugins/pod/", "plugins/cards/"],
    # Here is the table of all; each plugin's own header declares its table of functions.
    "plugins/builtin": [*FOR_PLUGINS, "plugins/builtin/", "plugins/process/process.h",
                        "plugins/http/http.h", "plugins/armada/armada.h",
                        "plugins/kubernetes/kubernetes.h"],
    "deploy": ["deploy/"],
    "deploy/pack": [*FOR_DEPLOY],
    "deploy/console": ["deploy/console/"],
    "deploy/common": ["deploy/console/", *PUBLIC_RUNTIME, "schemas/", "actors/graph/document/", "runtime/env/",
                      "runtime/link/", "deploy/common/"],
    "deploy/inputs": [*FOR_DEPLOY, "plugins/sdk/plugin.h", "runtime/blob/",
                      "runtime/store_blobs.h", "deploy/inputs/",
                      "deploy/common/"],
    "deploy/flyte": [*FOR_DEPLOY, "runtime/env/library.h", "deploy/flyte/", "deploy/common/"],
    # The transport: it knows no Flyte and no engine.
    "deploy/door": [*PUBLIC_RUNTIME, "schemas/codec/", "runtime/env/", "deploy/door/"],
    "deploy/api_wire": [*FOR_DEPLOY, "runtime/env/buffer.h", "runtime/env/library.h",
                        "deploy/api_wire/"],
    "deploy/oidc": [*FOR_DEPLOY, "runtime/env/library.h", "runtime/http/http.h",
                    "deploy/oidc/", "deploy/common/"],
    "deploy/api": [*FOR_DEPLOY, "flyteidl/", "deploy/api/", "deploy/api_wire/",
                   "deploy/door/door.h", "deploy/oidc/", "deploy/common/"],
    "deploy/data_proxy": [*FOR_DEPLOY, "runtime/env/", "deploy/data_proxy/", "deploy/api/",
                          "deploy/api_wire/", "deploy/common/"],
    "deploy/entities": [*FOR_DEPLOY, "flyteidl/", "runtime/env/", "runtime/journal/",
                        "deploy/entities/", "deploy/api/", "deploy/api_wire/", "deploy/common/",
                        "deploy/data_proxy/", "deploy/engine/", "deploy/flyte/", "deploy/history/",
                        "deploy/inputs/", "deploy/server/", "deploy/settings/"],
    "deploy/api_runs": [*FOR_DEPLOY, "flyteidl/", "runtime/host/host.h", "runtime/journal/",
                        "deploy/api_runs/", "deploy/api/", "deploy/api_wire/", "deploy/common/",
                        "deploy/engine/", "deploy/graphs/", "deploy/history/", "deploy/inputs/",
                        "deploy/recovery/", "deploy/server/"],
    "deploy/api_nodes": [*FOR_DEPLOY, "flyteidl/", "deploy/api_nodes/", "deploy/api_runs/",
                         "deploy/api/", "deploy/api_wire/rest.h", "deploy/common/",
                         "deploy/graphs/", "deploy/history/", "deploy/recovery/",
                         "deploy/server/"],
    "deploy/graphs": [*FOR_DEPLOY, "runtime/journal/", "runtime/store_open.h", "deploy/graphs/",
                      "deploy/common/"],
    "deploy/history": [*FOR_DEPLOY, "runtime/link/entry_locator.h",
                       "plugins/builtin/registry.h", "runtime/blob/",
                       "runtime/journal/", "runtime/store_open.h", "runtime/process/shared.h",
                       "deploy/graphs/", "deploy/history/", "deploy/common/",
                       "deploy/inputs/relocate.h"],
    "deploy/recovery": [*FOR_DEPLOY, "runtime/blob/",
                        "runtime/store_blobs.h", "runtime/journal/", "deploy/recovery/",
                        "deploy/common/", "deploy/inputs/", "deploy/history/"],
    "deploy/selection": [*FOR_DEPLOY, "runtime/journal/", "deploy/selection/"],
    "deploy/retention": [*FOR_DEPLOY, "runtime/blob/", "runtime/store_blobs.h",
                         "runtime/env/env_limits.h", "runtime/journal/", "runtime/store_open.h",
                         "runtime/link/", "deploy/retention/", "deploy/common/", "deploy/graphs/",
                         "deploy/history/", "deploy/selection/"],
    "deploy/settings": [*FOR_DEPLOY, "plugins/builtin/", "plugins/sdk/scan.h",
                        "runtime/store_blobs.h", "runtime/members/member.h", "deploy/settings/",
                        "deploy/common/", "deploy/retention/", "deploy/door/door.h",
                        "deploy/api/clients.h"],
    "deploy/inquiries": [*FOR_DEPLOY, "runtime/store_blobs.h", "deploy/inquiries/",
                         "deploy/common/", "deploy/inputs/", "deploy/graphs/", "deploy/history/",
                         "deploy/recovery/"],
    "deploy/engine": [*FOR_DEPLOY, "plugins/builtin/registry.h", "plugins/process/process.h",
                      "runtime/blob/", "runtime/store_blobs.h", "runtime/host/host.h",
                      "runtime/journal/", "runtime/link/", "runtime/secret/", "deploy/engine/",
                      "deploy/common/", "deploy/graphs/", "deploy/history/", "deploy/inquiries/",
                      "deploy/retention/", "deploy/settings/"],
    "deploy/metrics": [*FOR_DEPLOY, "runtime/journal/", "runtime/link/", "deploy/metrics/",
                       "deploy/common/", "deploy/history/", "deploy/settings/", "deploy/engine/"],
    "deploy/traces": [*FOR_DEPLOY, "runtime/env/thread.h", "runtime/http/http.h",
                      "runtime/journal/", "deploy/traces/", "deploy/common/", "deploy/history/"],
    "deploy/entry": [*FOR_DEPLOY, "runtime/journal/", "runtime/link/", "runtime/remote/",
                     "runtime/store_open.h", "runtime/host/host.h", "deploy/entry/",
                     "deploy/api/clients.h", "deploy/common/", "deploy/history/",
                     "deploy/settings/", "deploy/engine/"],
    "deploy/server": [*FOR_DEPLOY, "runtime/tap/", "runtime/trace/filter.h",
                     "deploy/server/", "deploy/common/",
                     "deploy/entry/",
                      "deploy/inputs/", "deploy/graphs/", "deploy/history/", "deploy/settings/",
                      "deploy/engine/", "deploy/metrics/", "deploy/transfer/"],
    "deploy/offline": [*FOR_DEPLOY, "runtime/actor/actor.h", "runtime/journal/",
                       "runtime/keeper_client/keeper_client.h", "runtime/store_open.h", "deploy/offline/", "deploy/common/",
                       "deploy/history/"],
    "deploy/transfer": [*FOR_DEPLOY, "runtime/actor/actor.h", "runtime/blob/",
                        "runtime/store_blobs.h", "runtime/link/directory.h", "runtime/journal/",
                        "runtime/trace/", "deploy/transfer/", "deploy/common/", "deploy/inputs/",
                        "deploy/graphs/", "deploy/history/", "deploy/retention/", "deploy/engine/",
                        "deploy/offline/"],
    "deploy/backup": [*FOR_DEPLOY, "runtime/blob/",
                      "runtime/store_blobs.h", "runtime/journal/",
                      "runtime/sqlite/sqlite.h", "runtime/sqlite/sqlite_copy.h", "deploy/backup/",
                      "deploy/common/", "deploy/inputs/", "deploy/history/", "deploy/retention/",
                      "deploy/offline/"],
    "deploy/cli": [*FOR_DEPLOY, "runtime/journal/", "runtime/store_open.h", "runtime/link/",
                   "runtime/trace/", "deploy/cli/", *ENGINE_ROOMS],
    "deploy/connect": [*FOR_DEPLOY, "runtime/journal/", "runtime/members/member.h",
                       "runtime/store_open.h", "runtime/store_place.h", "runtime/link/",
                       "deploy/connect/", "deploy/cli/", *ENGINE_ROOMS],
    "deploy/follow": [*FOR_DEPLOY, "runtime/journal/", "deploy/follow/", "deploy/connect/",
                      "deploy/cli/", "deploy/api_runs/desk.h", *ENGINE_ROOMS],
    "deploy/authoring": [*FOR_DEPLOY, "deploy/authoring/", "deploy/cli/", *ENGINE_ROOMS],
    "deploy/pod_logs": [*FOR_DEPLOY, "runtime/http/http.h", "deploy/pod_logs/", "deploy/common/",
                        "deploy/history/", "deploy/settings/"],
    "deploy/look": [*FOR_DEPLOY, "runtime/journal/", "runtime/link/", "deploy/look/",
                    "deploy/pod_logs/",
                    "deploy/follow/", "deploy/connect/", "deploy/cli/", *ENGINE_ROOMS],
    "deploy/overview": [*FOR_DEPLOY, "runtime/journal/", "deploy/overview/", "deploy/connect/",
                        "deploy/cli/", *ENGINE_ROOMS],
    "deploy/results": [*FOR_DEPLOY, "runtime/journal/", "deploy/results/",
                       "deploy/look/get_report.h", "deploy/cli/", *ENGINE_ROOMS],
    "deploy/copilot": [*FOR_DEPLOY, "deploy/copilot/", "deploy/cli/", "deploy/common/"],
    "deploy/debug": [*FOR_DEPLOY, "runtime/worker/sandbox.h", "runtime/trace/",
                     "runtime/env/buffer.h", "runtime/journal/image_kinds.h", "deploy/debug/",
                     "deploy/connect/", "deploy/cli/", *ENGINE_ROOMS],
    "deploy/schedules": [*FOR_DEPLOY, "runtime/journal/", "runtime/trace/", "deploy/schedules/",
                         "deploy/follow/", "deploy/connect/", "deploy/cli/", *ENGINE_ROOMS],
    "deploy/stores": [*FOR_DEPLOY, "runtime/journal/", "runtime/link/entry_locator.h",
                      "runtime/env/env.h", "runtime/store_care.h", "runtime/store_open.h", "deploy/stores/", "deploy/connect/", "deploy/cli/",
                      *ENGINE_ROOMS],
    # Its commands are rows of deploy/cli/commands.h: it includes none of their rooms.
    "deploy/web": [*FOR_DEPLOY, "runtime/env/buffer.h", "runtime/env/thread.h",
                   "runtime/journal/", "deploy/web/",
                   "deploy/cli/", "deploy/door/door.h", "deploy/api/call.h",
                   "deploy/api/clients.h", "deploy/api/outside.h", "deploy/api_wire/gzip.h",
                   "deploy/api/download.h", "deploy/api_wire/rest.h",
                   "deploy/common/", "deploy/data_proxy/download_store.h",
                   "deploy/data_proxy/signed_url.h", "deploy/data_proxy/signing_key.h",
                   "deploy/history/", "deploy/oidc/"],
    "deploy/pages": [*FOR_DEPLOY, "deploy/pages/", "deploy/door/door.h", "deploy/api_wire/gzip.h",
                     "deploy/web/request.h"],
    "deploy/commands": [*FOR_DEPLOY, "runtime/env/child_limit.h", "runtime/journal/",
                        "runtime/link/entry_locator.h",
                        "runtime/keeper/keeper.h", "runtime/keeper_client/keeper_end.h",
                        "runtime/store_blobs.h", "runtime/store_open.h", "runtime/store_place.h",
                        "deploy/commands/", "deploy/follow/", "deploy/connect/", "deploy/cli/",
                        "deploy/api/api.h", "deploy/entities/registrar.h",
                        "deploy/entities/task_token.h", "deploy/api_runs/desk.h",
                        "deploy/traces/trace_ids.h", "deploy/traces/traces.h",
                        "deploy/web/web.h", "deploy/pages/pages.h", *ENGINE_ROOMS],
    "examples": [*PUBLIC_RUNTIME, "schemas/", "plugins/sdk/plugin.h", "plugins/sdk/webapi.h",
                 "examples/"],
    "tests": ["schemas/", "runtime/", "actors/", "plugins/", "deploy/", "examples/", "tests/"],
}

ZEROMQ_FILES = ["runtime/link/*", "tests/*"]
HTTP_FILES = ["runtime/http/http.c", "runtime/http/http_transfer.*", "runtime/http/http_easy.*",
              "runtime/http/http_library.*", "tests/*"]
SQLITE_FILES = ["runtime/sqlite/*", "tests/*"]
POSTGRES_FILES = ["runtime/postgres/*", "runtime/postgres_care/*", "tests/*"]
PROTOBUF_FILES = ["actors/graph/flyte/*", "actors/graph/flyteworkflow/*",
                  "actors/graph/import/*", "deploy/api/*", "deploy/entities/*",
                  "deploy/api_runs/*", "deploy/api_nodes/*", "tests/*"]

# What a ban forbids: words that are called, words at all, or headers.
CALL, WORD, HEADER = "call", "word", "header"

# The form, the words or headers, the files that may use them, and what to do instead.
BANS = [
    (HEADER, ["zmq.h", "zmq_*.h", "czmq.h", "czmq_*.h"],
     [*ZEROMQ_FILES],
     "ZeroMQ is spoken only in runtime/link/; go through link.h"),
    (CALL, ["zmq_*", "zsock_*", "zmsg_*", "zframe_*", "zactor_*", "zpoller_*", "zloop_*",
     "zcert_*", "zcertstore_*", "zauth_*", "zstr_*", "zsys_*", "zproc_*"],
     [*ZEROMQ_FILES],
     "ZeroMQ is spoken only in runtime/link/; go through link.h"),
    (HEADER, ["curl/*"],
     [*HTTP_FILES],
     "libcurl is called only in runtime/http/http.c, http_transfer.c and "
     "http_easy.c; ask for http through tr_env"),
    (CALL, ["curl_*"],
     [*HTTP_FILES],
     "libcurl is called only in runtime/http/http.c, http_transfer.c and "
     "http_easy.c; ask for http through tr_env"),
    (HEADER, ["sqlite3.h", "sqlite3ext.h"],
     [*SQLITE_FILES],
     "SQL stands behind runtime/journal/store.h; only runtime/sqlite/ speaks it"),
    (HEADER, ["libpq-fe.h", "postgresql/*"],
     [*POSTGRES_FILES],
     "PostgreSQL is spoken only in runtime/postgres/ and postgres_care/; go through runtime/store_open.h"),
    (CALL, ["PQ*"],
     ["tests/*"],
     "libpq is loaded when it is needed; call it through postgres_library.h"),
    (HEADER, ["zstd.h"],
     ["runtime/postgres/postgres_compress.c", "tests/*"],
     "libzstd is loaded when it is needed; go through runtime/postgres/postgres_compress.h"),
    (CALL, ["ZSTD_*"],
     ["tests/*"],
     "libzstd is loaded when it is needed; go through runtime/postgres/postgres_compress.h"),
    (CALL, ["sqlite3_*"],
     [*SQLITE_FILES],
     "SQL stands behind runtime/journal/store.h; only runtime/sqlite/ speaks it"),
    (HEADER, ["protobuf-c/*", "flyteidl/*"],
     [*PROTOBUF_FILES],
     "protobuf is spoken only in actors/graph/flyte/ and import/; go through flyte.h or import.h"),
    (CALL, ["protobuf_c_*"],
     ["actors/graph/flyte/*", "actors/graph/flyteworkflow/*", "actors/graph/import/*", "tests/*"],
     "protobuf is spoken only in actors/graph/flyte/ and import/; go through flyte.h, "
     "flyte_message.h or import.h"),
    (CALL, ["flyteidl__*"],
     [*PROTOBUF_FILES],
     "protobuf is spoken only in actors/graph/flyte/ and import/; go through flyte.h or import.h"),
    (HEADER, ["nghttp2/*", "microhttpd.h", "openssl/ssl.h"],
     ["deploy/door/*", "tests/*"],
     "HTTP and TLS are spoken to clients only in deploy/door/; go through door.h"),
    (HEADER, ["openssl/bn.h", "openssl/core_names.h", "openssl/ec*.h", "openssl/evp.h",
              "openssl/param_build.h"],
     ["deploy/oidc/*", "tests/*"],
     "signatures are checked only in deploy/oidc/; go through provider.h"),
    (CALL, ["nghttp2_*", "MHD_*", "SSL_*", "TLS_*"],
     ["deploy/door/*", "tests/*"],
     "HTTP and TLS are spoken to clients only in deploy/door/; go through door.h"),
    (HEADER, ["archive.h", "archive_entry.h"],
     ["deploy/flyte/archive_library.*"],
     "libarchive is called only in deploy/flyte/archive.c, by archive_library.h"),
    (CALL, ["dlopen", "dlmopen", "dlsym", "dlvsym", "dlclose"],
     ["plugins/builtin/load.c", "runtime/env/library.c", "tests/*"],
     "shared objects are opened only in plugins/builtin/load.c, and libraries that are opened "
     "when they are needed in runtime/env/library.c"),
    (CALL, ["malloc", "calloc", "realloc", "reallocarray", "free", "strdup", "strndup",
     "aligned_alloc", "posix_memalign", "memalign", "asprintf", "vasprintf"],
     ["runtime/memory.c", "tests/*"],
     "take memory from runtime/memory.h (schemas/ takes none at all)"),
    (CALL, ["sleep", "usleep", "nanosleep", "clock_nanosleep", "thrd_sleep", "zclock_sleep"],
     [],
     "wait for the event itself, with a timer as its limit"),
    (CALL, ["sprintf", "vsprintf"],
     [],
     "use snprintf, which knows the size"),
    (CALL, ["strcpy", "strcat", "stpcpy", "strncat", "gets"],
     [],
     "copy with a known size: memcpy or snprintf"),
    (CALL, ["alloca", "strdupa", "strndupa"],
     [],
     "use an array with a named limit"),
    (CALL, ["time", "clock", "clock_gettime", "clock_getres", "gettimeofday", "timespec_get",
     "ftime", "zclock_time", "zclock_mono", "zclock_usecs"],
     ["runtime/env/*", "tests/*"],
     "time comes through tr_env, so that the simulator can bend it"),
    (CALL, ["rand", "srand", "rand_r", "random", "srandom", "random_r", "drand48", "lrand48",
     "mrand48", "getrandom", "getentropy", "arc4random*", "randombytes*", "uuid_generate*"],
     ["runtime/env/*", "runtime/keeper/*", "tests/*"],
     "randomness comes through tr_env, so that a seed repeats it"),
    (CALL, ["assert"],
     ["tests/*"],
     "use TR_ASSERT of schemas/codec/base.h, which stays on in a release"),
    (WORD, ["NDEBUG"],
     [],
     "assertions are never turned off"),
    (WORD, ["msg"],
     [],
     "write `message`"),
    (CALL, ["export", "delete", "new"],
     [],
     "clang-format takes it for a word of C++ and spoils what stands around it; name it otherwise"),
    (WORD, ["operator"],
     [],
     "clang-format takes it for a word of C++ and spoils what stands around it; name it otherwise"),
]

# A header that one .c file may include, and any of the files beside it here. Of GLib there are
# dates, and a digest that is for Flyte's clients alone.
READERS = [
    ("yaml.h", ["tests/*"]),
    ("jansson.h", ["tests/*"]),
    ("glib.h", ["tests/*", "deploy/data_proxy/md5.c"]),
    ("openssl/md5.h", ["tests/*"]),
    ("zlib.h", ["tests/*"]),
]

# The page of the numbered laws, and how the headline of each begins before its number.
LAW_PAGE = "runtime/ARCHITECTURE.md"
LAW_HEADLINE = "### Law "

# How references end: words with a slash, and those of pages; and bare names in comments.
REFERENCE_ENDINGS = (".c", ".h", ".md", ".py", ".sh", ".yaml", ".json", ".txt", ".proto", ".cmake",
                     ".expected")
BARE_ENDINGS = (".c", ".h", ".md")

# Tests are named by kind and place: `unit/house/laws` is tests/unit/house/test_laws.py. How such a
# name begins, the folder that this stands for, and how the file's name begins.
TEST_KINDS = [
    ("integration/double/", "tests/doubles/", "test_"),
    ("unit/", "tests/unit/", "test_"),
    ("integration/", "tests/integration/", "test_"),
    ("stress/", "tests/stress/", "test_"),
    ("sim/", "tests/sim/", "test_"),
    ("fuzz/", "tests/fuzz/", "fuzz_"),
    ("tests/fuzz/", "tests/fuzz/", "fuzz_"),
    ("tests/", "tests/", "test_"),
    ("examples/", "examples/actors/", ""),
]

# A word in the prose of some files that looks like a reference to the tree and is none: the word,
# where, and the reason.
EXCEPTIONS = [
    ("settings.yaml", "*", "of a user, in his store"),
    ("troupe/settings.yaml", "*", "of a user, in his folder of settings"),
    ("outputs.json", "*", "made by a task"),
    ("*/outputs.json", "*", "made by a task"),
    ("error.json", "*", "made by a task"),
    ("flow.yaml", "*", "a definition that a user writes"),
    ("f.py", "examples/COMMANDS.md", "a definition that a user writes"),
    ("f.yaml", "examples/COMMANDS.md", "a definition that a user writes"),
    ("flyte.yaml", "examples/COMMANDS.md", "Flyte's own"),
    ("config/server/config.yaml", "tests/doubles/armada/*", "Armada's own"),
    ("*code.py", "tests/integration/test_flyte_packages.py", "in packages that the test makes"),
    ("../x.py", "tests/integration/test_flyte_packages.py", "in packages that the test makes"),
    ("twice.c", "examples/plugins/README.md", "the page shows it, and its reader writes it"),
    ("tasks.py", "examples/TUTORIAL.md", "made by init"),
    ("orders.*", "examples/TUTORIAL.md", "the page shows it, and its reader writes it"),
    ("tasks.py", "examples/MIGRATING.md", "the page shows it, and its reader writes it"),
    ("words.*", "examples/MIGRATING.md", "the page shows it, and its reader writes it"),
    ("orders*.*", "examples/MIGRATING.md", "the page shows it, and its reader writes it"),
    ("count.*", "examples/MIGRATING.md", "the page shows it, and its reader writes it"),
    ("flows/*.py", "examples/flyte/REMOTE.md", "the page shows it, and its reader writes it"),
    ("again.py", "examples/flyte/REMOTE.md", "the page shows it, and its reader writes it"),
    ("config.yaml", "examples/flyte/REMOTE.md", "troupe config writes it"),
    ("flows/*.py", "examples/flyte/TOKENS.md", "the page shows it, and its reader writes it"),
    ("*.yaml", "examples/flyte/TOKENS.md", "the page shows it, and its reader writes it"),
    ("sum.py", "examples/MIGRATING.md", "the page shows it, and its reader writes it"),
    ("total.py", "examples/TROUBLESHOOTING.md", "the page shows it, and its reader writes it"),
    ("limited.yaml", "examples/TROUBLESHOOTING.md", "the page shows it, and its reader writes it"),
    ("late.yaml", "examples/TROUBLESHOOTING.md", "the page shows it, and its reader writes it"),
    ("bounded.yaml", "examples/TROUBLESHOOTING.md", "the page shows it, and its reader writes it"),
]

# Marks of work left undone, and whether capitals count. Parted, so that this file keeps its law.
UNFINISHED = [
    ("TO" "DO", True), ("FIX" "ME", True), ("XX" "X", True),
    ("HA" "CK", True), ("not imple" "mented", False), ("st" "ub", False),
]
