/*
 * Showing locators; see the header.
 *
 * A password with an @, a slash or a question mark that is not written as %40, %2F or %3F makes a
 * URI of other parts: half of it may be taken for the host. So all is left out that may be one.
 */
#include "runtime/journal/locator.h"

#include <ctype.h>
#include <string.h>

/* Options whose values are never shown. */
static const char *const secrets[] = {"password", "sslpassword"};

static int digit_of(char digit)
{
    return isdigit((unsigned char)digit) ? digit - '0' : tolower((unsigned char)digit) - 'a' + 10;
}

void tri_locator_option(const char *option, size_t size, char name[TRI_LOCATOR_NAME_BYTES])
{
    size_t at = 0;
    for (size_t i = 0; i < size && option[i] != '=' && at + 1 < TRI_LOCATOR_NAME_BYTES; i++) {
        bool is_coded = option[i] == '%' && i + 2 < size &&
                        isxdigit((unsigned char)option[i + 1]) &&
                        isxdigit((unsigned char)option[i + 2]);
        name[at++] =
            is_coded ? (char)(digit_of(option[i + 1]) * 16 + digit_of(option[i + 2])) : option[i];
        i += is_coded ? 2 : 0;
    }
    name[at] = '\0';
}

bool tri_locator_is_secret(const char *name)
{
    for (size_t i = 0; i < TR_COUNT_OF(secrets); i++) {
        if (strcmp(name, secrets[i]) == 0) {
            return true;
        }
    }
    return false;
}

static void append(char *shown, size_t size, size_t *at, const char *text, size_t count)
{
    for (size_t i = 0; i < count && *at + 1 < size; i++) {
        shown[(*at)++] = text[i];
    }
    shown[*at] = '\0';
}

/* What follows an option without a value may be the end of a password with an &. */
static void append_options(char *shown, size_t size, size_t *at, const char *options)
{
    const char *before = "?";
    while (*options != '\0') {
        char name[TRI_LOCATOR_NAME_BYTES];
        size_t length = strcspn(options, "&");
        tri_locator_option(options, length, name);
        if (!tri_locator_is_secret(name) && memchr(options, '=', length) != NULL) {
            append(shown, size, at, before, 1);
            append(shown, size, at, options, length);
            before = "&";
        }
        options += length + (options[length] == '&' ? 1 : 0);
    }
}

/*
 * Whether the first @ stands in the options, behind a host, a port that is a number, and a slash:
 * no user is named before it, and so no password.
 */
static bool is_without_user(const char *rest)
{
    const char *colon = strchr(rest, ':');
    size_t port = colon != NULL ? strspn(colon + 1, "0123456789") : 0;
    const char *options = strchr(rest, '?');
    return options != NULL && strcspn(rest, "@") > (size_t)(options - rest) && colon != NULL &&
           port > 0 && colon[1 + port] == '/' && colon + port < options;
}

void tri_locator_show(const char *locator, char *shown, size_t size)
{
    size_t at = 0;
    const char *scheme = strstr(locator, "://");
    const char *rest = scheme != NULL ? scheme + 3 : locator;
    append(shown, size, &at, locator, (size_t)(rest - locator));
    const char *host = strrchr(rest, '@');
    const char *colon = strchr(rest, ':');
    if (host != NULL && colon != NULL && colon < host && !is_without_user(rest)) {
        append(shown, size, &at, rest, (size_t)(colon - rest));
        rest = host;
    }
    size_t length = strcspn(rest, "?");
    append(shown, size, &at, rest, length);
    if (rest[length] == '?') {
        append_options(shown, size, &at, rest + length + 1);
    }
}
