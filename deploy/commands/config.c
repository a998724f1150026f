/*
 * `troupe config flyte`: the lines by which Flyte's clients find an engine, in their file. The
 * engine keeps them in its store while it has a port (serve_http.c).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "deploy/cli/commands.h"
#include "deploy/cli/store.h"
#include "deploy/commands/serve_http.h"
#include "deploy/common/file.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

#define CONFIG_BYTES_MAX 4096
#define STDOUT "-"

/* Where clients look: $FLYTECTL_CONFIG, else .flyte/config.yaml at home. */
static enum tr_exit_status find_place(const struct tr_invocation *invocation, char place[PATH_MAX])
{
    const char *given = tr_arguments_value(&invocation->arguments, "file");
    const char *variable = getenv("FLYTECTL_CONFIG");
    const char *home = getenv("HOME");
    const char *path = given != NULL                             ? given
                       : variable != NULL && variable[0] != '\0' ? variable
                                                                 : NULL;
    if (path == NULL && (home == NULL || home[0] != '/')) {
        return tr_command_refused(invocation->command,
                                  "HOME is no absolute path; name the file by --file");
    }
    int size = path != NULL ? snprintf(place, PATH_MAX, "%s", path)
                            : snprintf(place, PATH_MAX, "%s/.flyte/config.yaml", home);
    return size > 0 && size < PATH_MAX
               ? TR_EXIT_DONE
               : tr_command_refused(invocation->command, "the path of the file is too long");
}

/* Makes the folder of a file, if it is not there; its own folder has to be. */
static int make_folder(const char *place)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(place, '/');
    if (slash == NULL || slash == place) {
        return 0;
    }
    (void)snprintf(folder, sizeof folder, "%.*s", (int)(slash - place), place);
    return mkdir(folder, 0700) == 0 || errno == EEXIST ? 0 : TR_SYSTEM;
}

static enum tr_exit_status write_config(const struct tr_invocation *invocation, const char *place,
                                        struct tr_bytes config)
{
    struct stat status;
    bool is_forced = tr_arguments_has(&invocation->arguments, "force");
    if (strcmp(place, STDOUT) == 0) {
        printf("%.*s", (int)config.size, (const char *)config.data);
        return TR_EXIT_DONE;
    }
    if (!is_forced && stat(place, &status) == 0) {
        return tr_command_refused(invocation->command,
                                  "%s is there already; --force replaces it, and --file - prints "
                                  "what would stand there",
                                  place);
    }
    int error = make_folder(place);
    if (error == 0) {
        error = tr_file_write(place, config, false);
    }
    if (error != 0) {
        return tr_command_failed(invocation->command, "%s cannot be written: %s", place,
                                 error == TR_SYSTEM ? strerror(errno) : tr_error_text(error));
    }
    tr_command_note(invocation, "wrote %s", place);
    return TR_EXIT_DONE;
}

static enum tr_exit_status run(const struct tr_invocation *invocation)
{
    struct tr_store_place store;
    char place[PATH_MAX];
    char path[PATH_MAX + sizeof TR_STORE_FLYTE_CONFIG + 1];
    char *data = NULL;
    size_t size = 0;
    if (strcmp(invocation->arguments.words[0], "flyte") != 0) {
        return tr_command_mistake(invocation->command, "'%.60s' is none of: flyte",
                                  invocation->arguments.words[0]);
    }
    enum tr_exit_status status = tr_store_find(invocation, false, &store);
    if (status == TR_EXIT_DONE) {
        status = find_place(invocation, place);
    }
    if (status != TR_EXIT_DONE) {
        return status;
    }
    (void)snprintf(path, sizeof path, "%s/" TR_STORE_FLYTE_CONFIG, store.folder);
    int error = tr_file_read(path, CONFIG_BYTES_MAX, &data, &size);
    if (error == TR_NOT_FOUND) {
        return tr_command_refused(invocation->command,
                                  "no engine of this store answers Flyte's clients; begin one with "
                                  "troupe serve --http 30080");
    }
    if (error != 0) {
        return tr_command_failed(invocation->command, "%s cannot be read: %s", path,
                                 error == TR_SYSTEM ? strerror(errno) : tr_error_text(error));
    }
    status = write_config(invocation, place,
                          (struct tr_bytes){.data = (const uint8_t *)data, .size = size});
    tr_free(data);
    return status;
}

static const struct tr_option options[] = {
    {0, "file", "FILE", "where to write it (else where clients look); - prints it", NULL,
     TR_COMPLETES_FILES, false},
    {0, "force", NULL, "replace a file that is there", NULL, 0, false},
    {0},
};

const struct tr_command tr_command_config = {
    .name = "config",
    .summary = "write what Flyte's clients need to find the engine",
    .words = "flyte",
    .text = "Writes the lines that `troupe serve --http` prints: where it answers, and whether by\n"
            "TLS. They go into the file that $FLYTECTL_CONFIG names, else ~/.flyte/config.yaml.",
    .examples = "  troupe config flyte\n"
                "  troupe config flyte --file config.yaml",
    .options = options,
    .has_store = true,
    .choices = "flyte",
    .words_min = 1,
    .words_max = 1,
    .run = run,
};
