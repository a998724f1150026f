/*
 * `troupe store fix-modes`: closes a store to others.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "deploy/cli/store_modes.h"
#include "deploy/common/document.h"
#include "deploy/stores/store.h"

struct fixing {
    const struct tr_invocation *invocation;
    const char *folder;
    struct tr_document *document; /* NULL: lines */
    uint32_t failed;
};

static void tell(struct fixing *fixing, const struct tr_open_one *one)
{
    char path[PATH_MAX + NAME_MAX + 2];
    char modes[2][8];
    snprintf(path, sizeof path, "%s/%s", fixing->folder, one->name);
    snprintf(modes[0], sizeof modes[0], "%04o", (unsigned)one->closed & 07777);
    snprintf(modes[1], sizeof modes[1], "%04o", (unsigned)one->mode & 07777);
    if (fixing->document == NULL) {
        printf("%s: %s, was %s\n", path, modes[0], modes[1]);
        return;
    }
    tr_document_begin_map(fixing->document, NULL);
    tr_document_text(fixing->document, "path", tr_text_of(path));
    tr_document_text(fixing->document, "mode", tr_text_of(modes[0]));
    tr_document_text(fixing->document, "was", tr_text_of(modes[1]));
    tr_document_end(fixing->document);
}

static void fix(void *self, const struct tr_open_one *one)
{
    struct fixing *fixing = self;
    int file = openat(one->folder, one->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0 || fchmod(file, one->closed) != 0) {
        fixing->failed++;
        (void)tr_command_failed(fixing->invocation->command, "%s/%s stays %04o: %s", fixing->folder,
                                one->name, (unsigned)one->mode, strerror(errno));
    } else {
        tell(fixing, one);
    }
    if (file >= 0) {
        close(file);
    }
}

enum tr_exit_status tr_store_fix_modes(struct tr_store_target *target)
{
    const struct tr_invocation *invocation = target->invocation;
    if (target->options.folder == NULL) {
        return tr_command_refused(invocation->command,
                                  "fix-modes closes a folder, and %s is none; whom a database lets "
                                  "in, its roles say",
                                  target->shown);
    }
    struct tr_document *document = NULL;
    struct tr_document made;
    if (invocation->output != TR_OUTPUT_TEXT) {
        tr_document_init(&made, stdout, invocation->output);
        tr_document_begin_list(&made, NULL);
        document = &made;
    }
    struct fixing fixing = {
        .invocation = invocation, .folder = target->options.folder, .document = document};
    int error = tr_store_modes_visit(fixing.folder, fix, &fixing);
    int cause = errno;
    if (document != NULL) {
        tr_document_end(document);
        tr_document_fini(document);
    }
    if (error != 0) {
        return tr_command_failed(invocation->command, "%s cannot be read: %s", fixing.folder,
                                 strerror(cause));
    }
    return fixing.failed == 0 ? TR_EXIT_DONE : TR_EXIT_ENGINE;
}
