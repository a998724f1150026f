/*
 * The actor says process_run, again when the call fails, writes down what it hears, and ends.
 */
#include "tests/unit/runtime/services/attempt_actor.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/keeper/keeper.h"
#include "tests/support/folder.h"
#include "tests/support/test.h"

#define TR_ATTEMPT_WISH_FIELDS(FIELD, ARRAY) \
    FIELD(u8, kind, 1, 0)                    \
    FIELD(text, path, 1, 0)
#define TR_ATTEMPT_ACTOR_FIELDS(FIELD, ARRAY) FIELD(u64, ask, 1, 0)

#define TR_ATTEMPT_TEST_SCHEMAS(S)                                            \
    S(attempt_wish, 62201, TR_MESSAGE, 1, TR_DURABLE, TR_ATTEMPT_WISH_FIELDS) \
    S(attempt_actor, 62202, TR_STATE, 1, 0, TR_ATTEMPT_ACTOR_FIELDS)

TR_ATTEMPT_TEST_SCHEMAS(TR_SCHEMA_DECLARE_ROW)
TR_ATTEMPT_TEST_SCHEMAS(TR_SCHEMA_DEFINE)

enum wish { WISH_RUN, WISH_REMOVE };

struct attempt_plan attempt_plan;
struct attempt_seen attempt_seen;
static char store_folder[128];

/* ---- Saying. -------------------------------------------------------------------------------- */

static struct tr_bytes written(const struct tr_writer *writer)
{
    assert_int_equal(writer->error, 0);
    return (struct tr_bytes){.data = writer->begin, .size = tr_writer_size(writer)};
}

static struct tr_bytes words_of(const char *const *words, uint8_t *buffer, size_t size)
{
    struct tr_writer writer = tr_writer_of(buffer, size);
    assert_int_equal(tr_process_strings_pack(words, &writer), 0);
    return written(&writer);
}

static int say_run(struct tr_context *context, struct tr_attempt_actor *actor)
{
    static uint8_t buffers[6][1 << 16];
    const struct attempt_plan *plan = &attempt_plan;
    const char *script[] = {"/bin/sh", "-c", plan->script, NULL};
    char folder[512];
    snprintf(folder, sizeof folder, "%s%s%s", plan->folder[0] == '/' ? "" : store_folder,
             plan->folder[0] == '/' ? "" : "/", plan->folder);
    struct tr_writer secrets = tr_writer_of(buffers[2], sizeof buffers[2]);
    struct tr_writer files = tr_writer_of(buffers[3], sizeof buffers[3]);
    struct tr_writer results = tr_writer_of(buffers[4], sizeof buffers[4]);
    assert_int_equal(tr_process_secrets_pack(plan->secrets, plan->secret_count, &secrets), 0);
    assert_int_equal(tr_process_files_pack(plan->files, plan->file_count, &files), 0);
    assert_int_equal(tr_process_results_pack(plan->results, plan->result_count, &results), 0);
    struct tr_process_run run = {
        .key = tr_text_of(plan->key),
        .argv =
            words_of(plan->argv[0] != NULL ? plan->argv : script, buffers[0], sizeof buffers[0]),
        .environment = words_of(plan->words, buffers[1], sizeof buffers[1]),
        .folder = tr_text_of(folder),
        .work = tr_text_of(plan->work),
        .stdin_path = tr_text_of(plan->stdin_path),
        .stdout_path = tr_text_of(plan->stdout_path),
        .stderr_path = tr_text_of(plan->stderr_path),
        .secrets = written(&secrets),
        .files = written(&files),
        .folders = words_of(plan->folders, buffers[5], sizeof buffers[5]),
        .results = written(&results),
    };
    attempt_seen.asked++;
    return tr_call(context, TR_SERVICE_PROCESSES, &tr_process_run_schema, &run, 0, &actor->ask);
}

static int on_wish(struct tr_context *context, struct tr_attempt_actor *actor,
                   const struct tr_message *message)
{
    struct tr_attempt_wish wish;
    int error = tr_message_read(message, attempt_wish, &wish);
    if (error != 0 || wish.kind == WISH_RUN) {
        return error != 0 ? error : say_run(context, actor);
    }
    struct tr_folder_remove remove = {.path = wish.path};
    return tr_call(context, TR_SERVICE_PROCESSES, &tr_folder_remove_schema, &remove, 0,
                   &actor->ask);
}

/* ---- Hearing. ------------------------------------------------------------------------------- */

static void keep_reason(struct tr_text reason)
{
    snprintf(attempt_seen.reason, sizeof attempt_seen.reason, "%.*s", (int)reason.size,
             reason.data);
}

static void keep_documents(struct tr_bytes packed, bool is_lost)
{
    struct tr_cursor cursor;
    uint32_t count = tr_process_array_begin(packed, &cursor);
    assert_int_equal(count, is_lost ? 0 : attempt_plan.result_count);
    for (uint32_t i = 0; i < count; i++) {
        attempt_seen.documents[i] = tr_process_document_next(&cursor);
        struct tr_bytes bytes = attempt_seen.documents[i].bytes;
        size_t size = bytes.size < DOCUMENT_BYTES_MAX - 1 ? bytes.size : DOCUMENT_BYTES_MAX - 1;
        if (size > 0) {
            memcpy(attempt_seen.contents[i], bytes.data, size);
        }
        attempt_seen.contents[i][size] = '\0';
    }
    assert_int_equal(cursor.error, 0);
}

static int on_over(struct tr_context *context, const struct tr_message *message)
{
    struct tr_process_over over;
    int error = tr_message_read(message, process_over, &over);
    if (error != 0) {
        return error;
    }
    attempt_seen.over++;
    attempt_seen.end = over;
    keep_reason(over.reason);
    keep_documents(over.documents, over.outcome == TR_PROCESS_LOST);
    if (!attempt_plan.is_kept) {
        struct tr_ref service = {{0, TR_SERVICE_PROCESSES}, 0};
        struct tr_process_forget forget = {.key = over.key};
        error = tr_tell(context, service, &tr_process_forget_schema, &forget);
    }
    return error != 0 ? error : tr_stop(context);
}

static int on_refused(struct tr_context *context, const struct tr_message *message)
{
    struct tr_process_refused refused;
    int error = tr_message_read(message, process_refused, &refused);
    attempt_seen.refused = refused.error;
    keep_reason(refused.reason);
    return error != 0 ? error : tr_stop(context);
}

static int on_removed(struct tr_context *context, const struct tr_message *message)
{
    int error = tr_message_read(message, folder_removed, &attempt_seen.removed);
    keep_reason(attempt_seen.removed.reason);
    return error != 0 ? error : tr_stop(context);
}

static int actor_handle(struct tr_context *context, void *state, const struct tr_message *message)
{
    if (tr_message_is(message, &tr_attempt_wish_schema)) {
        return on_wish(context, state, message);
    }
    if (tr_message_is(message, &tr_process_started_schema)) {
        attempt_seen.started++;
        return 0;
    }
    if (tr_message_is(message, &tr_process_over_schema)) {
        return on_over(context, message);
    }
    if (tr_message_is(message, &tr_process_refused_schema)) {
        return on_refused(context, message);
    }
    if (tr_message_is(message, &tr_folder_removed_schema)) {
        return on_removed(context, message);
    }
    /* The engine or the keeper died meanwhile: what became of the key? */
    return tr_message_is(message, &tr_ask_failed_schema) ? say_run(context, state)
                                                         : tr_unexpected(context, message);
}

static const struct tr_behaviour actor_behaviour = {
    .name = "attempt", .id = 2201, .state = &tr_attempt_actor_schema, .handle = actor_handle};

/* ---- The world. ----------------------------------------------------------------------------- */

void attempt_world_init(struct attempt_world *world)
{
    memset(&attempt_plan, 0, sizeof attempt_plan);
    memset(&attempt_seen, 0, sizeof attempt_seen);
    *world = (struct attempt_world){.jobs = 2};
    snprintf(world->folder, sizeof world->folder, "/tmp/troupe-attempt-XXXXXX");
    assert_non_null(mkdtemp(world->folder));
    snprintf(store_folder, sizeof store_folder, "%s", world->folder);
}

void attempt_world_fini(struct attempt_world *world)
{
    attempt_world_close(world);
    (void)folder_remove(world->folder);
}

void attempt_world_open(struct attempt_world *world)
{
    static const struct tr_behaviour *const behaviours[] = {&actor_behaviour};
    static const char *const keeper[] = {"test", "keeper", NULL};
    struct tr_host_options options = {
        .worker_count = 1,
        .durability = TR_DURABILITY_PROCESS,
        .folder = world->folder,
        .behaviours = behaviours,
        .behaviour_count = 1,
        .keeper_command = keeper,
        .jobs = world->jobs,
        .unclaimed_ms = world->unclaimed_ms,
    };
    char words[TRI_STORE_EXPLAIN_BYTES];
    if (tr_host_new(&options, words, &world->host) != 0) {
        fail_msg("%s", words);
    }
    assert_int_equal(tr_host_start(world->host), 0);
}

void attempt_world_close(struct attempt_world *world)
{
    tr_host_free(world->host);
    world->host = NULL;
}

static void wish_for(struct attempt_world *world, const struct tr_attempt_wish *wish)
{
    struct tr_spawn_options options = {.is_watched = true};
    assert_int_equal(tr_host_spawn(world->host, &actor_behaviour, &options, &world->actor), 0);
    assert_int_equal(tr_host_tell(world->host, world->actor, &tr_attempt_wish_schema, wish), 0);
}

void attempt_begin(struct attempt_world *world)
{
    wish_for(world, &(struct tr_attempt_wish){.kind = WISH_RUN});
}

void attempt_await(struct attempt_world *world)
{
    int reason = TR_INVALID;
    assert_int_equal(tr_host_wait(world->host, world->actor, 30000, &reason), 0);
    assert_int_equal(reason, 0);
}

void attempt_run(struct attempt_world *world)
{
    attempt_begin(world);
    attempt_await(world);
}

void attempt_remove(struct attempt_world *world, const char *path)
{
    wish_for(world, &(struct tr_attempt_wish){.kind = WISH_REMOVE, .path = tr_text_of(path)});
    attempt_await(world);
}

/* ---- Files. --------------------------------------------------------------------------------- */

const char *attempt_path(const struct attempt_world *world, const char *name)
{
    static char paths[4][1024];
    static size_t next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", world->folder, name);
    return path;
}

const char *attempt_read_file(const struct attempt_world *world, const char *name)
{
    static char bytes[65536];
    FILE *file = fopen(attempt_path(world, name), "r");
    size_t size = file != NULL ? fread(bytes, 1, sizeof bytes - 1, file) : 0;
    bytes[size] = '\0';
    if (file != NULL) {
        fclose(file);
    }
    return bytes;
}

bool attempt_has_file(const struct attempt_world *world, const char *name)
{
    struct stat status;
    return lstat(attempt_path(world, name), &status) == 0;
}

void attempt_await_file(const struct attempt_world *world, const char *name)
{
    for (int waited = 0; waited < 20000; waited += 5) {
        if (attempt_read_file(world, name)[0] != '\0') {
            return;
        }
        poll(NULL, 0, 5);
    }
    fail_msg("%s never came", name);
}

bool attempt_is_keeper(int argc, char **argv, int *status)
{
    if (argc < 3 || strcmp(argv[1], "keeper") != 0) {
        return false;
    }
    struct tri_keeper_options options = {.idle_ms = 200, .is_detached = true};
    *status = tri_keeper_main(argv[argc - 1], &options) == 0 ? 0 : 1;
    return true;
}
