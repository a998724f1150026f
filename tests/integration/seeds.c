/*
 * A `troupe` that makes up what its tasks at back ends know of their jobs, as Flyte does for the
 * elements of its arrays: so that tests of states can be seen to fail (test_armada_states.py).
 *
 * Linked with --wrap, the function below stands before that of plugins/sdk/webapi.c. Environment:
 * TROUPE_SEEDS_AS is "blobs", where each state becomes one of two that know no job, once it has
 * been handled; or "launches", where whoever hears of its first job has forgotten it, and makes
 * another one under another name, since its plugin has no key of its own. Any other word, or none,
 * changes nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "plugins/sdk/plugin.h"
#include "plugins/sdk/webapi.h"
#include "schemas/engine/refresh.h"
#include "schemas/engine/state_plugin.h"

typedef int handle_function(struct tr_task_context *task, void *state,
                            const struct tr_task_event *event, struct tr_transition *transition);

handle_function __real_tr_webapi_handle;
handle_function __wrap_tr_webapi_handle;

static bool seeds_are(const char *word)
{
    const char *wanted = getenv("TROUPE_SEEDS_AS");
    return wanted != NULL && strcmp(wanted, word) == 0;
}

/* The two that Flyte has packed once for all: nothing was begun, or something was. */
static void make_up(struct tr_armada_attempt *state, uint8_t phase)
{
    *state = (struct tr_armada_attempt){
        .stage = phase > TR_TASK_PHASE_QUEUED ? TR_WEBAPI_STAGE_SUBMITTED : TR_WEBAPI_STAGE_INTENT};
}

/* The name that a plugin without a key has for its job at the moment. */
static _Thread_local struct tr_task_identity name;

static const struct tr_task_identity *name_of_the_moment(struct tr_task_context *task)
{
    (void)task;
    return &name;
}

static int handle_named(struct tr_task_context *task, struct tr_text words, void *state,
                        const struct tr_task_event *event, struct tr_transition *transition)
{
    const struct tr_task_api *api = task->api;
    struct tr_task_api renaming = *api;
    name = *tr_task_identity(task);
    name.generated_name = words;
    renaming.identity = name_of_the_moment;
    task->api = &renaming;
    int error = __real_tr_webapi_handle(task, state, event, transition);
    task->api = api;
    return error;
}

/* Begins as a plugin does that finds nothing in its state. */
static int launch(struct tr_task_context *task, struct tr_transition transition)
{
    struct tr_armada_attempt nothing = {.stage = TR_WEBAPI_STAGE_NEW};
    const struct tr_task_event start = {.kind = TR_TASK_START};
    struct tr_text first = tr_task_generated_name(task);
    struct tr_text words = tr_task_format(task, "%.*s-%llx", (int)first.size, first.data,
                                          (unsigned long long)tr_task_random(task));
    return handle_named(task, words, &nothing, &start, &transition);
}

/* Hears of whichever job there is news of. */
static int handle_launching(struct tr_task_context *task, void *state,
                            const struct tr_task_event *event, struct tr_transition *transition)
{
    struct tr_refresh_news news;
    int error = tr_task_event_read(event, refresh_news, &news);
    if (error == 0 && tr_text_equal(news.identity, tr_task_generated_name(task))) {
        error = launch(task, *transition);
    }
    return error != 0 ? error : handle_named(task, news.identity, state, event, transition);
}

int __wrap_tr_webapi_handle(struct tr_task_context *task, void *state,
                            const struct tr_task_event *event, struct tr_transition *transition)
{
    if (seeds_are("launches") && tr_task_event_is(event, refresh_news)) {
        return handle_launching(task, state, event, transition);
    }
    int error = __real_tr_webapi_handle(task, state, event, transition);
    if (seeds_are("blobs")) {
        make_up(state, transition->phase);
    }
    return error;
}
