/*
 * Binding outside of actors: blobs are mapped, not read, so that a look into one of a gibibyte
 * touches little of it. What is wrong with the values is the node's failure, in values_given; what
 * is wrong with the disk is an error.
 */
#include "deploy/inputs/bind_values.h"

#include <stdio.h>

#include "actors/values/bind_plan.h"
#include "deploy/common/file.h"
#include "deploy/inputs/offload.h"
#include "schemas/runtime/files.h"
#include "schemas/runtime/inquiry.h"

_Static_assert(TR_EXCHANGE_EXPLAIN_BYTES >= TR_OFFLOAD_EXPLAIN_BYTES, "words fit");
_Static_assert(TR_EXCHANGE_EXPLAIN_BYTES >= TR_BIND_MESSAGE_BYTES, "words fit");

/* Where blobs are, and where words go. */
struct place {
    const char *folder;
    const struct tr_turn *turn;
    char *words;
};

static int open_blob(void *self, const struct tr_offloaded *where, struct tr_bytes *literal)
{
    const struct place *place = self;
    return tr_offloaded_map(place->folder, where, place->turn, literal, place->words);
}

static void close_blob(void *self, struct tr_bytes literal)
{
    (void)self;
    tr_file_unmap(literal);
}

/* What no message could bring is refused, for conditions are asked where the branch is. */
static const char *keep_condition(const struct tr_buffer *slots, char *words)
{
    if (slots->size <= TR_CONDITION_VALUES_BYTES_MAX) {
        return "";
    }
    snprintf(words, TR_EXCHANGE_EXPLAIN_BYTES,
             "the conditions compare values of %zu bytes together, more than "
             "TR_CONDITION_VALUES_BYTES_MAX (%u); compare a part of them",
             slots->size, TR_CONDITION_VALUES_BYTES_MAX);
    return TR_CODE_INLINE;
}

/* Binds as the plan says. `code` is empty, or the failure's, with `words`. */
static int bind(const struct tr_inquiry *inquiry, struct tr_bytes plan, struct tr_buffer *slots,
                const char **code, char *words)
{
    struct place place = {.folder = inquiry->store_folder, .turn = inquiry->turn, .words = words};
    const struct tr_bind_reader reader = {.open = open_blob, .close = close_blob, .self = &place};
    struct tr_bind_problem problem;
    bool is_condition = false;
    int error = tr_bind_carry_out(plan, &reader, slots, &is_condition, &problem);
    if (problem.words[0] != '\0') {
        snprintf(words, TR_EXCHANGE_EXPLAIN_BYTES, "%s", problem.words);
    }
    if (error == TR_INVALID) {
        *code = problem.code;
        return 0;
    }
    if (error == TR_LIMIT) {
        snprintf(words, TR_EXCHANGE_EXPLAIN_BYTES,
                 "the values together are larger than TR_VALUES_BYTES_MAX (%llu bytes)",
                 TR_VALUES_BYTES_MAX);
        *code = "InputSizeExceeded";
        return 0;
    }
    if (error == 0 && is_condition) {
        *code = keep_condition(slots, words);
        return 0;
    }
    if (error == 0) {
        error = tr_offload_slots(inquiry->store_folder, slots, words);
    }
    *code = error == TR_LIMIT ? "InputSizeExceeded" : "";
    return error == TR_LIMIT ? 0 : error;
}

int tr_bind_values(const struct tr_inquiry *inquiry, char *explain)
{
    struct tr_values_bind question;
    struct tr_buffer slots;
    const char *code = "";
    if (tr_values_bind_unpack(inquiry->body, inquiry->version, &question) != 0) {
        return TR_MALFORMED;
    }
    explain[0] = '\0';
    tr_buffer_init(&slots, TR_VALUES_BYTES_MAX);
    int error = bind(inquiry, question.plan, &slots, &code, explain);
    if (error == 0) {
        if (code[0] != '\0') {
            tr_buffer_cut(&slots, 0);
        }
        const struct tr_values_given given = {.slots = tr_buffer_bytes(&slots),
                                              .code = tr_text_of(code),
                                              .message = tr_text_of(explain)};
        error = tr_inquiry_answer(inquiry, &tr_values_given_schema, &given);
    }
    tr_buffer_fini(&slots);
    return error;
}
