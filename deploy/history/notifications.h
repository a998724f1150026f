/*
 * The notifications of executions: how each stands, for what shows them and for what waits for
 * them or must not forget them.
 */
#ifndef TR_DEPLOY_HISTORY_NOTIFICATIONS_H
#define TR_DEPLOY_HISTORY_NOTIFICATIONS_H

#include "actors/graph/document/buffer.h"
#include "runtime/journal/reader.h"
#include "schemas/engine/history.h"

struct tr_document;

/* Gives each notification of an execution, the oldest first. What `take` or the reader says. */
TR_MUST_USE int tr_notifications_read(struct tr_reader *reader, uint64_t execution,
                                      int (*take)(void *self,
                                                  const struct tr_notification_row *row),
                                      void *self);

/*
 * How many of an execution, 0: of all, are still to be delivered, and are tried before a time by
 * the wall clock; TR_NOTIFICATIONS_EVER: whenever.
 */
#define TR_NOTIFICATIONS_EVER INT64_MAX
TR_MUST_USE int tr_notifications_left(struct tr_reader *reader, uint64_t execution,
                                      uint64_t before_ms, uint64_t *count);

/* Gives each notification of any execution that is still to be delivered. */
TR_MUST_USE int tr_notifications_unfinished(struct tr_reader *reader,
                                            int (*take)(void *self,
                                                        const struct tr_notification_row *row),
                                            void *self);

/* Whether it is still to be delivered. */
bool tr_notification_is_left(const struct tr_notification_row *row);

/*
 * Appends how it stands: "delivered", "retrying since 2m, 3 attempts, again in 40s: CAUSE", "given
 * up after 11 attempts: CAUSE".
 */
void tr_notification_print(const struct tr_notification_row *row, uint64_t now_ms,
                           struct tr_buffer *text);

/* Writes it as a map of a list. */
void tr_notification_write(const struct tr_notification_row *row, struct tr_document *document);

#endif
