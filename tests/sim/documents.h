/*
 * The files service of a simulated host, as far as caches need it: small documents at paths. What
 * was written stays, whatever becomes of the host; calls fail now and then, and what is read may be
 * damaged.
 */
#ifndef TR_TESTS_SIM_DOCUMENTS_H
#define TR_TESTS_SIM_DOCUMENTS_H

#include "schemas/runtime/envelope.h"
#include "schemas/runtime/files.h"

struct sim_host;
struct sim_documents;

struct sim_documents *sim_documents_new(void);
void sim_documents_free(struct sim_documents *documents);

/* Whether a call is for this service; if so it is dealt with. */
bool sim_documents_hear(struct sim_documents *documents, struct sim_host *host,
                        const struct tr_envelope *envelope, struct tr_bytes body);

#endif
