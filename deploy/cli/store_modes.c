/*
 * What others may read or write in a store, and what an engine says of it.
 *
 * Looked at are the folder and the names in it: what lies deeper is behind them.
 */
#include "deploy/cli/store_modes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schemas/codec/error.h"

/* What nobody else should have: of the settings, which people write, that is writing alone. */
static mode_t excess_of(const char *name, mode_t mode)
{
    if (S_ISLNK(mode) || S_ISSOCK(mode)) {
        return 0; /* a link has no mode, and a socket is made anew by each engine */
    }
    return mode & (strcmp(name, "settings.yaml") == 0 ? 0022 : 0077);
}

static void look_at(int folder, const char *name, tr_visit_open *visit, void *self)
{
    struct stat status;
    if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        return;
    }
    mode_t excess = excess_of(name, status.st_mode);
    struct tr_open_one one = {.name = name,
                              .folder = folder,
                              .mode = status.st_mode & 07777,
                              .closed = status.st_mode & 07777 & ~excess};
    if (excess != 0) {
        visit(self, &one);
    }
}

int tr_store_modes_visit(const char *path, tr_visit_open *visit, void *self)
{
    int descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = descriptor < 0 ? NULL : fdopendir(descriptor);
    const struct dirent *entry;
    if (folder == NULL) {
        return TR_SYSTEM;
    }
    while ((entry = readdir(folder)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            look_at(descriptor, entry->d_name, visit, self);
        }
    }
    look_at(descriptor, ".", visit, self);
    closedir(folder);
    return 0;
}

/* ------------------------------------------------------------------------- a warning */

struct finding {
    uint32_t count;
    char name[NAME_MAX + 1]; /* the first, files before the folder */
    bool is_written;         /* others may change it */
};

static void find_open(void *self, const struct tr_open_one *one)
{
    struct finding *finding = self;
    if (finding->count++ == 0) {
        snprintf(finding->name, sizeof finding->name, "%s", one->name);
        finding->is_written = (one->mode & 0022) != 0;
    }
}

void tr_store_modes_check(const struct tr_invocation *invocation, const char *folder)
{
    struct stat status;
    struct finding finding = {.count = 0};
    bool lets_in = stat(folder, &status) == 0 && (status.st_mode & 0011) != 0;
    if (!lets_in || tr_store_modes_visit(folder, find_open, &finding) != 0) {
        return;
    }
    bool is_folder_alone = strcmp(finding.name, ".") == 0 && (status.st_mode & 0022) == 0;
    if (finding.count == 0 || is_folder_alone) {
        return; /* what can be named by others can be neither read nor changed */
    }
    char more[32] = "";
    if (finding.count > 1) {
        snprintf(more, sizeof more, ", and %u more", finding.count - 1);
    }
    tr_command_note(invocation,
                    "others may %s %s/%s%s; `troupe store fix-modes --store %s` closes the store "
                    "to them",
                    finding.is_written ? "change" : "read", folder, finding.name, more, folder);
}
