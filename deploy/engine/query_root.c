/*
 * Asking the root of an execution. One that is quarantined takes what it is told and answers
 * nothing, so a caller that waits in vain looks at how it stands.
 */
#include "deploy/engine/query_root.h"

/* How long the root may take. With a full disk that is all of it, and requests are refused. */
#define ASK_MS_MAX 2000

/* Roots are the actors without a parent but the services; /PROJECT/DOMAIN/EXEC. */
#define ROOTS "/*/*/*"

struct looking {
    struct tr_key root;
    bool is_quarantined;
};

static void look(void *self, const struct tr_actor_info *actor)
{
    struct looking *looking = self;
    if (tr_key_equal(actor->actor.key, looking->root) &&
        tr_text_equal(actor->phase, tr_text_of("quarantined"))) {
        looking->is_quarantined = true;
    }
}

int tr_query_root(struct tr_live *live, uint64_t execution, const struct tr_schema *schema,
                  const void *body, void (*take)(void *self, const struct tr_message *answer),
                  void *self)
{
    struct tr_ref root = tr_group_root(execution);
    struct looking looking = {.root = root.key};
    if (tr_host_is_aside(live->host, execution)) {
        return TR_CLOSED;
    }
    int error = tr_host_ask(live->host, root, schema, body, ASK_MS_MAX, take, self);
    if (error != TR_TIMEOUT) {
        return error;
    }
    int looked = tr_host_actors(live->host, tr_text_of(ROOTS), UINT32_MAX, look, &looking, NULL);
    return looked == 0 && looking.is_quarantined ? TR_QUARANTINED
           : live->is_member                     ? TR_NO_CONNECTION
                                                 : error;
}

const char *tr_query_root_error_text(int error)
{
    static const char quarantined[] =
        "it is quarantined, since one message has failed its actor twice; `troupe explain` says "
        "more, `troupe actors --resume ADDRESS` lets it go on, and then it hears this";
    static const char aside[] =
        "it is set aside, since loading it has ended the engine: `troupe explain` says more, "
        "`troupe resume` of it leaves it to the next engine, and `troupe abort` works when this "
        "one has ended";
    static const char elsewhere[] =
        "its host did not answer; if that is lost, others take its work within the lease: say it "
        "again then";
    return error == TR_QUARANTINED     ? quarantined
           : error == TR_CLOSED        ? aside
           : error == TR_NO_CONNECTION ? elsewhere
                                       : tr_error_text(error);
}
