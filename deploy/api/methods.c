/*
 * The table of RPCs. A service is a few rows here and a file service_NAME.c.
 */
#include "deploy/api/methods.h"

#include <flyteidl/admin_version.pb-c.h>
#include <flyteidl/grpc_health.pb-c.h>
#include <flyteidl/service_auth.pb-c.h>
#include <flyteidl/service_identity.pb-c.h>
#include <string.h>

#include "deploy/api/services.h"

const struct tr_api_method tr_api_methods[] = {
    {.service = "flyteidl.service.AdminService",
     .name = "GetVersion",
     .request = &flyteidl__admin__get_version_request__descriptor,
     .response = &flyteidl__admin__get_version_response__descriptor,
     .rest = "GET /api/v1/version",
     .role = TR_API_ANYBODY,
     .handle = tr_api_get_version},
    {.service = "flyteidl.service.AuthMetadataService",
     .name = "GetOAuth2Metadata",
     .request = &flyteidl__service__oauth2_metadata_request__descriptor,
     .response = &flyteidl__service__oauth2_metadata_response__descriptor,
     .rest = "GET /.well-known/oauth-authorization-server",
     .role = TR_API_ANYBODY,
     .handle = tr_api_get_oauth2_metadata},
    {.service = "flyteidl.service.AuthMetadataService",
     .name = "GetPublicClientConfig",
     .request = &flyteidl__service__public_client_auth_config_request__descriptor,
     .response = &flyteidl__service__public_client_auth_config_response__descriptor,
     .rest = "GET /config/v1/flyte_client",
     .role = TR_API_ANYBODY,
     .handle = tr_api_get_public_client_config},
    {.service = "flyteidl.service.IdentityService",
     .name = "UserInfo",
     .request = &flyteidl__service__user_info_request__descriptor,
     .response = &flyteidl__service__user_info_response__descriptor,
     .rest = "GET /me",
     .role = TR_API_VIEW,
     .handle = tr_api_user_info},
    {.service = "grpc.health.v1.Health",
     .name = "Check",
     .request = &grpc__health__v1__health_check_request__descriptor,
     .response = &grpc__health__v1__health_check_response__descriptor,
     .role = TR_API_ANYBODY,
     .handle = tr_api_check_health},
    {.service = "grpc.health.v1.Health",
     .name = "Watch",
     .request = &grpc__health__v1__health_check_request__descriptor,
     .response = &grpc__health__v1__health_check_response__descriptor,
     .role = TR_API_ANYBODY,
     .is_stream = true,
     .handle = tr_api_watch_health},
};

const size_t tr_api_method_count = TR_COUNT_OF(tr_api_methods);

bool tr_api_has_service(const struct tr_api_method *methods, size_t count, struct tr_text service)
{
    for (size_t i = 0; i < count; i++) {
        if (tr_text_equal(tr_text_of(methods[i].service), service)) {
            return true;
        }
    }
    return false;
}

const struct tr_api_method *tr_api_method_find(const struct tr_api_method *methods, size_t count,
                                               struct tr_text path, bool *has_service)
{
    const char *slash =
        path.size > 1 && path.data[0] == '/' ? memchr(path.data + 1, '/', path.size - 1) : NULL;
    *has_service = false;
    if (slash == NULL) {
        return NULL;
    }
    struct tr_text service = {.data = path.data + 1, .size = (size_t)(slash - path.data) - 1};
    struct tr_text name = {.data = slash + 1, .size = path.size - service.size - 2};
    for (size_t i = 0; i < count; i++) {
        if (tr_text_equal(tr_text_of(methods[i].name), name) &&
            tr_text_equal(tr_text_of(methods[i].service), service)) {
            return &methods[i];
        }
    }
    *has_service = tr_api_has_service(methods, count, service);
    return NULL;
}
