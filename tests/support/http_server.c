/*
 * tests/support/http_server.py in a process of its own; it ends when the pipe to it does.
 */
#include "tests/support/http_server.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/test.h"

#define SUPPORT TROUPE_SOURCE_DIR "/tests/support/"

static void become_server(const char *tls, const char *client_ca)
{
    static char python[] = "python3";
    static char script[] = SUPPORT "http_server.py";
    static char tls_option[] = "--tls";
    static char ca_option[] = "--client-ca";
    char certificate[512];
    char authority[512];
    snprintf(certificate, sizeof certificate, SUPPORT "tls/%s", tls != NULL ? tls : "");
    snprintf(authority, sizeof authority, SUPPORT "tls/%s", client_ca != NULL ? client_ca : "");
    char *argv[] = {python,
                    script,
                    tls != NULL ? tls_option : NULL,
                    certificate,
                    client_ca != NULL ? ca_option : NULL,
                    authority,
                    NULL};
    execvp("python3", argv);
    _exit(127);
}

void http_server_start(struct http_server *server, const char *tls, const char *client_ca)
{
    int input[2];
    int output[2];
    assert_int_equal(pipe2(input, O_CLOEXEC), 0);
    assert_int_equal(pipe2(output, O_CLOEXEC), 0);
    server->pid = fork();
    if (server->pid == 0) {
        dup2(input[0], STDIN_FILENO);
        dup2(output[1], STDOUT_FILENO);
        become_server(tls, client_ca);
    }
    close(input[0]);
    close(output[1]);
    server->input = input[1];
    FILE *lines = fdopen(output[0], "r");
    assert_int_equal(fscanf(lines, "%d", &server->port), 1);
    fclose(lines);
}

void http_server_stop(struct http_server *server)
{
    close(server->input);
    kill(server->pid, SIGKILL);
    assert_int_equal(waitpid(server->pid, NULL, 0), server->pid);
}
