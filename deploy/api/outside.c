/*
 * Calls that wait are known by their numbers, since their clients may leave. When the provider has
 * answered, or has not, all of them go the way once more that they have gone before.
 */
#include "deploy/api/outside.h"

#include <stdio.h>
#include <string.h>

#include "deploy/api/api.h"
#include "deploy/api/call_inside.h"
#include "deploy/common/clock.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

/* The longest text that says who somebody is. */
#define WHO_BYTES_MAX 255

/* ------------------------------------------------------------------ waiting */

static bool park(struct tr_api_call *call)
{
    struct tr_api *api = call->api;
    uint64_t *grown = tr_realloc(api->parked, (api->parked_count + 1) * sizeof *grown);
    if (grown == NULL) {
        tri_call_short(call, TR_MEMORY);
        return false;
    }
    api->parked = grown;
    api->parked[api->parked_count++] = tr_api_call_number(call);
    return true;
}

/* On the door's thread. */
static void resume(void *argument)
{
    struct tr_api *api = argument;
    uint64_t *numbers = api->parked;
    size_t count = api->parked_count;
    api->parked = NULL;
    api->parked_count = 0;
    for (size_t i = 0; i < count; i++) {
        struct tr_api_call *call = tr_api_call_find(api, numbers[i]);
        if (call != NULL && !call->is_over) {
            tri_call_handle(call, call->request);
        }
    }
    tr_free(numbers);
}

/* Without memory those that wait do so until their clients give up, or the keys change again. */
static void changed(void *self)
{
    struct tr_api *api = self;
    if (atomic_load(&api->is_open)) {
        (void)!tr_api_post(api, resume, api);
    }
}

/* ------------------------------------------------------------------ who it is */

/* The roles that its claims give. */
static int add_grants(const struct tr_api_provider *provider, const struct tr_jwt *jwt,
                      struct tr_arena *arena, struct tr_api_client *client)
{
    const struct tr_tree *claim =
        provider->roles_claim == NULL ? NULL : tr_jwt_claim(jwt, provider->roles_claim);
    struct tr_api_grant *grants = tr_arena_array(arena, provider->grant_count + 1, sizeof *grants);
    if (grants == NULL) {
        return TR_MEMORY;
    }
    for (uint32_t i = 0; i < provider->grant_count; i++) {
        const struct tr_api_claim_grant *grant = &provider->grants[i];
        if (grant->value == NULL || tr_jwt_claim_has(claim, grant->value)) {
            grants[client->grant_count++] = grant->grant;
        }
    }
    client->grants = grants;
    return 0;
}

int tr_api_outside_client(const struct tr_api_provider *provider, const struct tr_jwt *jwt,
                          struct tr_arena *arena, char *words, struct tr_api_client *out)
{
    const struct tr_tree *who = tr_jwt_claim(jwt, provider->who_claim);
    bool is_one = who != NULL && who->kind == TR_TREE_STRING && who->text.size > 0 &&
                  who->text.size <= WHO_BYTES_MAX;
    if (!is_one) {
        (void)snprintf(words, TR_OIDC_WORDS_BYTES,
                       "the token does not say who you are: it has no claim '%.100s' with a text "
                       "of at most %d bytes",
                       provider->who_claim, WHO_BYTES_MAX);
        return TR_INVALID;
    }
    struct tr_api_client client = {
        .id = tr_arena_print(arena, "%.*s", (int)who->text.size, who->text.data).data};
    int error = client.id == NULL ? TR_MEMORY : add_grants(provider, jwt, arena, &client);
    if (error == 0) {
        *out = client;
    }
    return error;
}

/* False: the call has failed. */
static bool identify(struct tr_api_call *call, const struct tr_jwt *jwt)
{
    char words[TR_OIDC_WORDS_BYTES];
    int error =
        tr_api_outside_client(&call->api->provider, jwt, &call->identity, words, &call->outside);
    if (error == TR_INVALID) {
        tr_api_fail(call, TR_API_UNAUTHENTICATED, "%s", words);
    } else if (error != 0) {
        tri_call_short(call, error);
    } else {
        call->client = &call->outside;
        call->bearer = (struct tr_text){.size = 0};
    }
    return error == 0;
}

/* Tells how it was judged; true: it is good. What is to be judged later has not failed. */
static bool tell(struct tr_api_call *call, enum tr_oidc_verdict verdict, const char *words)
{
    if (verdict == TR_OIDC_WRONG) {
        tr_api_fail(call, TR_API_UNAUTHENTICATED, "the token is not good here: %s", words);
    } else if (verdict == TR_OIDC_AWAY) {
        tr_api_fail(call, TR_API_UNAVAILABLE, "%s", words);
    }
    return verdict == TR_OIDC_GOOD;
}

bool tri_outside_admit(struct tr_api_call *call, struct tr_text bearer)
{
    char words[TR_OIDC_WORDS_BYTES] = "";
    struct tr_jwt jwt;
    enum tr_oidc_verdict verdict = tr_oidc_judge(call->api->oidc, bearer, tr_clock_wall_ms() / 1000,
                                                 &call->identity, &jwt, words);
    if (verdict == TR_OIDC_LATER) {
        call->bearer = bearer; /* until the request is there */
        return true;
    }
    return tell(call, verdict, words) && identify(call, &jwt);
}

bool tri_outside_wait(struct tr_api_call *call, const void *request)
{
    if (call->bearer.size == 0) {
        return false;
    }
    if (!tri_outside_admit(call, call->bearer)) {
        return true;
    }
    if (call->bearer.size == 0) {
        return false;
    }
    call->request = request;
    if (call->method->is_dialogue) {
        tr_api_fail(call, TR_API_UNAVAILABLE,
                    "keys of the provider of tokens are being fetched; try again");
    } else {
        (void)park(call);
    }
    return true;
}

/* ------------------------------------------------------------------ for handlers */

bool tr_api_call_outside(struct tr_api_call *call, struct tr_api_outside *outside)
{
    char words[TR_OIDC_WORDS_BYTES] = "";
    const struct tr_api_provider *provider = &call->api->provider;
    *outside = (struct tr_api_outside){.client_id = provider->client_id,
                                       .audience = provider->audience,
                                       .scopes = provider->scopes,
                                       .scope_count = provider->scope_count};
    if (call->api->oidc == NULL) {
        return true;
    }
    enum tr_oidc_verdict verdict =
        tr_oidc_endpoints(call->api->oidc, &call->arena, &outside->endpoints, words);
    if (verdict == TR_OIDC_LATER) {
        (void)park(call);
        return false;
    }
    return tell(call, verdict, words);
}

/* ------------------------------------------------------------------ opening */

struct tr_oidc *tr_api_oidc(const struct tr_api *api)
{
    return api->oidc;
}

int tri_outside_open(struct tr_api *api, char *words)
{
    char why[TR_OIDC_WORDS_BYTES];
    const struct tr_oidc_options options = {.issuer = api->provider.issuer,
                                            .audience = api->provider.audience,
                                            .keys_url = api->provider.keys_url,
                                            .ca_file = api->provider.ca_file,
                                            .changed = changed,
                                            .self = api};
    if (options.issuer == NULL) {
        return 0;
    }
    int error = tr_oidc_open(&options, why, &api->oidc);
    if (error != 0) {
        (void)snprintf(words, TR_DOOR_WORDS_BYTES, "%s", why);
    }
    return error;
}

void tri_outside_close(struct tr_api *api)
{
    tr_oidc_close(api->oidc);
    tr_free(api->parked);
    api->parked = NULL;
}
