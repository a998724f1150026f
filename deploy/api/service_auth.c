/*
 * flyteidl.service.AuthMetadataService and IdentityService: how clients get a token, and whose they
 * show. Where nobody needs one, clients of some kinds ask all the same before their first call, and
 * go on with answers that say nothing.
 */
#include <flyteidl/service_auth.pb-c.h>
#include <flyteidl/service_identity.pb-c.h>

#include "actors/graph/document/report.h"
#include "deploy/api/outside.h"
#include "deploy/api/services.h"

/* Of a URL of this port; NULL without memory. */
static char *url_of(struct tr_api_call *call, const char *path)
{
    struct tr_text url = tr_arena_print(tr_api_call_arena(call), "%s://%.*s%s",
                                        tr_api_call_is_secure(call) ? "https" : "http",
                                        TRI_TEXT(tr_api_call_authority(call)), path);
    return (char *)(uintptr_t)url.data;
}

/* What clients of ours get tokens by. */
static void add_own(struct tr_api_call *call, Flyteidl__Service__OAuth2MetadataResponse *response)
{
    static char credentials[] = "client_credentials";
    static char device[] = "urn:ietf:params:oauth:grant-type:device_code";
    static char *grants[] = {credentials, device};
    response->token_endpoint = url_of(call, "/oauth2/token");
    response->device_authorization_endpoint = url_of(call, "/oauth2/device");
    response->n_grant_types_supported = TR_COUNT_OF(grants);
    response->grant_types_supported = grants;
}

/* The same of an OpenID provider's, which know it by its own description. */
static void add_outside(const struct tr_api_outside *outside,
                        Flyteidl__Service__OAuth2MetadataResponse *response)
{
    response->authorization_endpoint = (char *)(uintptr_t)outside->endpoints.authorization.data;
    response->token_endpoint = (char *)(uintptr_t)outside->endpoints.token.data;
    response->device_authorization_endpoint =
        (char *)(uintptr_t)outside->endpoints.device_authorization.data;
}

void tr_api_get_oauth2_metadata(struct tr_api_call *call, const void *request)
{
    static char all[] = "all";
    static char token[] = "token";
    static char code[] = "code";
    static char basic[] = "client_secret_basic";
    static char post[] = "client_secret_post";
    static char challenge[] = "S256";
    char *scopes[] = {all};
    char *types[] = {token, code};
    char *methods[] = {basic, post};
    char *challenges[] = {challenge};
    struct tr_api_outside outside;
    Flyteidl__Service__OAuth2MetadataResponse response;
    (void)request;
    flyteidl__service__oauth2_metadata_response__init(&response);
    if (!tr_api_call_outside(call, &outside)) {
        return;
    }
    if (tr_api_call_has_clients(call)) {
        response.issuer = url_of(call, "/");
        response.n_scopes_supported = TR_COUNT_OF(scopes);
        response.scopes_supported = scopes;
        response.n_response_types_supported = outside.client_id == NULL ? 1 : TR_COUNT_OF(types);
        response.response_types_supported = types;
        response.n_token_endpoint_auth_methods_supported = TR_COUNT_OF(methods);
        response.token_endpoint_auth_methods_supported = methods;
    }
    if (outside.client_id != NULL) {
        response.n_code_challenge_methods_supported = TR_COUNT_OF(challenges);
        response.code_challenge_methods_supported = challenges;
        add_outside(&outside, &response);
    } else if (tr_api_call_has_clients(call)) {
        add_own(call, &response);
    }
    if (tr_api_call_arena(call)->error != 0) {
        tr_api_fail(call, TR_API_RESOURCE_EXHAUSTED, "there is no memory for the answer");
        return;
    }
    tr_api_answer(call, &response.base);
}

void tr_api_get_public_client_config(struct tr_api_call *call, const void *request)
{
    static char all[] = "all";
    static char client[] = "flytectl";
    static char header[] = "authorization";
    static char redirect[] = "http://localhost:53593/callback"; /* where flytectl listens */
    char *scopes[] = {all};
    struct tr_api_outside outside;
    Flyteidl__Service__PublicClientAuthConfigResponse response;
    (void)request;
    flyteidl__service__public_client_auth_config_response__init(&response);
    if (!tr_api_call_outside(call, &outside)) {
        return;
    }
    if (tr_api_call_has_clients(call)) {
        response.client_id = client;
        response.authorization_metadata_key = header;
        response.n_scopes = TR_COUNT_OF(scopes);
        response.scopes = scopes;
    }
    if (outside.client_id != NULL) {
        response.client_id = (char *)(uintptr_t)outside.client_id;
        response.redirect_uri = redirect;
        response.audience = (char *)(uintptr_t)outside.audience;
        response.n_scopes = outside.scope_count;
        response.scopes = (char **)(uintptr_t)outside.scopes;
    }
    tr_api_answer(call, &response.base);
}

void tr_api_user_info(struct tr_api_call *call, const void *request)
{
    Flyteidl__Service__UserInfoResponse response;
    (void)request;
    flyteidl__service__user_info_response__init(&response);
    response.subject = (char *)(uintptr_t)tr_api_call_principal(call);
    response.name = response.subject;
    response.preferred_username = response.subject;
    tr_api_answer(call, &response.base);
}
