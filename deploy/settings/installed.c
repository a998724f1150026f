/*
 * The way from the program's own file to what was installed with it. No path is compiled in, so an
 * installation may be moved as a whole.
 */
#include "deploy/settings/installed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The folder of the file that this process runs. */
static bool find_own(char folder[PATH_MAX])
{
    ssize_t size = readlink("/proc/self/exe", folder, PATH_MAX - 1);
    if (size <= 0) {
        return false;
    }
    folder[size] = '\0';
    char *slash = strrchr(folder, '/');
    if (slash == NULL) {
        return false;
    }
    *slash = '\0';
    return true;
}

bool tr_installed_find(const char *name, char path[PATH_MAX])
{
    static const char *const ways[] = {"share/troupe", "../share/troupe"};
    char own[PATH_MAX];
    char joined[PATH_MAX];
    struct stat status;
    if (!find_own(own)) {
        return false;
    }
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        int size = snprintf(joined, sizeof joined, "%s/%s/%s", own, ways[i], name);
        if (size > 0 && (size_t)size < sizeof joined && realpath(joined, path) != NULL &&
            stat(path, &status) == 0 && S_ISDIR(status.st_mode)) {
            return true;
        }
    }
    return false;
}
