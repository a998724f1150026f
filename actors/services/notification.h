/*
 * The inside of a notification's actor: what one handling of it knows, and how it is sent.
 * schemas/engine/notify.h says what a notification is.
 *
 *     notification.c        its life: attempts, what came of each, the row that people see
 *     notification_send.c   one attempt as a request or a process
 *     notification_mail.c   a mail as the text that sendmail reads
 */
#ifndef TR_ACTORS_SERVICES_NOTIFICATION_H
#define TR_ACTORS_SERVICES_NOTIFICATION_H

#include "actors/engine.h"
#include "actors/graph/document/arena.h"
#include "actors/graph/document/buffer.h"
#include "schemas/engine/notify.h"

/* What is shown of an answer, and of what a program wrote to stderr. */
#define TRI_NOTIFICATION_SHOWN_BYTES 300U

/* One handling of one message. */
struct tri_notification {
    struct tr_context *context;
    struct tr_notification_state *state;
    struct tr_notify notify;
    struct tr_buffer under; /* under `notify` */
    struct tr_arena arena;  /* of words and requests; its error is the handling's */
};

/*
 * Begins an attempt, or asks once more what became of it: the same name is never sent twice where
 * that can be known. TR_INVALID: it cannot be sent at all, and `problem` says why.
 */
TR_MUST_USE int tri_notification_send(struct tri_notification *notification,
                                      struct tr_text *problem);

/* What the outside keeps of an attempt that is a process is not needed any more. */
TR_MUST_USE int tri_notification_clean(struct tri_notification *notification);

/* A part of the target by its key; empty if there is none. */
struct tr_bytes tri_notification_part(const struct tri_notification *notification, const char *key);

/* The same of a text; empty if there is none. */
struct tr_text tri_notification_text(const struct tri_notification *notification, const char *key);

/* The mail with its head; empty without memory. */
struct tr_text tri_notification_mail(struct tri_notification *notification);

#endif
