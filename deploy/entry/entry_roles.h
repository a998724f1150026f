/*
 * Which role a request needs, where; and the audit of those that change something.
 */
#ifndef TR_DEPLOY_ENTRY_ENTRY_ROLES_H
#define TR_DEPLOY_ENTRY_ENTRY_ROLES_H

#include "deploy/entry/entry.h"

/*
 * Whether a client may have it done; else `words` (TR_ENTRY_WORDS_BYTES) say why not. `audited`
 * counts the rows of the audit.
 */
bool tri_entry_roles_admit(struct tr_live *live, const char *who, const struct tri_request *request,
                           uint64_t *audited, char *words);

#endif
