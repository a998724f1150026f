/*
 * All RPCs that are served, each a row, and how they are found. Pure.
 */
#ifndef TR_DEPLOY_API_METHODS_H
#define TR_DEPLOY_API_METHODS_H

#include "deploy/api/call.h"

extern const struct tr_api_method tr_api_methods[];
extern const size_t tr_api_method_count;

/*
 * The row of a path of gRPC, /SERVICE/METHOD, in a table. NULL: there is none; `has_service`: but
 * others of its service.
 */
const struct tr_api_method *tr_api_method_find(const struct tr_api_method *methods, size_t count,
                                               struct tr_text path, bool *has_service);

/* Whether a table has a service. */
bool tr_api_has_service(const struct tr_api_method *methods, size_t count, struct tr_text service);

#endif
