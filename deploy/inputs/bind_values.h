/*
 * Inputs that look into values which lie elsewhere (actors/values/bind_plan.h): bound by the files
 * service's thread, which may wait for disks. What comes out large lies in the blobs again.
 */
#ifndef TR_DEPLOY_INPUTS_BIND_VALUES_H
#define TR_DEPLOY_INPUTS_BIND_VALUES_H

#include "runtime/troupe.h"

/* Answers values_bind, as a row of tr_inquiry_take has to. */
TR_MUST_USE int tr_bind_values(const struct tr_inquiry *inquiry, char *explain);

#endif
