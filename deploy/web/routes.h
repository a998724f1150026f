/*
 * Each route of the API, once: what it is called by, who may, which command answers it, and by
 * which definition of schemas/documents.schema.json. The OpenAPI page is made of this table.
 */
#ifndef TR_DEPLOY_WEB_ROUTES_H
#define TR_DEPLOY_WEB_ROUTES_H

#include "deploy/api/call.h"
#include "deploy/cli/command.h"
#include "deploy/web/web.h"

struct tr_web_job;

enum tr_web_route_flags {
    TR_WEB_TAKES_NODE = 1,   /* takes `node`, as commands do: squares, sq[3]/inner, squares[17]@2 */
    TR_WEB_IS_PAGED = 2,     /* takes `limit` and `cursor` */
    TR_WEB_BY_TIME = 4,      /* pages hold together by the time of the first one */
    TR_WEB_OF_ENGINE = 8,    /* comes from the engine itself, not from the store */
    TR_WEB_BEGINS = 16,      /* begins an execution: takes a key that makes it once */
    TR_WEB_FOLLOWS = 32,     /* goes on with something, for who takes events */
    TR_WEB_BY_NUMBER = 64,   /* a page begins with an element, by the option `from` */
    TR_WEB_GIVES_FILE = 128, /* answers with the bytes of a file */
};

struct tr_web_route {
    const char *name; /* of the operation */
    const char *method;
    const char *path; /* with {project}, {domain}, {name} and {plan} */
    const char *about;
    uint8_t role;                     /* enum tr_api_role */
    uint8_t flags;                    /* enum tr_web_route_flags */
    const struct tr_command *command; /* NULL: `handle` answers */
    const char *verb;                 /* its first word; NULL: none */
    const char *flag;                 /* an option that it always gets; NULL: none */
    const char *target;               /* a word made of the path's variables; NULL: none */
    const char *other;                /* one more, behind it; NULL: none */
    const char *options;              /* of the command, which the query gives, or the body */
    const char *fields; /* of the body, beside options; a ? behind what may be missing */
    const char *schema; /* of what is answered; NULL: text */
    void (*handle)(struct tr_web_job *job);
};

extern const struct tr_web_route tr_web_routes[];
extern const size_t tr_web_route_count;

/* An option of a route's command; NULL: it has none of this name. */
const struct tr_option *tr_web_route_option(const struct tr_web_route *route, struct tr_text name);

/* The next of the words that a blank parts, as in `options`; false: it was the last one. */
bool tr_web_next_word(const char **words, struct tr_text *word);

#endif
