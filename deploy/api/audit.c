/*
 * What a request is about stands where its project and domain do, or at a few other places.
 */
#include "deploy/api/audit.h"

#include <string.h>

#include "actors/graph/flyte/flyte_message.h"
#include "deploy/api/call_inside.h"
#include "deploy/common/clock.h"

/* The most of a subject: what a client writes into a request may be long. */
#define SUBJECT_BYTES_MAX 512

/* Adds a text of the request, behind what is there. */
static void add(struct tr_buffer *subject, const ProtobufCMessage *request, struct tr_text inside,
                const char *name)
{
    const char *text = tr_flyte_message_text(request, inside, name);
    if (text != NULL && text[0] != '\0' && subject->size < SUBJECT_BYTES_MAX) {
        tr_buffer_print(subject, "%s%.*s", subject->size > 0 ? " " : "", SUBJECT_BYTES_MAX, text);
    }
}

/* What the request names, beside its project and domain. */
static struct tr_text subject_of(const struct tr_api_change *change, struct tr_arena *arena)
{
    static const char *const names[] = {"name", "version", "workflow", "filename"};
    const char *path = change->method->place;
    size_t size = path == NULL ? 0 : strlen(path);
    struct tr_text inside = {.data = path,
                             .size = size > 0 && path[size - 1] == '.' ? size - 1 : 0};
    struct tr_buffer subject;
    tr_buffer_init(&subject, 0);
    add(&subject, change->request, tr_text_of("id"), "signal_id");
    for (size_t i = 0; i < TR_COUNT_OF(names); i++) {
        add(&subject, change->request, inside, names[i]);
    }
    struct tr_text text = tr_arena_text(arena, tr_buffer_text(&subject));
    arena->error = arena->error != 0 ? arena->error : subject.error;
    tr_buffer_fini(&subject);
    return text;
}

void tr_api_audit_row(const struct tr_api_change *change, struct tr_text subject,
                      struct tr_arena *arena, struct tr_audit *row)
{
    struct tr_api_place place = tri_call_place(change->method, change->request, arena);
    *row = (struct tr_audit){
        .at_ms = tr_clock_wall_ms(),
        .number = change->number,
        .who = tr_text_of(change->who),
        .call = tr_text_of(change->method->name),
        .project = tr_text_of(place.project == NULL ? "" : place.project),
        .domain = tr_text_of(place.domain == NULL ? "" : place.domain),
        .subject = subject.size > 0 ? subject : subject_of(change, arena),
        .outcome = tr_text_of(""),
    };
}
