/*
 * What handles each RPC: the functions that the table of methods.c names.
 */
#ifndef TR_DEPLOY_API_SERVICES_H
#define TR_DEPLOY_API_SERVICES_H

#include "deploy/api/call.h"

/* service_admin.c */
void tr_api_get_version(struct tr_api_call *call, const void *request);

/* service_auth.c */
void tr_api_get_oauth2_metadata(struct tr_api_call *call, const void *request);
void tr_api_get_public_client_config(struct tr_api_call *call, const void *request);
void tr_api_user_info(struct tr_api_call *call, const void *request);

/* service_health.c */
void tr_api_check_health(struct tr_api_call *call, const void *request);
void tr_api_watch_health(struct tr_api_call *call, const void *request);

#endif
