/*
 * flyteidl.service.AuthMetadataService and IdentityService where nobody needs a token: clients of
 * some kinds ask before their first call, and go on with answers that say nothing.
 */
#include <flyteidl/service_auth.pb-c.h>
#include <flyteidl/service_identity.pb-c.h>

#include "deploy/api/services.h"

void tr_api_get_oauth2_metadata(struct tr_api_call *call, const void *request)
{
    Flyteidl__Service__OAuth2MetadataResponse response;
    (void)request;
    flyteidl__service__oauth2_metadata_response__init(&response);
    tr_api_answer(call, &response.base);
}

void tr_api_get_public_client_config(struct tr_api_call *call, const void *request)
{
    Flyteidl__Service__PublicClientAuthConfigResponse response;
    (void)request;
    flyteidl__service__public_client_auth_config_response__init(&response);
    tr_api_answer(call, &response.base);
}

void tr_api_user_info(struct tr_api_call *call, const void *request)
{
    Flyteidl__Service__UserInfoResponse response;
    (void)request;
    flyteidl__service__user_info_response__init(&response);
    tr_api_answer(call, &response.base);
}
