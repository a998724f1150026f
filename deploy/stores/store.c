/*
 * `troupe store`: what an operator does to a store. Each verb is a row; here are those of a few
 * lines.
 */
#include "deploy/stores/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deploy/cli/commands.h"
#include "deploy/common/document.h"
#include "deploy/common/file.h"
#include "deploy/common/schemas.h"
#include "runtime/store_care.h"
#include "runtime/store_open.h"
#include "schemas/engine/history_views.h"

static const struct {
    const char *name;
    enum tr_exit_status (*run)(struct tr_store_target *target);
} verbs[] = {
    {"init", tr_store_init},           {"check", tr_store_check},
    {"upgrade", tr_store_upgrade},     {"take-over", tr_store_take_over},
    {"fix-modes", tr_store_fix_modes},
};

#define VERBS "init|check|upgrade|take-over|fix-modes"

enum tr_exit_status tr_store_target_failed(const struct tr_store_target *target, int error)
{
    const struct tr_command *command = target->invocation->command;
    return error == TR_INVALID || error == TR_NOT_FOUND
               ? tr_command_refused(command, "%s", target->explain)
               : tr_command_failed(command, "%s", target->explain);
}

/* The document of -o json and yaml, with the store's name in it; false: the form is text. */
static bool begin_document(const struct tr_store_target *target, struct tr_document *document)
{
    if (target->invocation->output == TR_OUTPUT_TEXT) {
        return false;
    }
    tr_document_init(document, stdout, target->invocation->output);
    tr_document_begin_map(document, NULL);
    tr_document_text(document, "store", tr_text_of(target->shown));
    return true;
}

static void end_document(struct tr_document *document)
{
    tr_document_end(document);
    tr_document_fini(document);
}

/* ----------------------------------------------------------------------------- verbs */

/* Judged before the store is looked for: a server that is away is not what is wrong then. */
static enum tr_exit_status read_partitions(struct tr_store_target *target)
{
    const struct tr_invocation *invocation = target->invocation;
    const char *word = tr_arguments_value(&invocation->arguments, "partitions");
    if (word == NULL) {
        return TR_EXIT_DONE;
    }
    size_t digits = strspn(word, "0123456789");
    target->options.partitions = (uint32_t)strtoul(word, NULL, 10);
    bool is_number = digits > 0 && digits <= 9 && word[digits] == '\0';
    return is_number && target->options.partitions != 0 &&
                   target->options.partitions <= TR_PARTITIONS_MAX
               ? TR_EXIT_DONE
               : tr_command_mistake(invocation->command,
                                    "--partitions takes a number from 1 to %d, and not '%.60s'",
                                    TR_PARTITIONS_MAX, word);
}

enum tr_exit_status tr_store_init(struct tr_store_target *target)
{
    bool was_made = false;
    struct tr_document document;
    enum tr_exit_status status = read_partitions(target);
    if (status != TR_EXIT_DONE) {
        return status;
    }
    int error = tri_store_init(&target->options, target->explain, &was_made);
    if (error != 0) {
        return tr_store_target_failed(target, error);
    }
    if (begin_document(target, &document)) {
        tr_document_bool(&document, "made", was_made);
        end_document(&document);
    } else if (was_made) {
        printf("made the store %s\n", target->shown);
    } else {
        printf("the store %s is there already, and stays as it is\n", target->shown);
    }
    return TR_EXIT_DONE;
}

struct changes {
    const struct tr_store_target *target;
    struct tr_document document;
    bool has_begun;
    bool is_document;
};

/* Nothing is printed before all of it is done. */
static void begin_changes(struct changes *changes)
{
    if (!changes->has_begun) {
        changes->has_begun = true;
        changes->is_document = begin_document(changes->target, &changes->document);
        if (changes->is_document) {
            tr_document_begin_list(&changes->document, "changes");
        }
    }
}

static void tell_change(void *self, const char *what)
{
    struct changes *changes = self;
    begin_changes(changes);
    if (changes->is_document) {
        tr_document_text(&changes->document, NULL, tr_text_of(what));
    } else {
        printf("%s\n", what);
    }
}

enum tr_exit_status tr_store_upgrade(struct tr_store_target *target)
{
    struct changes changes = {.target = target};
    struct tri_store_upgrading upgrading = {
        .options = target->options, .self = &changes, .changed = tell_change};
    int error = tri_store_upgrade(&upgrading, target->explain);
    if (error != 0) {
        return tr_store_target_failed(target, error);
    }
    bool has_any = changes.has_begun;
    begin_changes(&changes);
    if (changes.is_document) {
        tr_document_end(&changes.document);
        end_document(&changes.document);
    } else if (!has_any) {
        printf("the store %s has this program's tables already\n", target->shown);
    }
    return TR_EXIT_DONE;
}

/* A store in a folder of its own has that, and no other. */
enum tr_exit_status tr_store_take_over(struct tr_store_target *target)
{
    const struct tr_command *command = target->invocation->command;
    char locator[TRI_STORE_LOCATOR_BYTES] = "";
    struct tri_store *store = NULL;
    struct tr_document document;
    if (target->options.folder == NULL) {
        return tr_command_mistake(command, "name the folder that takes the store over, or give the "
                                           "locator by --store");
    }
    int error = tri_store_folder_locator(target->options.folder, target->explain, locator);
    if (error == 0 && locator[0] == '\0') {
        return tr_command_refused(command, "the store %s is in no database: it is in its folder",
                                  target->shown);
    }
    target->options.takes_over = true;
    if (error == 0) {
        error = tri_store_open(&target->options, target->explain, &store);
    }
    if (error != 0) {
        return tr_store_target_failed(target, error);
    }
    tri_store_close(store);
    if (begin_document(target, &document)) {
        tr_document_text(&document, "folder", tr_text_of(target->options.folder));
        end_document(&document);
    } else {
        printf("the folder of %s is %s from now on\n", target->shown, target->options.folder);
    }
    return TR_EXIT_DONE;
}

/* ------------------------------------------------------------------------ the command */

static bool is_locator(const char *word)
{
    return strstr(word, "://") != NULL;
}

/* The store behind the verb, or the one that other commands would mean. */
static enum tr_exit_status find_target(struct tr_store_target *target)
{
    const struct tr_invocation *invocation = target->invocation;
    const char *word = invocation->arguments.word_count > 1 ? invocation->arguments.words[1] : NULL;
    char locator[TRI_STORE_LOCATOR_BYTES];
    if (word != NULL && is_locator(word)) {
        target->options.locator = word;
        tri_store_locator_print(word, target->shown);
        return TR_EXIT_DONE;
    }
    if (word == NULL) {
        enum tr_exit_status status = tr_store_find(invocation, false, &target->place);
        if (status != TR_EXIT_DONE) {
            return status;
        }
    } else if (*word == '\0' || tr_file_absolute(word, target->place.folder) != 0) {
        return tr_command_mistake(invocation->command, "'%.60s' names no folder", word);
    }
    target->options.folder = target->place.folder;
    int error = tri_store_folder_locator(target->place.folder, target->explain, locator);
    if (error != 0) {
        return tr_store_target_failed(target, error);
    }
    tri_store_locator_print(locator[0] != '\0' ? locator : target->place.folder, target->shown);
    return TR_EXIT_DONE;
}

static enum tr_exit_status run(const struct tr_invocation *invocation)
{
    const char *word = invocation->arguments.words[0];
    struct tr_store_target target = {.invocation = invocation,
                                     .options = {.durability = TR_DURABILITY_FULL,
                                                 .records = tr_program_records,
                                                 .record_count = tr_program_record_count,
                                                 .views = &tr_history_views}};
    for (size_t i = 0; i < TR_COUNT_OF(verbs); i++) {
        if (strcmp(word, verbs[i].name) == 0) {
            if (verbs[i].run != tr_store_init &&
                tr_arguments_has(&invocation->arguments, "partitions")) {
                return tr_command_mistake(invocation->command,
                                          "--partitions belongs to init alone");
            }
            enum tr_exit_status status = find_target(&target);
            return status != TR_EXIT_DONE ? status : verbs[i].run(&target);
        }
    }
    return tr_command_mistake(invocation->command,
                              "'%.60s' is nothing that is done to a store; write one of %s", word,
                              VERBS);
}

static const struct tr_option options[] = {
    {0, "partitions", "N", "init: parts of the work that hosts may share, 1 to 1024 (1024)", NULL,
     0, false},
    {0},
};

const struct tr_command tr_command_store = {
    .name = "store",
    .summary = "make, check and upgrade a store, and close it to others",
    .words = VERBS " [STORE]",
    .choices = VERBS,
    .text =
        "init       makes a store: a folder, or the tables in a schema of PostgreSQL, which\n"
        "           belong to the role that makes them. One that is there stays as it is.\n"
        "check      reads all of it, beside a live engine, too, and says what is wrong, where,\n"
        "           and what to do: 0 all is well, 1 something is not, 4 it cannot be read.\n"
        "upgrade    makes what this program's tables have more than the store's, and says\n"
        "           what. Engines on PostgreSQL go on meanwhile. A newer store is refused.\n"
        "take-over  makes the folder that of a store in a database, when nothing runs in the\n"
        "           one that its engine had, and never will.\n"
        "fix-modes  takes all that others may read or write in a store from them: what was\n"
        "           made by hand, or by programs before. settings.yaml stays readable. Beside\n"
        "           a live engine, too.\n"
        "STORE is a folder or postgresql://..., else the store that other commands take.",
    .examples = "  troupe store init postgresql://troupe_owner@db.example/troupe\n"
                "  troupe store check -o json\n"
                "  troupe store upgrade postgresql://troupe_owner@db.example/troupe\n"
                "  troupe store fix-modes --store /var/lib/troupe",
    .options = options,
    .outputs = "text|json|yaml",
    .has_store = true,
    .words_min = 1,
    .words_max = 2,
    .run = run,
};
