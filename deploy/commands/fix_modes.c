/*
 * `troupe store fix-modes`: closes a store to others.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "deploy/cli/commands.h"
#include "deploy/cli/store.h"
#include "deploy/cli/store_modes.h"

struct fixing {
    const struct tr_invocation *invocation;
    const char *folder;
    uint32_t failed;
};

static void fix(void *self, const struct tr_open_one *one)
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
    if (tr_store_modes_visit(place.folder, fix, &fixing) != 0) {
        return tr_command_failed(invocation->command, "%s cannot be read: %s", place.folder,
                                 strerror(errno));
    }
    return fixing.failed == 0 ? TR_EXIT_DONE : TR_EXIT_ENGINE;
}

const struct tr_command tr_command_store = {
    .name = "store",
    .summary = "close a store to others",
    .words = "fix-modes",
    .choices = "fix-modes",
    .text = "Takes all that others may read or write in a store from them: what was made by hand,\n"
            "or by programs before. settings.yaml stays readable. Beside a live engine, too.",
    .examples = "  troupe store fix-modes --store /var/lib/troupe",
    .has_store = true,
    .words_min = 1,
    .words_max = 1,
    .run = run,
};
