/*
 * The http plugin (task type http): one request for each attempt, its answer as outputs.
 *
 *     http.c          the life of an attempt: asked, repeated where that is safe, classified
 *     http_request.c  its config, checked and made into a request
 *     http_outputs.c  what an answer gives: outputs by their names
 *
 * `config`, filled in by templates: url; method (GET); headers, a mapping; secrets, a mapping of
 * headers to GROUP/KEY[@VERSION]; authorization, {basic: GROUP/KEY} or {bearer: GROUP/KEY}; body,
 * text or a value that is sent as JSON; expect, a list of statuses (200 to 299); timeout_ms;
 * idempotency_key, a header that takes the name of the attempt; in_doubt, fail or repeat; ca_file,
 * insecure.
 */
#ifndef TR_PLUGINS_HTTP_HTTP_H
#define TR_PLUGINS_HTTP_HTTP_H

#include "plugins/sdk/plugin.h"
#include "schemas/runtime/http.h"

extern const struct tr_plugin tr_http_plugin;

/* The body of an answer, and what of one that was not expected is shown. */
#define TR_HTTP_TASK_BODY_BYTES_MAX (256U << 10)
#define TR_HTTP_TASK_SHOWN_BYTES 300

/* As the function of struct tr_plugin. */
TR_MUST_USE int tri_http_check(const struct tr_task_template *task, char *problem,
                               size_t problem_size);

/* A text of the task's config. */
struct tr_text tri_http_text(struct tr_task_context *task, const char *key, const char *otherwise);

/* The request. TR_INVALID: headers that are no texts; TR_LIMIT: too many, too large; TR_MEMORY. */
TR_MUST_USE int tri_http_request(struct tr_task_context *task, struct tr_http_request *request);

/* Whether it may be made twice: by its method; or by a key; or since the task says so. */
bool tri_http_is_idempotent(struct tr_task_context *task);
bool tri_http_is_repeatable(struct tr_task_context *task);
bool tri_http_may_repeat(struct tr_task_context *task);

/* Whether a status is one that the task wants. */
bool tri_http_expects(struct tr_task_context *task, uint32_t status);

bool tri_http_is_one_of(struct tr_text word, const char *const *words, size_t count);

/*
 * Gives the outputs that an answer holds: `status`, `headers` and `body` are what they say, all
 * others fields of a body that is a JSON object. TR_INVALID: `problem` says why not; TR_MEMORY.
 */
TR_MUST_USE int tri_http_outputs(struct tr_task_context *task,
                                 const struct tr_http_response *response, struct tr_text *problem);

#endif
