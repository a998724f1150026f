/*
 * The audit: who has asked for which change, and when. A row says it as far as the request does;
 * who carries the change out has it kept.
 */
#ifndef TR_DEPLOY_API_AUDIT_H
#define TR_DEPLOY_API_AUDIT_H

#include "deploy/api/call.h"
#include "schemas/engine/entity.h"

/* A call that changes something, as it is known where the call itself is not. */
struct tr_api_change {
    const struct tr_api_method *method;
    const ProtobufCMessage *request;
    const char *who; /* as tr_api_call_principal */
    uint64_t number; /* of the call */
};

/*
 * The row of a change, of now. `subject` is what is changed; empty: what the request names, such as
 * a name and a version. The texts are the request's or in the arena, whose error says if there was
 * no memory.
 */
void tr_api_audit_row(const struct tr_api_change *change, struct tr_text subject,
                      struct tr_arena *arena, struct tr_audit *row);

#endif
