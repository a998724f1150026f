/*
 * What actors ask the program itself (schemas/runtime/inquiry.h), answered by the files service's
 * thread: one row of a table for each message. A row's function may wait for disks; it reads the
 * message, does the work and answers once with tr_inquiry_answer, or gives an error with words.
 */
#ifndef TR_DEPLOY_INQUIRIES_INQUIRIES_H
#define TR_DEPLOY_INQUIRIES_INQUIRIES_H

#include "runtime/troupe.h"

/*
 * Answers what an actor asks, as tr_exchange.answer has to: TR_UNKNOWN_TYPE where no row is for it,
 * TR_MALFORMED where it cannot be read; other errors with words in `explain`.
 */
TR_MUST_USE int tr_inquiry_take(const struct tr_inquiry *inquiry, char *explain);

#endif
