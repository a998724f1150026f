/*
 * grpc.health.v1.Health. The port is open as long as the engine runs, so whoever is answered hears
 * that it serves; who watches hears of the end by the end of his stream.
 */
#include <flyteidl/grpc_health.pb-c.h>

#include "deploy/api/services.h"

#define SERVING GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVING
#define SERVICE_UNKNOWN GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVICE_UNKNOWN

/* Without a name the server as a whole is meant. */
static bool is_known(const struct tr_api_call *call,
                     const Grpc__Health__V1__HealthCheckRequest *request)
{
    return request->service[0] == '\0' || tr_api_call_serves(call, tr_text_of(request->service));
}

void tr_api_check_health(struct tr_api_call *call, const void *request)
{
    Grpc__Health__V1__HealthCheckResponse response;
    const Grpc__Health__V1__HealthCheckRequest *asked = request;
    grpc__health__v1__health_check_response__init(&response);
    if (!is_known(call, asked)) {
        tr_api_fail(call, TR_API_NOT_FOUND, "there is no service '%.200s' here", asked->service);
        return;
    }
    response.status = SERVING;
    tr_api_answer(call, &response.base);
}

/* A service that is not known may come to be, says the protocol, and its stream goes on. */
void tr_api_watch_health(struct tr_api_call *call, const void *request)
{
    Grpc__Health__V1__HealthCheckResponse response;
    grpc__health__v1__health_check_response__init(&response);
    response.status = is_known(call, request) ? SERVING : SERVICE_UNKNOWN;
    (void)!tr_api_send(call, &response.base); /* the first one always fits, if anybody is there */
}
