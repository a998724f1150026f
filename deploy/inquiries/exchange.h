/*
 * Large documents of tasks, for the host's files service: inputs from blobs into a JSON file, and
 * outputs from one into blobs (actors/values/exchange.h does the reading and writing). Its third
 * function is the table of inquiries.h.
 */
#ifndef TR_DEPLOY_INQUIRIES_EXCHANGE_H
#define TR_DEPLOY_INQUIRIES_EXCHANGE_H

#include "runtime/troupe.h"

extern const struct tr_exchange tr_live_exchange;

#endif
