/*
 * `troupe store fix-modes`, and what an engine says when that is needed.
 *
 * Looked at are the folder and the names in it: what lies deeper is behind them.
 */
#include "deploy/store_modes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "deploy/cli/commands.h"
#include "deploy/cli/store.h"

/* Something of a store that is open to others. */
struct open_one {
    const char *name; /* "." for the folder */
    int folder;
    mode_t mode;   /* as it is */
    mode_t closed; /* as it should be */
};

typedef void (*visit_open)(void *self, const struct open_one *one);

/* What nobody else should have: of the settings, which people write, that is writing alone. */
static mode_t excess_of(const char *name, mode_t mode)
{
    if (S_ISLNK(mode) || S_ISSOCK(mode)) {
        return 0; /* a link has no mode, and a door is made anew by each engine */
    }
    return mode & (strcmp(name, "settings.yaml") == 0 ? 0022 : 0077);
}

static void look_at(int folder, const char *name, visit_open visit, void *self)
{
    struct stat status;
    if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        return;
    }
    mode_t excess = excess_of(name, status.st_mode);
    struct open_one one = {.name = name,
                           .folder = folder,
                           .mode = status.st_mode & 07777,
                           .closed = status.st_mode & 07777 & ~excess};
    if (excess != 0) {
        visit(self, &one);
    }
}

/* Tells of all that is open, the folder last; negative if the folder cannot be read (errno). */
static int visit_all(const char *path, visit_open visit, void *self)
{
    int descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = descriptor < 0 ? NULL : fdopendir(descriptor);
    const struct dirent *entry;
    if (folder == NULL) {
        return -1;
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

static void find_open(void *self, const struct open_one *one)
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
    if (!lets_in || visit_all(folder, find_open, &finding) != 0) {
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

/* ------------------------------------------------------------------------ the command */

struct fixing {
    const struct tr_invocation *invocation;
    const char *folder;
    uint32_t failed;
};

static void fix(void *self, const struct open_one *one)
{
    struct fixing *fixing = self;
    int file = openat(one->folder, one->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0 || fchmod(file, one->closed) != 0) {
        fixing->failed++;
        (void)tr_command_failed(fixing->invocation->command, "%s/%s stays %04o: %s", fixing->folder,
                                one->name, (unsigned)one->mode, strerror(errno));
    } else {
        printf("%s/%s: %04o, was %04o\n", fixing->folder, one->name, (unsigned)one->closed,
               (unsigned)one->mode);
    }
    if (file >= 0) {
        close(file);
    }
}

static enum tr_exit_status run(const struct tr_invocation *invocation)
{
    struct tr_store_place place;
    const char *word = invocation->arguments.words[0];
    if (strcmp(word, "fix-modes") != 0) {
        return tr_command_mistake(invocation->command,
                                  "'%.60s' is nothing that is done to a "
                                  "store; write fix-modes",
                                  word);
    }
    enum tr_exit_status status = tr_store_find(invocation, false, &place);
    if (status != TR_EXIT_DONE) {
        return status;
    }
    struct fixing fixing = {.invocation = invocation, .folder = place.folder};
    if (visit_all(place.folder, fix, &fixing) != 0) {
        return tr_command_failed(invocation->command, "%s cannot be read: %s", place.folder,
                                 strerror(errno));
    }
    return fixing.failed == 0 ? TR_EXIT_DONE : TR_EXIT_ENGINE;
}

const struct tr_command tr_command_store = {
    .name = "store",
    .summary = "close a store to others",
    .words = "fix-modes",
    .text = "Takes all that others may read or write in a store from them: what was made by hand,\n"
            "or by programs before. settings.yaml stays readable. Beside a live engine, too.",
    .examples = "  troupe store fix-modes --store /var/lib/troupe",
    .has_store = true,
    .words_min = 1,
    .words_max = 1,
    .run = run,
};
