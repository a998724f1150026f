/*
 * Codes are HMACs of a number that counts, with the key that signs tokens: nobody else can make
 * them, and none comes twice.
 */
#include "deploy/api/device.h"

#include <ctype.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

/* Letters that make no words and look like no others: 20 of them. */
static const char letters[] = "BCDFGHJKLMNPQRSTVWXZ";

#define LETTER_COUNT (sizeof letters - 1)
#define USER_LETTERS 8

static bool is_over(const struct tr_device *device, uint64_t now_ms)
{
    return device->code[0] == '\0' || now_ms - device->begun_ms >= TR_DEVICE_S * 1000ULL;
}

/* One that is free, or whose time is over. */
static struct tr_device *find_free(struct tr_devices *devices, uint64_t now_ms)
{
    for (size_t i = 0; i < TR_DEVICES_MAX; i++) {
        if (is_over(&devices->items[i], now_ms)) {
            return &devices->items[i];
        }
    }
    return NULL;
}

static void make_codes(struct tr_device *device, const uint8_t *key, uint64_t number,
                       uint64_t drawn)
{
    uint8_t hash[crypto_auth_hmacsha256_BYTES];
    char said[64];
    int size = snprintf(said, sizeof said, "device\n%llu %llu", (unsigned long long)number,
                        (unsigned long long)drawn);
    (void)crypto_auth_hmacsha256(hash, (const uint8_t *)said, (unsigned long long)size, key);
    (void)sodium_bin2hex(device->code, sizeof device->code, hash, sizeof hash);
    size = snprintf(said, sizeof said, "user\n%llu %llu", (unsigned long long)number,
                    (unsigned long long)drawn);
    (void)crypto_auth_hmacsha256(hash, (const uint8_t *)said, (unsigned long long)size, key);
    char *at = device->user_code;
    for (size_t i = 0; i < USER_LETTERS; i++) {
        /* Two bytes for a letter, so that none is much likelier than another. */
        unsigned pair = (unsigned)hash[2 * i] << 8 | hash[2 * i + 1];
        if (i == USER_LETTERS / 2) {
            *at++ = '-';
        }
        *at++ = letters[pair % LETTER_COUNT];
    }
    *at = '\0';
}

const struct tr_device *tr_devices_begin(struct tr_devices *devices,
                                         const struct tr_api_clients *clients,
                                         struct tr_text client_id, uint64_t drawn, uint64_t now_ms)
{
    struct tr_device *device = find_free(devices, now_ms);
    if (device == NULL || client_id.size > TR_API_CLIENT_BYTES_MAX) {
        return NULL;
    }
    *device = (struct tr_device){.begun_ms = now_ms, .interval_ms = TR_DEVICE_INTERVAL_S * 1000};
    (void)snprintf(device->client_id, sizeof device->client_id, "%.*s", (int)client_id.size,
                   client_id.data);
    make_codes(device, clients->key, devices->count++, drawn);
    return device;
}

/* Whether letters are the same, in whichever case, with or without a line between. */
static bool is_code(const char *code, struct tr_text typed)
{
    size_t at = 0;
    for (size_t i = 0; i < typed.size; i++) {
        char letter = (char)toupper((unsigned char)typed.data[i]);
        if (letter == '-' || letter == ' ') {
            continue;
        }
        at += code[at] == '-' ? 1 : 0;
        if (code[at] == '\0' || code[at] != letter) {
            return false;
        }
        at++;
    }
    return at > 0 && code[at] == '\0';
}

bool tr_devices_approve(struct tr_devices *devices, struct tr_text user_code,
                        const struct tr_api_client *client, uint64_t now_ms)
{
    for (size_t i = 0; i < TR_DEVICES_MAX; i++) {
        struct tr_device *device = &devices->items[i];
        if (!is_over(device, now_ms) && device->client == NULL &&
            is_code(device->user_code, user_code)) {
            device->client = client;
            return true;
        }
    }
    return false;
}

static struct tr_device *find(struct tr_devices *devices, struct tr_text code,
                              struct tr_text client_id, uint64_t now_ms)
{
    for (size_t i = 0; i < TR_DEVICES_MAX; i++) {
        struct tr_device *device = &devices->items[i];
        bool is_one = !is_over(device, now_ms) && code.size == TR_DEVICE_CODE_BYTES - 1 &&
                      sodium_memcmp(device->code, code.data, code.size) == 0;
        if (is_one) {
            return tr_text_equal(client_id, tr_text_of(device->client_id)) ? device : NULL;
        }
    }
    return NULL;
}

enum tr_device_answer tr_devices_ask(struct tr_devices *devices, struct tr_text code,
                                     struct tr_text client_id, uint64_t now_ms,
                                     const struct tr_api_client **client)
{
    struct tr_device *device = find(devices, code, client_id, now_ms);
    if (device == NULL) {
        return TR_DEVICE_EXPIRED;
    }
    /* A second is forgiven: clients' clocks tick otherwise, and time passes on the way. */
    bool is_fast = device->asked_ms != 0 && now_ms - device->asked_ms + 1000 < device->interval_ms;
    device->asked_ms = now_ms;
    if (device->client != NULL) {
        *client = device->client;
        *device = (struct tr_device){.client = NULL};
        return TR_DEVICE_IS;
    }
    if (is_fast) {
        device->interval_ms += TR_DEVICE_INTERVAL_S * 1000;
    }
    return is_fast ? TR_DEVICE_TOO_FAST : TR_DEVICE_PENDING;
}
