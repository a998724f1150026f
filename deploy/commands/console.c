/*
 * `troupe console`: the pages and the API of a store on a port of this machine, by a process of
 * their own, until Ctrl-C. It reads the store itself; what acts goes to the store's engine, as it
 * does with commands.
 */
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "deploy/cli/commands.h"
#include "deploy/cli/store.h"
#include "deploy/common/signals.h"
#include "deploy/pages/pages.h"
#include "deploy/web/web.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

#define URL_BYTES (TR_DOOR_ADDRESS_BYTES_MAX + 32)

extern char **environ;

struct console {
    const struct tr_invocation *invocation;
    struct tr_web *web;
    struct tr_door *door;
    int signals;
};

static enum tr_exit_status check(const struct tr_invocation *invocation, const char *address)
{
    char words[TR_DOOR_WORDS_BYTES];
    if (!tr_pages_are_there()) {
        return tr_command_failed(invocation->command,
                                 "this program was built without its pages; install npm and build "
                                 "it again");
    }
    if (tr_door_address_check(address, true, words) != 0) {
        return tr_command_mistake(invocation->command, "--http: %s", words);
    }
    return tr_door_address_check(address, false, words) == 0
               ? TR_EXIT_DONE
               : tr_command_mistake(invocation->command,
                                    "--http: '%.100s' can be reached from other machines, and "
                                    "these pages are for this one; others look at `troupe serve "
                                    "--http`",
                                    address);
}

static enum tr_exit_status open_console(struct console *console, const char *folder,
                                        const char *address)
{
    char words[TR_DOOR_WORDS_BYTES] = "";
    struct tr_door_options options = {.addresses = &address, .address_count = 1};
    const struct tr_web_options web = {.folder = folder, .everybody = TR_API_ADMIN};
    int error = tr_signals_open(&console->signals);
    if (error == 0) {
        error = tr_web_new(&web, &console->web);
    }
    if (error == 0) {
        options.parts = tr_web_parts(console->web, &options.part_count);
        options.handler = tr_pages_parts()->handler;
        error = tr_door_open(&options, words, &console->door);
    }
    return error == 0 ? TR_EXIT_DONE
                      : tr_command_failed(console->invocation->command, "%s",
                                          words[0] != '\0' ? words : tr_error_text(error));
}

static void close_console(struct console *console)
{
    tr_web_stop(console->web);
    tr_door_close(console->door);
    tr_web_free(console->web);
    if (console->signals >= 0) {
        tr_signals_close(console->signals);
    }
}

/* Where there is a screen; whether a browser comes is its owner's matter. */
static void open_browser(char *url)
{
    char name[] = "xdg-open";
    char *const words[] = {name, url, NULL};
    posix_spawn_file_actions_t actions;
    pid_t child;
    bool has_screen = getenv("DISPLAY") != NULL || getenv("WAYLAND_DISPLAY") != NULL;
    if (!has_screen || isatty(STDOUT_FILENO) != 1 || posix_spawn_file_actions_init(&actions) != 0) {
        return;
    }
    if (posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", 1, 0) == 0 &&
        posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO) == 0) {
        (void)!posix_spawnp(&child, name, &actions, NULL, words, environ);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
}

static void tell(const struct console *console)
{
    char url[URL_BYTES];
    const char *address = tr_door_address(console->door, 0);
    (void)snprintf(url, sizeof url, "http://%s" TR_PAGES_PATH "/", address);
    printf("%s\n", url);
    (void)fflush(stdout);
    if (!tr_arguments_has(&console->invocation->arguments, "no-open")) {
        open_browser(url);
    }
}

static void wait_for_signal(const struct console *console)
{
    struct pollfd wait = {.fd = console->signals, .events = POLLIN};
    while (tr_signals_next(console->signals) == 0) {
        (void)poll(&wait, 1, -1);
    }
}

static enum tr_exit_status run(const struct tr_invocation *invocation)
{
    struct tr_store_place store;
    struct console console = {.invocation = invocation, .signals = -1};
    const char *address = tr_arguments_value(&invocation->arguments, "http");
    address = address == NULL ? "0" : address;
    enum tr_exit_status status = check(invocation, address);
    if (status == TR_EXIT_DONE) {
        status = tr_store_find(invocation, false, &store);
    }
    if (status == TR_EXIT_DONE) {
        status = open_console(&console, store.folder, address);
    }
    if (status == TR_EXIT_DONE) {
        tell(&console);
        wait_for_signal(&console);
    }
    close_console(&console);
    return status;
}

static const struct tr_option options_table[] = {
    {0, "http", "ADDRESS", "show them there (else at any free port)", NULL, 0, false},
    {0, "no-open", NULL, "open no browser", NULL, 0, false},
    {0},
};

const struct tr_command tr_command_console = {
    .name = "console",
    .summary = "show a store in a browser",
    .words = "",
    .text =
        "Prints the address of its pages, opens a browser where there is a screen, and goes on\n"
        "until Ctrl-C. The pages are for this machine alone, and who reaches the port may do\n"
        "what you may. They show the store with or without a live engine; what acts needs one,\n"
        "as with commands. A service has the same pages at the port of `troupe serve --http`.",
    .examples = "  troupe console\n"
                "  troupe console --store /var/lib/troupe --http 30081 --no-open",
    .options = options_table,
    .has_store = true,
    .run = run,
};
