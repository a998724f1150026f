/*
 * Writing why something failed: the chain of causes, from the execution down to the attempt, and
 * the clean-up that failed besides.
 */
#include "deploy/common/failure.h"
#include "deploy/common/show.h"
#include "deploy/follow/handlers.h"
#include "deploy/look/explain.h"
#include "deploy/recovery/causes.h"
#include "schemas/codec/error.h"

/* Clean-up nodes that failed which are shown without -v. */
#define HANDLERS_SHOWN 5

/* One explanation on its way. */
struct telling {
    const struct tr_explain_request *request;
    struct tr_document *document; /* NULL: as text */
    uint32_t handlers;            /* clean-up nodes that failed */
};

static void write_cause(struct tr_document *document, const struct tr_cause *cause)
{
    tr_document_begin_map(document, NULL);
    tr_document_text(document, "node", cause->path);
    tr_document_element(document, "element", cause->element);
    if (cause->is_attempt) {
        tr_document_number(document, "attempt", cause->attempt.attempt);
    } else {
        tr_document_null(document, "attempt");
    }
    tr_document_text(document, "phase", cause->phase);
    tr_document_text(document, "code", cause->code);
    tr_document_text(document, "message", cause->message);
    tr_document_text(document, "folder", cause->attempt.folder);
    tr_attempt_end_write(document, &cause->attempt);
    tr_document_end(document);
}

/* One link. What it says itself is left out where the link before has said the same. */
static void print_cause(FILE *stream, const struct tr_cause *cause, const struct tr_cause *before,
                        const char *lead)
{
    struct tr_buffer line;
    bool is_said = before != NULL && tr_text_equal(cause->message, before->message);
    tr_buffer_init(&line, 0);
    if (cause->path.size > 0) {
        tr_buffer_print(&line, "%s%.*s", lead, (int)cause->path.size, cause->path.data);
    }
    if (cause->element != TR_ELEMENT_NONE) {
        tr_buffer_print(&line, "[%llu]", (unsigned long long)cause->element);
    }
    if (cause->is_attempt) {
        tr_buffer_print(&line, "@%u", cause->attempt.attempt);
    }
    tr_buffer_print(&line, "%s%.*s", line.size > 0 ? " " : "it ", (int)cause->phase.size,
                    cause->phase.data);
    if (!is_said && cause->code.size + cause->message.size > 0) {
        tr_buffer_add_string(&line, ": ");
        tr_failure_lines(cause->code, cause->message, 4, &line);
    }
    fprintf(stream, "  %.*s\n", (int)line.size, (const char *)line.data);
    tr_buffer_fini(&line);
    if (cause->is_attempt) {
        tr_attempt_print(&cause->attempt, 4, stream);
    }
}

/* The chain of causes of a target, or of the execution; its first line begins with `lead`. */
static int show_chain(struct telling *telling, const struct tr_target *target, const char *lead)
{
    struct tr_causes causes;
    const struct tr_explain_request *request = telling->request;
    int error = tr_causes_read(request->reader, request->execution, target, &causes);
    if (error != 0) {
        return error;
    }
    struct tr_text succeeded = tr_text_of(tr_node_phase_word(TR_NODE_PHASE_SUCCEEDED));
    bool is_success = causes.count > 0 && tr_text_equal(causes.items[0].phase, succeeded);
    for (uint32_t i = 0; i < causes.count; i++) {
        if (telling->document != NULL) {
            write_cause(telling->document, &causes.items[i]);
        } else {
            print_cause(request->stream, &causes.items[i], i == 0 ? NULL : &causes.items[i - 1],
                        i == 0       ? lead
                        : is_success ? "after "
                                     : "because ");
        }
    }
    tr_causes_fini(&causes);
    return 0;
}

/* A clean-up node that failed, with its own causes. */
static int show_handler(void *self, const struct tr_node_status *row)
{
    struct telling *telling = self;
    bool is_shown = telling->request->is_verbose || telling->handlers < HANDLERS_SHOWN;
    struct tr_target target = {.path = row->path, .element = TR_ELEMENT_NONE};
    telling->handlers++;
    return is_shown || telling->document != NULL ? show_chain(telling, &target, "and ") : 0;
}

int tri_explain_causes(const struct tr_explain_request *request, struct tr_document *document)
{
    struct telling telling = {.request = request, .document = document};
    int error = show_chain(&telling, request->target, "");
    if (error != 0 || request->target->path.size > 0) {
        return error;
    }
    error = tr_handlers_failed(request->reader, request->folder, request->execution, show_handler,
                               &telling);
    bool has_more = !request->is_verbose && telling.handlers > HANDLERS_SHOWN;
    if (error == 0 && has_more && document == NULL) {
        fprintf(request->stream, "  and %u more of on_failure and finally failed; -v shows all\n",
                telling.handlers - HANDLERS_SHOWN);
    }
    return error;
}
