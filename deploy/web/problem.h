/*
 * What is wrong with a request, as a document (RFC 9457): which problems there are, each with its
 * status of HTTP and with what the command of the same name would have ended.
 */
#ifndef TR_DEPLOY_WEB_PROBLEM_H
#define TR_DEPLOY_WEB_PROBLEM_H

#include "actors/graph/document/buffer.h"
#include "deploy/common/program.h"

/* The name, the word for programs, status and title of HTTP, and the command's exit status. */
#define TR_WEB_PROBLEMS(P)                                                    \
    P(INVALID, "invalid", 400, "Bad Request", TR_EXIT_USAGE)                  \
    P(UNAUTHENTICATED, "unauthenticated", 401, "Unauthorized", TR_EXIT_USAGE) \
    P(FORBIDDEN, "forbidden", 403, "Forbidden", TR_EXIT_USAGE)                \
    P(NOT_FOUND, "not-found", 404, "Not Found", TR_EXIT_USAGE)                \
    P(METHOD, "method", 405, "Method Not Allowed", TR_EXIT_USAGE)             \
    P(CONFLICT, "conflict", 409, "Conflict", TR_EXIT_USAGE)                   \
    P(TOO_LARGE, "too-large", 413, "Content Too Large", TR_EXIT_USAGE)        \
    P(TYPE, "type", 415, "Unsupported Media Type", TR_EXIT_USAGE)             \
    P(REUSED_KEY, "reused-key", 422, "Unprocessable Content", TR_EXIT_USAGE)  \
    P(BUSY, "busy", 429, "Too Many Requests", TR_EXIT_ENGINE)                 \
    P(ENGINE, "engine", 500, "Internal Server Error", TR_EXIT_ENGINE)         \
    P(UNAVAILABLE, "unavailable", 503, "Service Unavailable", TR_EXIT_ENGINE) \
    P(TIMEOUT, "timeout", 504, "Gateway Timeout", TR_EXIT_ENGINE)

enum tr_web_problem {
    TR_WEB_FINE,
#define TRI_WEB_PROBLEM(name, word, status, title, exit_status) TR_WEB_##name,
    TR_WEB_PROBLEMS(TRI_WEB_PROBLEM)
#undef TRI_WEB_PROBLEM
};

/* The status of HTTP of a problem; and the problem of one that the door refuses a request with. */
int tr_web_problem_status(enum tr_web_problem problem);
enum tr_web_problem tr_web_problem_of_status(int status);

/* The problem of a command that has ended so: `error` is an enum tr_error, or 0 for not known. */
enum tr_web_problem tr_web_problem_of_exit(enum tr_exit_status status, int error);

/* Appends the document. */
void tr_web_problem_print(enum tr_web_problem problem, const char *words, struct tr_buffer *json);

#endif
