/*
 * What each call does, on the registrar's thread. deploy/api/services.h has the list.
 */
#ifndef TR_DEPLOY_ENTITIES_ENTITY_CALLS_H
#define TR_DEPLOY_ENTITIES_ENTITY_CALLS_H

#include "deploy/api/services.h"
#include "deploy/entities/registrar_inside.h"

#define TRI_WORK(name) void tri_##name(struct tri_job *job, const void *message);
TR_API_ENTITY_CALLS(TRI_WORK)
#undef TRI_WORK

#endif
