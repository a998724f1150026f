/*
 * ZAP (ZeroMQ RFC 27): tells ZeroMQ which clients are let in, by the keys of a directory, or by
 * what a gate says.
 *
 * CURVE alone encrypts, and lets in whoever has made a key pair. So before a socket of this context
 * takes a connection, its client's public key is looked up.
 * One thread uses it, that of the sockets; it never blocks.
 */
#ifndef TR_RUNTIME_LINK_ZAP_H
#define TR_RUNTIME_LINK_ZAP_H

#include "runtime/link/directory.h"

/* The domain that sockets name (ZMQ_ZAP_DOMAIN). */
#define TRI_ZAP_DOMAIN "troupe.hosts"

/* Bytes of the name of somebody who is let in. */
#define TRI_ZAP_WHO_BYTES 72

/* Who is let in, where it is no host of a directory. */
struct tri_zap_gate {
    const char *domain; /* that its sockets name */
    void *self;
    /* Whether somebody has this public key (TR_WIRE_KEY_BYTES), and who that is. */
    bool (*lets_in)(void *self, const uint8_t *key, char who[TRI_ZAP_WHO_BYTES]);
};

struct tri_zap;

/*
 * Answers for a context from now on; the directory outlives it, and may change on its thread.
 * TR_EXISTS (somebody answers for the context), TR_SYSTEM, TR_MEMORY.
 */
TR_MUST_USE int tri_zap_open(void *context, const struct tri_directory *directory,
                             struct tri_zap **zap);

/*
 * The same by a gate, which is copied. A message that somebody sends has the property "User-Id",
 * who that is; who is refused hears that it is for good.
 */
TR_MUST_USE int tri_zap_open_gate(void *context, const struct tri_zap_gate *gate,
                                  struct tri_zap **zap);

/* A descriptor that becomes readable when there may be questions. */
int tri_zap_descriptor(struct tri_zap *zap);

/* Answers all questions there are. */
void tri_zap_answer(struct tri_zap *zap);

/* How many clients were refused. */
uint64_t tri_zap_refused(const struct tri_zap *zap);

/* NULL is fine. */
void tri_zap_close(struct tri_zap *zap);

#endif
