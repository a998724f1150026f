/*
 * The user and the host of this process.
 */
#include "deploy/who.h"

#include <pwd.h>
#include <stdio.h>
#include <unistd.h>

void tr_who(char who[TR_WHO_BYTES])
{
    char host[TR_WHO_BYTES / 2] = "?";
    const struct passwd *user = getpwuid(getuid());
    if (gethostname(host, sizeof host - 1) != 0) {
        snprintf(host, sizeof host, "?");
    }
    snprintf(who, TR_WHO_BYTES, "%.100s@%s", user == NULL ? "?" : user->pw_name, host);
}
