/*
 * Paths and queries of REST, by the templates of the table of methods. Pure.
 */
#ifndef TR_DEPLOY_API_WIRE_REST_H
#define TR_DEPLOY_API_WIRE_REST_H

#include "actors/graph/document/arena.h"
#include "actors/graph/document/buffer.h"
#include "deploy/api_wire/api_limits.h"

/* A variable of a template and what stands in its place, still escaped. */
struct tr_rest_variable {
    struct tr_text field;
    struct tr_text value;
};

/*
 * The lines of a row's `rest`, one after the other: the method and the template of each. False: it
 * was the last one. `rest` moves on.
 */
bool tr_rest_next(const char **rest, struct tr_text *method, struct tr_text *path);

/* Whether a path is of a template such as /tasks/{id.project}, and what its variables are. */
bool tr_rest_match(struct tr_text template, struct tr_text path,
                   struct tr_rest_variable variables[TR_API_VARIABLES_MAX], size_t *count);

/* The next NAME=VALUE of a query, still escaped. False: there is none. */
bool tr_rest_parameter(struct tr_text *query, struct tr_text *name, struct tr_text *value);

/*
 * Text without its escapes, in an arena; + is a blank in a query. False: an escape is none, or
 * stands for a zero byte, or what comes out is no UTF-8, or, if the arena has an error, there is no
 * memory.
 */
bool tr_rest_unescape(struct tr_arena *arena, struct tr_text text, bool is_query,
                      struct tr_text *plain);

/*
 * Appends a text as a path or a query may hold it: letters, digits and -._~ as they are, and those
 * in `others`, and all else escaped. Errors stay in the buffer.
 */
void tr_rest_escape(struct tr_text text, const char *others, struct tr_buffer *escaped);

/*
 * Appends the path that has these values in the place of a template's variables, which they are
 * all: what tr_rest_match takes apart. They are escaped here. Errors stay in the buffer.
 */
void tr_rest_fill(struct tr_text template, const struct tr_rest_variable *variables, size_t count,
                  struct tr_buffer *path);

#endif
