/*
 * How a live engine forgets executions that have ended, and old rows of the audit, a share at a
 * time.
 */
#ifndef TR_DEPLOY_SERVER_SERVE_FORGET_H
#define TR_DEPLOY_SERVER_SERVE_FORGET_H

#include "deploy/engine/assemble.h"
#include "schemas/engine/retention.h"

/*
 * Forgets the next share of executions or of the audit, or the graphs, that `forget` names, and
 * fills in `forgotten`, whose error and message say what is in the way; they are views of
 * constants. Returns when the share is committed.
 */
void tr_serve_forget(struct tr_live *live, const struct tr_forget *forget,
                     struct tr_forgotten *forgotten);

#endif
