/*
 * The plugin of examples/plugins/jobs.c with verbs that do what verbs must not: as its endpoint
 * says in the settings, `within` one of their functions (`status.read`) it `does: crash` or
 * `does: loop`. They run in the refresh actor, for all tasks at once. It is loaded by
 * tests/integration/test_plugin_verbs.py.
 */
#define tr_plugin_table well_behaved_table
#include "examples/plugins/jobs.c"
#undef tr_plugin_table

static const struct tr_config_key naughty_keys[] = {{"within", TR_CODEC_TEXT},
                                                    {"does", TR_CODEC_TEXT}};

static int check_naughty(struct tr_bytes config, char *problem, size_t problem_size)
{
    return tr_config_check(config, naughty_keys, TR_COUNT_OF(naughty_keys), problem, problem_size);
}

static void misbehave(const struct tr_webapi_batch *batch, const char *function)
{
    struct tr_bytes config = batch->endpoint->config;
    struct tr_text none = tr_text_of("");
    /* Not NULL, which UBSan would see before the processor does. */
    volatile int *volatile nowhere = (volatile int *)(uintptr_t)64;
    if (!tr_text_equal(tr_config_text(config, "within", none), tr_text_of(function))) {
        return;
    }
    while (tr_text_equal(tr_config_text(config, "does", none), tr_text_of("loop"))) {
    }
    if (tr_text_equal(tr_config_text(config, "does", none), tr_text_of("crash"))) {
        *nowhere = 1;
    }
}

/* Each function of a verb misbehaves first, and is the example's otherwise. */
#define NAUGHTY_VERB(verb, write, read)                                         \
    static int naughty_##verb##_write(struct tr_webapi_batch *batch,            \
                                      struct tr_webapi_request *request)        \
    {                                                                           \
        misbehave(batch, #verb ".write");                                       \
        return write(batch, request);                                           \
    }                                                                           \
    static int naughty_##verb##_read(struct tr_webapi_batch *batch,             \
                                     const struct tr_webapi_response *response) \
    {                                                                           \
        misbehave(batch, #verb ".read");                                        \
        return read(batch, response);                                           \
    }

NAUGHTY_VERB(create, write_create, read_list)
NAUGHTY_VERB(status, write_status, read_list)
NAUGHTY_VERB(cancel, write_cancel, read_list)

static const struct tr_webapi naughty_shape = {
    .idempotency = TR_WEBAPI_IDEMPOTENCY_EXACT,
    .check_endpoint = check_naughty,
    .prepare = prepare,
    .create = {JOBS_AT_ONCE, naughty_create_write, naughty_create_read},
    .status = {JOBS_AT_ONCE, naughty_status_write, naughty_status_read},
    .cancel = {JOBS_AT_ONCE, naughty_cancel_write, naughty_cancel_read},
};

static const char *const naughty_types[] = {"naughty_verbs", NULL};

const struct tr_plugin tr_plugin_table = {
    .abi = TR_PLUGIN_ABI,
    .id = "naughty_verbs",
    .task_types = naughty_types,
    .state = &tr_jobs_attempt_schema,
    .check = check,
    .webapi = &naughty_shape,
    TR_WEBAPI_PLUGIN_FUNCTIONS,
};
