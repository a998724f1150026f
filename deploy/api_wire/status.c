/*
 * Codes and statuses: as Flyte's gateway translates the one into the other, and what of gRPC's a
 * refusal of the door is.
 */
#include "deploy/api_wire/status.h"

int tr_api_http_status(enum tr_api_code code)
{
    switch (code) {
#define TRI_API_CASE(name, number, status) \
    case TR_API_##name:                    \
        return status;
        TR_API_CODES(TRI_API_CASE)
#undef TRI_API_CASE
    }
    return 500;
}

enum tr_api_code tr_api_code_of(int http_status)
{
    static const struct {
        int status;
        enum tr_api_code code;
    } rows[] = {
        {400, TR_API_INVALID_ARGUMENT},   {403, TR_API_PERMISSION_DENIED},
        {408, TR_API_DEADLINE_EXCEEDED},  {413, TR_API_RESOURCE_EXHAUSTED},
        {421, TR_API_PERMISSION_DENIED},  {429, TR_API_RESOURCE_EXHAUSTED},
        {431, TR_API_RESOURCE_EXHAUSTED}, {503, TR_API_RESOURCE_EXHAUSTED},
    };
    for (size_t i = 0; i < TR_COUNT_OF(rows); i++) {
        if (rows[i].status == http_status) {
            return rows[i].code;
        }
    }
    return TR_API_INTERNAL;
}
