/*
 * One table of problems. The type of all is about:blank, so that the title is that of the status;
 * `code` is what programs look at.
 */
#include "deploy/web/problem.h"

#include "actors/graph/value/literal.h"
#include "schemas/codec/error.h"

static const struct {
    const char *word;
    int status;
    const char *title;
    enum tr_exit_status exit_status;
} problems[] = {[TR_WEB_FINE] = {"", 200, "OK", TR_EXIT_DONE},
#define ROW(name, word, status, title, exit_status) \
    [TR_WEB_##name] = {word, status, title, exit_status},
                TR_WEB_PROBLEMS(ROW)
#undef ROW
};

int tr_web_problem_status(enum tr_web_problem problem)
{
    return problems[problem].status;
}

enum tr_web_problem tr_web_problem_of_status(int status)
{
    for (size_t i = TR_WEB_INVALID; i < TR_COUNT_OF(problems); i++) {
        if (problems[i].status == status) {
            return (enum tr_web_problem)i;
        }
    }
    return status >= 500 ? TR_WEB_ENGINE : TR_WEB_INVALID;
}

enum tr_web_problem tr_web_problem_of_exit(enum tr_exit_status status, int error)
{
    static const struct {
        int error;
        enum tr_web_problem problem;
    } of_errors[] = {
        {TR_NOT_FOUND, TR_WEB_NOT_FOUND},       {TR_EXISTS, TR_WEB_CONFLICT},
        {TR_NO_ACTOR, TR_WEB_CONFLICT},         {TR_TIMEOUT, TR_WEB_TIMEOUT},
        {TR_NO_CONNECTION, TR_WEB_UNAVAILABLE}, {TR_BUSY, TR_WEB_UNAVAILABLE},
        {TR_STORE_FULL, TR_WEB_UNAVAILABLE},
    };
    for (size_t i = 0; i < TR_COUNT_OF(of_errors); i++) {
        if (error == of_errors[i].error) {
            return of_errors[i].problem;
        }
    }
    return status == TR_EXIT_USAGE ? TR_WEB_INVALID : TR_WEB_ENGINE;
}

void tr_web_problem_print(enum tr_web_problem problem, const char *words, struct tr_buffer *json)
{
    tr_buffer_print(json,
                    "{\"type\":\"about:blank\",\"title\":\"%s\",\"status\":%d,\"code\":\"%s\","
                    "\"exit_status\":%d,\"detail\":",
                    problems[problem].title, problems[problem].status, problems[problem].word,
                    (int)problems[problem].exit_status);
    tri_text_write(tr_text_of(words), json);
    tr_buffer_add_string(json, "}\n");
}
