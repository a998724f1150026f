/*
 * The environment of a host: the services that its calls reach. What has come here has left for
 * good.
 */
#ifndef TR_TESTS_SIM_ENVIRONMENT_H
#define TR_TESTS_SIM_ENVIRONMENT_H

#include "runtime/link/link.h"
#include "schemas/codec/field.h"
#include "schemas/runtime/envelope.h"

struct sim_host;

/* Answers a call after a while; what the body points to is copied. May be done several times. */
void sim_environment_reply(struct sim_host *host, const struct tr_envelope *call,
                           const struct tr_schema *schema, const void *body, uint64_t delay_ns);

/* Says something to who called, at once and in order: the answer (TR_KIND_REPLY), or something
 * before it (TR_KIND_TELL). */
void sim_environment_say(struct sim_host *host, const struct tr_envelope *call, uint8_t kind,
                         const struct tr_schema *schema, const void *body);

/* The environment takes a turn: reads calls, sends replies. Whether it did anything. */
bool sim_environment_step(struct sim_host *host);

/* When the next reply is due; UINT64_MAX: none. */
uint64_t sim_environment_due_ns(const struct sim_host *host);

/* Reads one call, as if it had come by the link. */
void sim_environment_hear(struct sim_host *host, struct tr_bytes message);

/* The host has crashed: some replies are lost with their connections, others come late. */
void sim_environment_forget(struct sim_host *host, bool all);

#endif
