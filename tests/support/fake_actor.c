/*
 * The fake actors' one handler, and the list of all that was heard. Writing to that list is what no
 * real handler may do: it is the test's eye.
 */
#include "tests/support/fake_actor.h"

#include "tests/support/stage.h"

FAKE_ACTOR_SCHEMAS(TR_SCHEMA_DEFINE)

struct heard fake_actor_heard[HEARD_MAX];
size_t fake_actor_heard_count;

void fake_actor_forget(void)
{
    fake_actor_heard_count = 0;
}

static struct heard *hear(struct tr_context *context, const struct tr_message *message)
{
    assert_true(fake_actor_heard_count < HEARD_MAX);
    struct heard *heard = &fake_actor_heard[fake_actor_heard_count++];
    *heard = (struct heard){.self = tr_self(context),
                            .from = message->from,
                            .type = message->type,
                            .kind = message->kind,
                            .ask = tr_message_ask(message)};
    return heard;
}

static int on_down(struct tr_context *context, const struct tr_message *message)
{
    struct tr_down down;
    int error = tr_message_read(message, down, &down);
    struct heard *heard = hear(context, message);
    heard->number = error == 0 ? down.monitor : 0;
    heard->reason = error == 0 ? -(int)down.reason : error;
    heard->about = down.actor;
    return error;
}

static int on_timer(struct tr_context *context, const struct tr_message *message)
{
    struct tr_timer timer;
    int error = tr_message_read(message, timer, &timer);
    hear(context, message)->number = error == 0 ? timer.id : 0;
    return error;
}

static int on_ask_failed(struct tr_context *context, const struct tr_message *message)
{
    struct tr_ask_failed failed;
    int error = tr_message_read(message, ask_failed, &failed);
    hear(context, message)->reason = error == 0 ? -(int)failed.reason : error;
    return error;
}

/* note, hinted, question and answer look alike. */
static int on_number(struct tr_context *context, struct tr_fake_actor *fake,
                     const struct tr_message *message)
{
    struct tr_note note;
    int error = tr_message_read(message, note, &note);
    if (error != 0) {
        return error;
    }
    hear(context, message)->number = note.number;
    fake->count++;
    fake->number = note.number;
    if (!tr_message_is(message, &tr_question_schema)) {
        return 0;
    }
    return tr_reply(context, message, &tr_answer_schema, &(struct tr_answer){note.number + 1});
}

static int on_act(struct tr_context *context, struct tr_fake_actor *fake,
                  const struct tr_message *message)
{
    struct tr_act act;
    int error = tr_message_read(message, act, &act);
    return error != 0 ? error
                      : ((fake_actor_script)(uintptr_t)act.script)(context, fake, &act, message);
}

static int fake_actor_handle(struct tr_context *context, void *state,
                             const struct tr_message *message)
{
    switch (message->type) {
    case 1:
        return on_down(context, message);
    case 2:
        return on_timer(context, message);
    case 3:
        return on_ask_failed(context, message);
    case 61000:
        return on_act(context, state, message);
    case 61001:
    case 61002:
    case 61003:
    case 61004:
        return on_number(context, state, message);
    default:
        return tr_unexpected(context, message);
    }
}

/* How many fake actors live, and the sum of their numbers. */
static void gauge(const void *value, int64_t sign, int64_t gauges[TR_GAUGES_MAX])
{
    const struct tr_fake_actor *fake = value;
    gauges[0] += sign;
    gauges[1] += sign * (int64_t)fake->number;
}

const struct tr_behaviour fake_actor_behaviour = {.name = "fake_actor",
                                                  .id = 61000,
                                                  .state = &tr_fake_actor_schema,
                                                  .handle = fake_actor_handle,
                                                  .gauge = gauge};
const struct tr_behaviour *const fake_actor_behaviours[] = {
    &fake_actor_behaviour,
};
const size_t fake_actor_behaviour_count = TR_COUNT_OF(fake_actor_behaviours);

static bool is_same(const struct heard *heard, struct tr_ref self, const struct tr_schema *schema)
{
    return heard->type == schema->id && tr_key_equal(heard->self.key, self.key);
}

size_t fake_actor_heard_times(struct tr_ref self, const struct tr_schema *schema)
{
    size_t count = 0;
    for (size_t i = 0; i < fake_actor_heard_count; i++) {
        count += is_same(&fake_actor_heard[i], self, schema) ? 1 : 0;
    }
    return count;
}

const struct heard *fake_actor_heard_last(struct tr_ref self, const struct tr_schema *schema)
{
    for (size_t i = fake_actor_heard_count; i > 0; i--) {
        if (is_same(&fake_actor_heard[i - 1], self, schema)) {
            return &fake_actor_heard[i - 1];
        }
    }
    return NULL;
}

void fake_actor_act(struct stage *stage, struct tr_ref fake, fake_actor_script script,
                    uint64_t number, struct tr_ref peer)
{
    struct tr_act act = {.script = (uint64_t)(uintptr_t)script, .number = number, .peer = peer};
    stage_tell(stage, fake, &tr_act_schema, &act);
    stage_run(stage);
}

void fake_actor_note(struct stage *stage, struct tr_ref fake, uint64_t number)
{
    stage_tell(stage, fake, &tr_note_schema, &(struct tr_note){number});
}

const struct tr_fake_actor *fake_actor_state(struct stage *stage, struct tr_ref fake)
{
    struct tri_actor *actor = stage_actor(stage, fake);
    assert_non_null(actor);
    return tri_actor_state(actor);
}
