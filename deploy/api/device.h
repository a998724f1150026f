/*
 * Devices that want a token for somebody who has a browser elsewhere (RFC 8628): a device begins,
 * shows a code to whoever sits before it, and asks again and again; that one says at the engine's
 * page, with the secret of a client, whose the device is. What has begun is kept in memory, for ten
 * minutes. Of one thread.
 */
#ifndef TR_DEPLOY_API_DEVICE_H
#define TR_DEPLOY_API_DEVICE_H

#include "deploy/api/clients.h"

/* How many devices may wait at once, how long each, and how often one may ask. */
#define TR_DEVICES_MAX 256
#define TR_DEVICE_S 600
#define TR_DEVICE_INTERVAL_S 5

/* Codes: 64 digits that nobody guesses, and letters that people type, ABCD-EFGH. */
#define TR_DEVICE_CODE_BYTES 65
#define TR_USER_CODE_BYTES 10

struct tr_device {
    char code[TR_DEVICE_CODE_BYTES]; /* empty: none is here */
    char user_code[TR_USER_CODE_BYTES];
    char client_id[TR_API_CLIENT_BYTES_MAX + 1]; /* that the device calls itself */
    uint64_t begun_ms;
    uint64_t asked_ms;                  /* last; 0: never */
    uint32_t interval_ms;               /* between two questions */
    const struct tr_api_client *client; /* whose it is; NULL: nobody has said so */
};

/* All zero is none. */
struct tr_devices {
    struct tr_device items[TR_DEVICES_MAX];
    uint64_t count; /* of all that ever began */
};

/*
 * Begins for a device; codes are made of the clients' key, and of `drawn`, which never comes twice.
 * NULL: as many wait as may.
 */
const struct tr_device *tr_devices_begin(struct tr_devices *devices,
                                         const struct tr_api_clients *clients,
                                         struct tr_text client_id, uint64_t drawn, uint64_t now_ms);

/* Whether it waits for a code, however it is written, and then whose it is. */
bool tr_devices_approve(struct tr_devices *devices, struct tr_text user_code,
                        const struct tr_api_client *client, uint64_t now_ms);

/* What becomes of a device that asks. */
enum tr_device_answer {
    TR_DEVICE_IS, /* `client`'s; it asks no more */
    TR_DEVICE_PENDING,
    TR_DEVICE_TOO_FAST, /* and is to ask more slowly from now on */
    TR_DEVICE_EXPIRED,  /* or there is none of this code, or of this client */
};
enum tr_device_answer tr_devices_ask(struct tr_devices *devices, struct tr_text code,
                                     struct tr_text client_id, uint64_t now_ms,
                                     const struct tr_api_client **client);

#endif
