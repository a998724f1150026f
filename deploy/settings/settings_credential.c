/*
 * What the command of an identity prints: an ExecCredential of client.authentication.k8s.io. It is
 * read where it lies, so that no copy of a token is left anywhere.
 */
#include <string.h>
#include <time.h>

#include "deploy/settings/settings_inside.h"
#include "plugins/sdk/scan.h"

enum member { KIND, TOKEN, EXPIRES, CERTIFICATE, MEMBERS };

static int refuse(struct tr_credential *credential, const char *problem)
{
    credential->problem = problem;
    return TR_INVALID;
}

/* The text in the quotes of a value without escapes, which tokens and times do not need. */
static bool read_plain(struct tr_bytes value, struct tr_bytes *text)
{
    bool is_text = value.size > 2 && value.data[0] == '"' && value.data[value.size - 1] == '"';
    *text = (struct tr_bytes){.data = value.data + 1, .size = is_text ? value.size - 2 : 0};
    return is_text && memchr(text->data, '\\', text->size) == NULL;
}

/* "2026-01-31T12:00:00Z" as milliseconds since 1970; false: it is none. */
static bool read_time(struct tr_bytes value, uint64_t *wall_ms)
{
    char text[40] = "";
    struct tr_bytes plain;
    struct tm time = {0};
    bool is_text = read_plain(value, &plain) && plain.size < sizeof text;
    memcpy(text, plain.data, is_text ? plain.size : 0);
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &time);
    time_t seconds = end == NULL ? -1 : timegm(&time);
    *wall_ms = seconds < 0 ? 0 : (uint64_t)seconds * 1000;
    return seconds >= 0 && (*end == 'Z' || *end == '.');
}

int tri_settings_read_credential(struct tr_bytes printed, struct tr_credential *credential)
{
    static const char *const paths[MEMBERS] = {
        [KIND] = "/kind",
        [TOKEN] = "/status/token",
        [EXPIRES] = "/status/expirationTimestamp",
        [CERTIFICATE] = "/status/clientCertificateData",
    };
    struct tr_bytes found[MEMBERS];
    struct tr_bytes kind = {0};
    int error = tr_scan(printed, paths, MEMBERS, found);
    bool is_one = error == 0 && read_plain(found[KIND], &kind) && kind.size == 14 &&
                  memcmp(kind.data, "ExecCredential", kind.size) == 0;
    if (!is_one) {
        return refuse(credential, "what it prints is no ExecCredential");
    }
    if (tr_scan_is_none(found[TOKEN]) && !tr_scan_is_none(found[CERTIFICATE])) {
        return refuse(credential,
                      "it gives a client certificate; use a command that gives a token");
    }
    if (!read_plain(found[TOKEN], &credential->token)) {
        return refuse(credential, "what it prints has no status.token");
    }
    credential->expires_ms = 0;
    return tr_scan_is_none(found[EXPIRES]) || read_time(found[EXPIRES], &credential->expires_ms)
               ? 0
               : refuse(credential, "its status.expirationTimestamp is no time");
}
