/*
 * How a call ends: gRPC's codes, and the status of HTTP that stands for each in REST. Pure.
 *
 * There is no UNKNOWN: flytekit takes it for a token that is missing, and asks people to log in.
 */
#ifndef TR_DEPLOY_API_WIRE_STATUS_H
#define TR_DEPLOY_API_WIRE_STATUS_H

#include "schemas/codec/base.h"

#define TR_API_CODES(C)            \
    C(OK, 0, 200)                  \
    C(CANCELLED, 1, 499)           \
    C(INVALID_ARGUMENT, 3, 400)    \
    C(DEADLINE_EXCEEDED, 4, 504)   \
    C(NOT_FOUND, 5, 404)           \
    C(ALREADY_EXISTS, 6, 409)      \
    C(PERMISSION_DENIED, 7, 403)   \
    C(RESOURCE_EXHAUSTED, 8, 429)  \
    C(FAILED_PRECONDITION, 9, 400) \
    C(ABORTED, 10, 409)            \
    C(OUT_OF_RANGE, 11, 400)       \
    C(UNIMPLEMENTED, 12, 501)      \
    C(INTERNAL, 13, 500)           \
    C(UNAVAILABLE, 14, 503)        \
    C(DATA_LOSS, 15, 500)          \
    C(UNAUTHENTICATED, 16, 401)

enum tr_api_code {
#define TRI_API_CODE(name, number, status) TR_API_##name = (number),
    TR_API_CODES(TRI_API_CODE)
#undef TRI_API_CODE
};

/* The status of HTTP for a code, and the code for one that the door refuses a request with. */
int tr_api_http_status(enum tr_api_code code);
enum tr_api_code tr_api_code_of(int http_status);

#endif
