#!/usr/bin/env python3
"""Each law of the house can fail: a violation is planted into a small tree that keeps all laws, and
must be found, alone and at its line. And what only looks like a violation must not be found.

The bans are tried word by word, from the table itself: a word outside its files, inside them, and
in a comment or literal.
"""

import os
import shutil
import sys
import tempfile
import unittest

import laws
from check import check_tree

# The law, the file, the line, and what is planted: as a whole file, or, where that is C and begins
# with no comment, from line 3 of a good one. Marks of work left undone are parted, so that this
# file keeps the law.
VIOLATIONS = [
    ("include", "runtime/a.c", 3, "#include \"a.h\""),
    ("include", "runtime/a.c", 4, "\n  #  include \"../schemas/a.h\""),
    ("include", "runtime/a.c", 3, "#include <runtime/a.h>"),
    ("one reader", "actors/a.h", 3,
     "#ifndef TR_ACTORS_A_H\n#define TR_ACTORS_A_H\n#include <yaml.h>\n#endif\n"),
    ("opening comment", "runtime/a.c", 1, "/* Too short to help. */\nint a;\n"),
    ("opening comment", "runtime/a.c", 1, "/* One line. */\n"),
    ("opening comment", "runtime/a.c", 1, "/* A line, */ int a;\n/* and another. */\n"),
    ("include guard", "schemas/a.h", 1, "int a;\n"),
    ("include guard", "schemas/a.h", 2, "/* A. */\n#pragma once\n"),
    ("include guard", "schemas/a.h", 1, "#ifndef A_H\n#define A_H\n#endif\n"),
    ("include guard", "schemas/a.h", 2, "#ifndef TR_SCHEMAS_A_H\n#define TR_A_H\n#endif\n"),
    ("braces", "deploy/a.c", 4, "void a(void)\n{ if (b(c)) d(); }"),
    ("braces", "deploy/a.c", 4, "\nwhile (b)\n    d();"),
    ("braces", "deploy/a.c", 3, "for (;;)\n    ;"),
    ("braces", "deploy/a.c", 3, "if (b) { d(); } else e();"),
    ("braces", "deploy/a.c", 3, "if (b) { d(); } else if (c) e();"),
    ("braces", "deploy/a.c", 3, "do if (b) { d(); } while (0);"),
    ("braces", "deploy/a.c", 4, "#define A(b) \\\n    if (b) return"),
    ("blanks", "actors/a.c", 3, "\tint a;"),
    ("blanks", "actors/a.c", 4, "int a;\nint b; \nint c;"),
    ("blanks", "actors/a.c", 3, "int a;\r"),
    ("blanks", "actors/a.c", 3, "/* A. */\n/* B. */\nint a;"),
    ("blanks", "actors/a.md", 2, "A.\nB. \n"),
    ("blanks", "actors/run", 2, "#!/bin/sh\n\ttrue\n"),
    ("unfinished", "plugins/a.c", 3, "int a; /* TOD" "O: more */"),
    ("unfinished", "plugins/a.c", 3, "const char *a = \"Not Implemente" "d\";"),
    ("unfinished", "plugins/a.c", 4, "\nint a; // FIXM" "E"),
    ("unfinished", "plugins/a.md", 1, "This is a Stu" "b.\n"),
    ("unfinished", "plugins/CMakeLists.txt", 2, "a()\n# XX" "X\n"),
    ("unfinished", "plugins/a.sh", 1, "# HAC" "K\n"),
    ("reference", "runtime/a.c", 3, "int a; /* runtime/none.c has the rest. */"),
    ("reference", "runtime/a.c", 4, "int a; /* Begins\n * as none.h does. */"),
    ("reference", "runtime/a.c", 3, "int a; // what lies in deploy/none/ is not"),
    ("reference", "runtime/a.c", 3, "int a; /* inputs/none.json */"),
    ("reference", "runtime/a.c", 3, "int a; /* seen by unit/runtime/none */"),
    ("reference", "runtime/a.c", 4, "\nint a; /* (law 77) */"),
    ("reference", "runtime/a.c", 3, "int a; /* The laws\n 77 and 78 say so. */"),
    ("reference", "runtime/a.md", 1, "See [that](none/).\n"),
    ("reference", "runtime/a.md", 2, "A.\nSee `none.yaml`.\n"),
    ("reference", "runtime/a.md", 2, "- A\n    list/of/none.c\n"),
    ("reference", "runtime/a.md", 1, "Proved by integration/none.\n"),
    ("reference", "runtime/a.md", 1, "Proved by stress/none, among others.\n"),
    ("reference", "runtime/a.md", 1, "Proved by fuzz/none.\n"),
    ("reference", "runtime/a.md", 1, "Proved by `test_none`.\n"),
    ("reference", "runtime/a.md", 1, "Law 77 forbids it.\n"),
    ("reference", "deploy/run", 2, "#!/bin/sh\ntrue # as deploy/none.sh\n"),
    ("reference", "deploy/CMakeLists.txt", 1, "# Beside deploy/none.c.\n"),
    ("reference", "tests/a.py", 2, "\"\"\"What it does,\nand tests/none.py.\"\"\"\n"),
    ("reference", "tests/a.py", 1, "a = 1  \x23 law 77\n"),
    ("top level", "notes.md", 0, "A.\n"),
    ("top level", "docs/README.md", 0, "A.\n"),
]

# What only looks like one: the file, and what is planted.
NO_VIOLATIONS = [
    ("runtime/a.c", "/* #include \"b\" */\n//\n#include \"runtime/a.h\"\n"),
    ("runtime/a.c", "const char *a = \"#include <zmq.h>\";"),
    ("runtime/a.c", "#include <stdlib.h>\n#include <msgpack.h>\n#include HEADER_OF_THE_USER"),
    ("runtime/a.c", "int a = b->free(1) + c.time(2);"),
    ("runtime/a.c", "int tr_free(int); int free_count = my_malloc(sleep_ms);"),
    ("runtime/a.c", "int time = clock + 1;"),
    ("runtime/a.c", "char a = '\"'; /* a \" b */ char b = '\\''; // free(a)"),
    ("runtime/a.c", "const char *a = \"\\\"malloc(1)\"; /* malloc(2) */ // malloc(3)"),
    ("deploy/a.c", "if (b) {\n} else if (c) {\n} else {\n}\ndo {\n} while (d);"),
    ("deploy/a.c", "#define A(b) \\\n    do { \\\n    } while (0)\n#if (A)\n#else\n#endif"),
    ("deploy/a.c", "switch (a) {\n}\nfor (;;) {\n}\nwhile (b) {\n}"),
    ("schemas/a.h", "/* A. */\n#ifndef TR_SCHEMAS_A_H\n#define TR_SCHEMAS_A_H\n#endif\n"),
    ("plugins/a.c", "const char *a = \"XXXX\"; int stubborn; int TODO_LIST;"),
    ("runtime/a.c", "/* README.md, a.c and runtime/a.c. */\n/* ../deploy/README.md. */\n"),
    ("runtime/a.c", "/* NAME.c, runtime/NAME.c, none*.c */\n/* <none.h> {a,b}.c $A/b.c */\n"),
    ("runtime/a.c", "/* /none.c ./none.py build/none.c */\n/* none.json; a law; laws */\n"),
    ("runtime/a.c", "const char *a = \"runtime/none.c, law 77\";"),
    ("runtime/a.md", "A.\n\n    runtime/none.c\n\n```\nlaw 77\n```\n"),
    ("runtime/a.md", "A file's [page](https://none.org/none.md), [here](#law-77).\n"),
    ("tests/a.py", "a = \"\"\"\nruntime/none.c\n\"\"\"\n"),
    ("deploy/run", "#!/bin/sh\ncat runtime/none.c\n"),
    ("plugins/a.go", "\tanother language\t\n"),
    (".hidden", "\tanything\n"),
    ("build/dev/a.c", "\tanything"),
    ("tests/unit/runtime/actor/a.c", "int a;"),
]

# Said here once more, so that a slip in the table of laws shows: a room, what it may include, and
# what it may not.
DIRECTIONS = [
    ("schemas", "schemas/a.h", "runtime/troupe.h"),
    ("runtime", "runtime/a/b.h", "actors/a.h"),
    ("schemas/codec", "schemas/codec/a.h", "schemas/runtime/a.h"),
    ("schemas/codec", "schemas/codec/a.h", "schemas/engine/a.h"),
    ("schemas/runtime", "schemas/codec/a.h", "schemas/engine/a.h"),
    ("schemas/runtime", "schemas/runtime/a.h", "schemas/a.h"),
    ("schemas/engine", "schemas/runtime/a.h", "schemas/a.h"),
    ("runtime", "schemas/codec/value.h", "schemas/engine/flow.h"),
    ("runtime", "schemas/runtime/control.h", "schemas/engine/plugin.h"),
    ("runtime/env", "runtime/link/zmq.h", "runtime/keeper/keeper.h"),
    ("runtime/blob", "runtime/env/env_limits.h", "runtime/keeper_client/keeper_limits.h"),
    ("runtime/secret", "runtime/blob/below.h", "runtime/process/attempt_limits.h"),
    ("runtime/process", "runtime/secret/secret.h", "runtime/host/host.h"),
    ("runtime/cgroup", "runtime/cgroup/cgroup.h", "runtime/env/env_limits.h"),
    ("runtime/keeper_client", "runtime/env/buffer.h", "runtime/keeper/keeper.h"),
    ("runtime/keeper", "runtime/process/spawn.h", "runtime/services/service.h"),
    ("runtime/worker", "runtime/move/balance.h", "runtime/host/receive.h"),
    ("runtime/crashes", "runtime/journal/crashes.h", "runtime/host/host.h"),
    ("runtime/services", "runtime/link/sender.h", "runtime/link/link.h"),
    ("runtime/http", "runtime/secret/secret.h", "runtime/process/attempt_limits.h"),
    ("runtime/fetch", "runtime/http/http.h", "runtime/services/service.h"),
    ("runtime/objects", "runtime/fetch/fetch_list.h", "runtime/blob/blob.h"),
    ("runtime/link", "runtime/link/directory.h", "runtime/cluster/session.h"),
    ("runtime/link", "runtime/link/link.h", "tests/support/test.h"),
    ("runtime/trace", "runtime/env/crc32c.h", "runtime/actor/worker.h"),
    ("runtime/journal", "runtime/trace/glob.h", "runtime/actor/actor.h"),
    ("runtime/actor", "runtime/journal/batch.h", "runtime/cluster/interhost.h"),
    ("runtime/commits", "runtime/journal/store.h", "runtime/sqlite/sqlite.h"),
    ("runtime/database", "runtime/journal/store.h", "runtime/commits/commit_log.h"),
    ("runtime/sqlite", "runtime/commits/commit_log.h", "runtime/postgres/postgres.h"),
    ("runtime/postgres", "runtime/journal/store.h", "runtime/store_open.h"),
    ("runtime/postgres_care", "runtime/postgres/postgres_internal.h", "runtime/store_care.h"),
    ("runtime/members", "runtime/journal/store.h", "runtime/postgres/postgres.h"),
    ("runtime/actor", "runtime/trace/recorder.h", "runtime/watch/port.h"),
    ("runtime/cluster", "runtime/actor/deliver.h", "runtime/watch/port.h"),
    ("runtime/move", "runtime/actor/hooks.h", "runtime/worker/worker.h"),
    ("runtime/watch", "runtime/move/snapshot.h", "runtime/host/host.h"),
    ("runtime/host", "runtime/hosting.h", "runtime/tap/tap.h"),
    ("runtime/tap", "runtime/host/control.h", "runtime/worker/worker.h"),
    ("runtime/host", "runtime/keeper_client/keeper_client.h", "actors/task/task.h"),
    ("actors", "runtime/troupe.h", "runtime/actor/mailbox.h"),
    ("actors", "schemas/engine/flow.h", "plugins/sdk/plugin.h"),
    ("actors", "actors/store/graph_registry.h", "actors/task/task.h"),
    ("actors/graph", "actors/graph/document/tree.h", "actors/store/heap.h"),
    ("actors/graph/document", "actors/graph/document/tree.h", "actors/graph/value/type.h"),
    ("actors/graph/value", "actors/graph/document/tree.h", "actors/graph/compiled/graph.h"),
    ("actors/graph/flyte", "actors/graph/value/type.h", "actors/graph/language/keys.h"),
    ("actors/graph/compiled", "actors/graph/value/type.h", "actors/graph/language/keys.h"),
    ("actors/graph/language", "actors/graph/compiled/graph.h", "actors/graph/compiler/compile.h"),
    ("actors/graph/compiler", "actors/graph/language/keys.h", "actors/graph/flyte/flyte.h"),
    ("actors/graph/flyteworkflow", "actors/graph/flyte/flyte.h", "actors/graph/compiled/graph.h"),
    ("actors/graph/import", "actors/graph/compiler/fill.h", "actors/engine.h"),
    ("actors/metrics", "schemas/engine/phase.h", "actors/engine.h"),
    ("actors/store", "actors/graph/compiled/graph.h", "actors/values/bind.h"),
    ("actors/values", "actors/store/heap.h", "actors/task/task.h"),
    ("actors/history", "actors/store/rows.h", "actors/engine.h"),
    ("actors/services", "actors/engine.h", "actors/task/task.h"),
    ("actors/backend", "actors/services/growth.h", "actors/task/task.h"),
    ("actors/task", "actors/values/path.h", "actors/workflow/workflow.h"),
    ("actors/array", "actors/services/growth.h", "actors/task/task.h"),
    ("actors/workflow", "actors/services/growth.h", "actors/array/array.h"),
    ("actors/explain", "actors/task/task.h", "deploy/a.h"),
    ("plugins", "runtime/limits.h", "runtime/env/env.h"),
    ("plugins", "plugins/sdk/plugin.h", "actors/task/task.h"),
    ("plugins", "schemas/engine/plugin.h", "deploy/config.h"),
    ("plugins/sdk", "plugins/sdk/plugin.h", "plugins/builtin/registry.h"),
    ("plugins/process", "plugins/process/process.h", "plugins/http/http.h"),
    ("plugins/http", "plugins/sdk/json.h", "plugins/builtin/registry.h"),
    ("plugins/pod", "plugins/pod/pod.h", "plugins/armada/armada.h"),
    ("plugins/kubernetes", "plugins/cards/cards.h", "plugins/armada/armada.h"),
    ("deploy/pack", "actors/graph/document/yaml.h", "plugins/cards/cards.h"),
    ("plugins/cards", "plugins/cards/cards.h", "plugins/kubernetes/kubernetes.h"),
    ("plugins/armada", "plugins/armada/armada.h", "plugins/process/process.h"),
    ("plugins/builtin", "plugins/armada/armada.h", "plugins/armada/job.h"),
    ("deploy", "deploy/cli/command.h", "tests/sim/sim.h"),
    ("deploy", "deploy/common/stream.h", "runtime/env/env.h"),
    ("deploy/common", "runtime/link/endpoint.h", "deploy/history/executions.h"),
    ("deploy/common", "actors/graph/document/report.h", "actors/graph/language/keys.h"),
    ("deploy/inputs", "runtime/blob/blob.h", "deploy/graphs/graphs.h"),
    ("deploy/flyte", "deploy/common/file.h", "deploy/cli/command.h"),
    ("deploy/api_wire", "runtime/env/buffer.h", "deploy/api/call.h"),
    ("deploy/api", "deploy/door/door.h", "deploy/door/connection.h"),
    ("deploy/door", "runtime/env/library.h", "deploy/engine/assemble.h"),
    ("deploy/data_proxy", "deploy/api/upload.h", "deploy/entities/registrar.h"),
    ("deploy/oidc", "runtime/http/http.h", "deploy/api/call.h"),
    ("deploy/pod_logs", "runtime/http/http.h", "deploy/cli/command.h"),
    ("deploy/entities", "deploy/api/call.h", "deploy/door/door.h"),
    ("deploy/api_runs", "deploy/api/call.h", "deploy/door/door.h"),
    ("deploy/api_nodes", "deploy/api_runs/view.h", "deploy/entities/registrar.h"),
    ("deploy/graphs", "deploy/common/document.h", "deploy/history/executions.h"),
    ("deploy/history", "deploy/common/document.h", "deploy/recovery/reuse.h"),
    ("deploy/recovery", "deploy/history/executions.h", "deploy/engine/launch.h"),
    ("deploy/selection", "runtime/journal/reader.h", "deploy/history/executions.h"),
    ("deploy/retention", "deploy/common/client.h", "deploy/connect/connect.h"),
    ("deploy/settings", "deploy/retention/janitor.h", "deploy/engine/assemble.h"),
    ("deploy/inquiries", "deploy/recovery/reuse.h", "deploy/engine/assemble.h"),
    ("deploy/engine", "deploy/inquiries/exchange.h", "deploy/cli/command.h"),
    ("deploy/engine", "runtime/host/host.h", "runtime/worker/worker.h"),
    ("deploy/metrics", "deploy/engine/assemble.h", "deploy/server/serve.h"),
    ("deploy/entry", "deploy/engine/assemble.h", "deploy/server/serve.h"),
    ("runtime/remote", "runtime/link/endpoint.h", "runtime/postgres/postgres.h"),
    ("deploy/server", "deploy/engine/assemble.h", "deploy/debug/replay.h"),
    ("deploy/offline", "deploy/history/executions.h", "deploy/cli/selection.h"),
    ("deploy/transfer", "deploy/offline/send.h", "deploy/server/serve.h"),
    ("deploy/backup", "deploy/offline/send.h", "deploy/engine/assemble.h"),
    ("deploy/console", "deploy/console/console.h", "deploy/common/file.h"),
    ("deploy/cli", "deploy/engine/assemble.h", "deploy/follow/screen.h"),
    ("deploy/copilot", "deploy/cli/command.h", "deploy/engine/assemble.h"),
    ("deploy/connect", "deploy/cli/command.h", "deploy/follow/screen.h"),
    ("deploy/follow", "deploy/server/serve.h", "deploy/look/list.h"),
    ("deploy/authoring", "deploy/settings/installed.h", "deploy/look/list.h"),
    ("deploy/look", "deploy/follow/result.h", "deploy/commands/pause.h"),
    ("deploy/debug", "deploy/connect/connect.h", "deploy/look/list.h"),
    ("deploy/results", "deploy/look/get_report.h", "deploy/look/list.h"),
    ("deploy/overview", "deploy/cli/browse.h", "deploy/look/get.h"),
    ("deploy/traces", "deploy/history/executions.h", "deploy/engine/assemble.h"),
    ("deploy/schedules", "deploy/connect/connect.h", "deploy/commands/pause.h"),
    ("deploy/stores", "deploy/connect/connect.h", "deploy/commands/pause.h"),
    ("deploy/web", "deploy/cli/commands.h", "deploy/look/list.h"),
    ("deploy/pages", "deploy/door/door.h", "deploy/web/web.h"),
    ("deploy/commands", "deploy/follow/begin.h", "deploy/look/list.h"),
    ("examples/actors", "runtime/memory.h", "runtime/host/host.h"),
    ("examples/actors", "plugins/sdk/plugin.h", "actors/task/task.h"),
    ("examples", "runtime/troupe.h", "runtime/actor/actor.h"),
]

# There is a row for each ban that the architecture names.
USES = [
    ("runtime/actor.c", "void *a = zmq_ctx_new();"),
    ("runtime/link.c", "#include <zmq.h>"),
    ("runtime/host.c", "#include <czmq.h>"),
    ("plugins/call.c", "#include <curl/curl.h>"),
    ("plugins/call.c", "void *a = curl_easy_init();"),
    ("runtime/store.c", "#include <sqlite3.h>"),
    ("deploy/list.c", "int a = sqlite3_step(b);"),
    ("runtime/store.c", "#include <libpq-fe.h>"),
    ("runtime/store.c", "void a(void) { PQclear(b); }"),
    ("actors/a.c", "#include <protobuf-c/protobuf-c.h>"),
    ("actors/a.c", "#include <flyteidl/types.pb-c.h>"),
    ("deploy/a.c", "#include <nghttp2/nghttp2.h>"),
    ("deploy/a.c", "int a = SSL_read(b, c);"),
    ("runtime/page.c", "void *a = malloc(1);"),
    ("schemas/codec.c", "void *a = calloc(1, 1);"),
    ("actors/a.c", "void *a = realloc(b, 1);"),
    ("plugins/task.c", "void a(void) { free(b); }"),
    ("examples/task.c", "char *a = strdup(b);"),
    ("tests/a.c", "int a = sleep(1);"),
    ("tests/a.c", "int a = usleep(1);"),
    ("tests/a.c", "int a = sprintf(b, c);"),
    ("runtime/a.c", "char *a = strcpy(b, c);"),
    ("runtime/a.c", "char *a = strcat(b, c);"),
    ("runtime/a.c", "int a = clock_gettime(b, c);"),
    ("deploy/a.c", "long a = time(NULL);"),
    ("actors/a.c", "int a = rand();"),
    ("runtime/a.c", "int a = getrandom(b, c, d);"),
]

# The laws that have been seen to trip.
tripped = set()


def tearDownModule():
    if len(sys.argv) < 2 and tripped != set(laws.LAWS):
        raise AssertionError(f"never tripped: {set(laws.LAWS) - tripped}")


class Planted(unittest.TestCase):
    """A tree that holds the least that keeps every law: what belongs at the top, and a README in
    each folder."""

    def setUp(self):
        self.root = tempfile.mkdtemp(prefix="house-")
        self.addCleanup(shutil.rmtree, self.root)
        for name in laws.TOP_LEVEL:
            self.write(name, "A line.\n")
        self.readme(*laws.FOLDERS)

    def write(self, path, text):
        full = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8", newline="") as file:
            file.write(text)

    def write_code(self, path, code):
        self.write(path, f"/* What this is. */\n/* And why. */\n{code}\n")

    def write_header(self, path):
        guard = "TR_" + path.replace("/", "_").replace(".", "_").upper()
        self.write(path, f"/* A. */\n#ifndef {guard}\n#define {guard}\n#endif\n")

    def plant(self, path, text):
        is_whole = text.startswith("/*") or not path.endswith(".c")
        (self.write if is_whole else self.write_code)(path, text)

    def readme(self, *folders):
        for folder in folders:
            self.write(f"{folder}/README.md", "A line.\n")

    def remove(self, path):
        """The file, and the folders above it that are empty then."""
        os.remove(os.path.join(self.root, path))
        folder = os.path.dirname(path)
        while folder and not os.listdir(os.path.join(self.root, folder)):
            os.rmdir(os.path.join(self.root, folder))
            folder = os.path.dirname(folder)

    def rename(self, name, to):
        os.rename(os.path.join(self.root, name), os.path.join(self.root, to))

    def expect(self, law, path, line):
        findings = check_tree(self.root)
        self.assertEqual([finding[:3] for finding in findings], [(path, line, law)],
                         "\n".join(map(str, findings)))
        tripped.add(law)

    def expect_none(self):
        self.assertEqual(list(map(str, check_tree(self.root))), [])


class Rows(Planted):
    def test_violations_are_found(self):
        for law, path, line, text in VIOLATIONS:
            with self.subTest(law=law, text=text):
                self.plant(path, text)
                self.expect(law, path.split("/")[0] if law == "top level" else path, line)
                self.remove(path)

    def test_what_looks_like_a_violation_is_not_found(self):
        self.readme("tests/unit")
        for path, text in NO_VIOLATIONS:
            with self.subTest(path=path, text=text):
                self.plant(path, text)
                self.expect_none()
                self.remove(path)

    def test_what_is_there_may_be_named(self):
        self.readme("tests/unit")
        self.write("tests/integration/README.md", "test_b.py, b.py, `test_b`\n")
        self.write("tests/integration/test_b.py", "def test_each(self):\n    pass\n")
        self.write("tests/integration/b.py", "# For test_b.py.\n")
        self.write("tests/fuzz/README.md", "fuzz_c.c\n")
        self.write_code("tests/fuzz/fuzz_c.c", "int a;")
        self.write_code("runtime/deep/down/a.c", "/* down/b.h, deep/down/b.h, c.h; law 7. */")
        self.write("runtime/deep/README.md", "`a.c`, down/b.h, [b](down/b.h)\n")
        self.write("runtime/deep/down/b.h",
                   "/* c.h */\n#ifndef TR_RUNTIME_DEEP_DOWN_B_H\n"
                   "#define TR_RUNTIME_DEEP_DOWN_B_H\n#endif\n")
        self.write("runtime/c.h", "#ifndef TR_RUNTIME_C_H\n#define TR_RUNTIME_C_H\n#endif\n")
        self.write_code("tests/unit/runtime/deep/test_a.c", "static void test_it(void **state);")
        self.write_code("tests/unit/runtime/deep/down/help.c",
                        "/* a.c, ../../c.h, deep/down/b.h */")
        self.write("runtime/ARCHITECTURE.md", "### Law 7: A law\n\nThe laws 7 and 8.\n")
        self.write("actors/a.md",
                   "unit/runtime/deep/a unit/runtime/deep unit/runtime/deep/down/help\n"
                   "integration/b, fuzz/c, `test_a`, `test_it`, `test_each`\n"
                   "[runtime](../runtime/deep/README.md#a), law 7, **law 7**\n")
        self.expect_none()


class Includes(Planted):
    def test_includes_point_downward(self):
        for folder, may, may_not in DIRECTIONS:
            with self.subTest(folder=folder, may_not=may_not):
                self.readme(folder)
                path = f"{folder}/planted.c"
                self.write_code(path, f'#include "{may}"\n#include "{may_not}"')
                self.expect("include", path, 4)
                self.remove(path)

    def test_rooms_make_no_circle(self):
        rooms = ("runtime/a", "runtime/b", "runtime/c")
        self.readme(*rooms)
        for room, below in zip(rooms, rooms[1:]):
            self.write_code(f"{room}/it.c", f'#include "{below}/it.h"\n#include "{room}/it.h"')
        self.write_code("runtime/c/it.c", '#include "runtime/it.h"')
        self.write_code("runtime/it.c", '#include "runtime/a/it.h"')
        self.expect_none()
        self.write_code("runtime/c/it.c", '#include "runtime/a/it.h"')
        self.expect("room circle", "runtime/a", 0)

    def test_every_room_has_a_wall(self):
        """A room whose row is forgotten here would be a wall that nobody has seen hold."""
        tried = {folder for folder, _, _ in DIRECTIONS} | {"tests"}
        self.assertEqual(set(laws.INCLUDES) - tried, set())

    def test_tests_may_include_everything(self):
        self.write_code("tests/a.c", '#include "schemas/a.h"\n#include "runtime/actor/a.h"\n'
                                     '#include "actors/a.h"\n#include "plugins/a.h"\n'
                                     '#include "deploy/a.h"\n#include "tests/sim/a.h"')
        self.expect_none()

    def test_a_library_has_one_reader(self):
        for header, _ in laws.READERS:
            self.write_code("runtime/first.c", f"#include <{header}>")
            self.write_code("tests/second.c", f"#include <{header}>")
            self.expect_none()
            self.write_code("schemas/third.c", f"#include <{header}>")
            self.expect("one reader", "schemas/third.c", 3)
            for path in ("runtime/first.c", "tests/second.c", "schemas/third.c"):
                self.remove(path)


class Bans(Planted):
    USE = {laws.CALL: "int a = 1 + {} (2);", laws.WORD: "int {};", laws.HEADER: "#include <{}>"}

    def try_word(self, form, word, excepted):
        use = self.USE[form].format(word)
        self.write_code("deploy/planted.c", use)
        self.expect("ban", "deploy/planted.c", 3)
        self.write_code("deploy/planted.c",
                        f'/* {use} */ // {use}\nchar a[] = "{word} {word}(1)";')
        self.expect_none()
        self.remove("deploy/planted.c")
        for pattern in excepted:
            path = pattern.replace("*", "_a" if "*.c" in pattern else "a.c")
            self.write_code(path, use)
            self.expect_none()
            self.remove(path)

    def test_banned_words_are_found_outside_their_files(self):
        self.readme("runtime/link", "runtime/tap", "runtime/env", "runtime/http", "runtime/keeper",
                    "runtime/journal", "runtime/sqlite", "runtime/postgres",
                    "runtime/postgres_care", "plugins/builtin", "actors/graph", "deploy/flyte",
                    "deploy/door", "deploy/api", "deploy/oidc", "deploy/entities",
                    "deploy/api_runs", "deploy/api_nodes")
        for form, words, excepted, _ in laws.BANS:
            for word in words:
                with self.subTest(word=word):
                    self.try_word(form, word.replace("*", "x"), excepted)

    def test_no_ban_is_forgotten(self):
        for path, text in USES:
            with self.subTest(text=text):
                self.plant(path, text)
                self.expect("ban", path, 3)
                self.remove(path)


class Sizes(Planted):
    """The limit itself is allowed, one more is not."""

    def test_files_have_a_size(self):
        path, opening = "runtime/a.c", "/* A. */\n/* B. */\n"
        self.write(path, opening + "int a;\n" * (laws.FILE_LINES_MAX - 2))
        self.expect_none()
        self.write(path, opening + "int a;\n" * (laws.FILE_LINES_MAX - 1))
        self.expect("file size", path, laws.FILE_LINES_MAX + 1)
        self.write("runtime/a.md", "A.\n" * (laws.FILE_LINES_MAX + 1))
        self.write(path, opening)
        self.expect_none()

    def test_rooms_have_a_size(self):
        for number in range(laws.ROOM_FILES_MAX // 2):
            for folder in ("runtime", "tests"):
                self.write_code(f"{folder}/a{number}.c", "int a;")
                self.write_header(f"{folder}/a{number}.h")
        self.write_code("tests/b.c", "int a;")
        self.expect_none()
        for path, write in (("runtime/b.c", lambda path: self.write_code(path, "int a;")),
                            ("runtime/b.h", self.write_header)):
            with self.subTest(path=path):
                write(path)
                self.expect("room size", "runtime", 0)
                self.remove(path)

    def test_functions_have_a_size(self):
        path, most = "runtime/a.c", laws.FUNCTION_LINES_MAX
        for signature, opened in (("int a(void)\n{\n", 4), ("int a(void) {\n", 3)):
            self.write_code(path, signature + "    a();\n" * most + "}")
            self.expect_none()
            self.write_code(path, signature + "    a();\n" * (most + 1) + "}")
            self.expect("function size", path, opened)
        for table, row in (("static const int a[(2)] = {\n", "    1,\n"),
                           ("enum a {\n", "    B,\n")):
            self.write_code(path, table + row * (most + 1) + "};")
            self.expect_none()

    def test_lines_have_a_width(self):
        path, most = "runtime/a.c", laws.LINE_COLUMNS_MAX
        self.write_code(path, "//" + "ö" * (most - 2))
        self.expect_none()
        self.write_code(path, "//" + "ö" * (most - 1))
        self.expect("line width", path, 3)
        self.remove(path)
        self.write("deploy/run", "#!/bin/sh\n" + "a" * (most + 1) + "\n")
        self.expect("line width", "deploy/run", 2)
        self.remove("deploy/run")
        self.write("deploy/a.md", "a" * (most + 1) + "\n")
        self.expect_none()


class Folders(Planted):
    def test_each_folder_has_a_readme(self):
        self.remove("schemas/README.md")
        self.write_code("schemas/a.c", "int a;")
        self.expect("readme", "schemas", 0)
        self.readme("schemas")
        self.write_code("runtime/actor/a.c", "int a;")
        self.expect("readme", "runtime/actor", 0)
        self.readme("runtime/actor")
        self.write_code("runtime/actor/deeper/a.c", "int a;")
        self.expect_none()

    def test_a_readme_of_a_room_is_a_page(self):
        for path in ("runtime/README.md", "tests/unit/README.md"):
            self.write(path, "A line.\n" * (laws.ROOM_README_LINES_MAX + 1))
        self.write("runtime/actor/README.md", "A line.\n" * laws.ROOM_README_LINES_MAX)
        self.write_code("runtime/actor/a.c", "int a;")
        self.expect_none()
        self.write("runtime/actor/README.md", "A line.\n" * (laws.ROOM_README_LINES_MAX + 1))
        self.expect("readme", "runtime/actor/README.md", 0)

    def test_nothing_is_missing_at_the_top(self):
        for name in laws.FOLDERS + laws.TOP_LEVEL:
            self.rename(name, ".away")
            self.expect("top level", name, 0)
            self.rename(".away", name)


if __name__ == "__main__":
    unittest.main()
