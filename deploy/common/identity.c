/*
 * The user and the host of this process, or whoever calls by a console of his own.
 */
#include "deploy/common/identity.h"

#include <pwd.h>
#include <stdio.h>
#include <unistd.h>

#include "deploy/console/console.h"

void tr_identity_read(char identity[TR_IDENTITY_BYTES])
{
    char host[TR_IDENTITY_BYTES / 2] = "?";
    if (tr_console() != NULL) {
        snprintf(identity, TR_IDENTITY_BYTES, "%s", tr_console()->identity);
        return;
    }
    const struct passwd *user = getpwuid(getuid());
    if (gethostname(host, sizeof host - 1) != 0) {
        snprintf(host, sizeof host, "?");
    }
    snprintf(identity, TR_IDENTITY_BYTES, "%.100s@%s", user == NULL ? "?" : user->pw_name, host);
}
