/*
 * Our definitions of Flyte's messages, for a test that holds them against Flyte's own library: each
 * line of stdin is a message's name and its bytes in hexadecimal digits, and each line of stdout
 * the bytes that our library makes of it, or `none` where it takes them for no such message.
 *
 * With `json` as its word it prints their JSON instead; with `read` what stands in the lines is
 * JSON and not bytes, and where that is no such message it prints `none` and why. With `hash` each
 * line is a LiteralMap without a name, and becomes its two hashes (tr_flyte_hash). With `names` it
 * prints the names of all messages that it knows, and reads nothing.
 */
#include <flyteidl/admin_event.pb-c.h>
#include <flyteidl/admin_notification.pb-c.h>
#include <flyteidl/admin_workflow.pb-c.h>
#include <flyteidl/artifact_id.pb-c.h>
#include <flyteidl/compiler.pb-c.h>
#include <flyteidl/dynamic_job.pb-c.h>
#include <flyteidl/errors.pb-c.h>
#include <flyteidl/workflow_closure.pb-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/graph/flyte/flyte.h"
#include "actors/graph/flyte/flyte_inside.h"
#include "actors/graph/flyte/flyte_message.h"
#include "deploy/api/methods.h"

#define MEMORY_MAX (64U << 20)

/* What is part of no call's request or answer, but of packages and errors; all others are. */
static const ProtobufCMessageDescriptor *const roots[] = {
    &flyteidl__admin__create_workflow_failure_reason__descriptor,
    &flyteidl__admin__email_message__descriptor,
    &flyteidl__admin__event_failure_reason__descriptor,
    &flyteidl__core__artifact_query__descriptor,
    &flyteidl__core__compiled_workflow_closure__descriptor,
    &flyteidl__core__dynamic_job_spec__descriptor,
    &flyteidl__core__error_document__descriptor,
    &flyteidl__core__workflow_closure__descriptor,
};

static const ProtobufCMessageDescriptor *known[1000];
static size_t known_count;

static const ProtobufCMessageDescriptor *find(const char *name)
{
    for (size_t i = 0; i < known_count; i++) {
        if (strcmp(known[i]->name, name) == 0) {
            return known[i];
        }
    }
    return NULL;
}

/* A message, and all that are parts of it. */
static void know(const ProtobufCMessageDescriptor *descriptor)
{
    if (find(descriptor->name) != NULL || known_count == TR_COUNT_OF(known)) {
        return;
    }
    known[known_count++] = descriptor;
    for (unsigned i = 0; i < descriptor->n_fields; i++) {
        if (descriptor->fields[i].type == PROTOBUF_C_TYPE_MESSAGE) {
            know(descriptor->fields[i].descriptor);
        }
    }
}

static void know_all(void)
{
    for (size_t i = 0; i < TR_COUNT_OF(roots); i++) {
        know(roots[i]);
    }
    for (size_t i = 0; i < tr_api_method_count; i++) {
        know(tr_api_methods[i].request);
        know(tr_api_methods[i].response);
    }
}

/* But for entries of maps, which are no messages by themselves. */
static void print_names(void)
{
    for (size_t i = 0; i < known_count; i++) {
        if (strncmp(known[i]->name, "flyteidl.", 9) == 0 && !tri_flyte_is_entry(known[i])) {
            printf("%s\n", known[i]->name);
        }
    }
}

static size_t read_digits(const char *digits, uint8_t *bytes)
{
    size_t size = 0;
    unsigned byte;
    while (sscanf(digits + 2 * size, "%2x", &byte) == 1) {
        bytes[size++] = (uint8_t)byte;
    }
    return size;
}

static void print_again(const ProtobufCMessageDescriptor *descriptor, const uint8_t *bytes,
                        size_t size)
{
    ProtobufCMessage *message = protobuf_c_message_unpack(descriptor, NULL, size, bytes);
    if (message == NULL) {
        printf("none\n");
        return;
    }
    uint8_t *packed = malloc(protobuf_c_message_get_packed_size(message) + 1);
    size_t packed_size = packed == NULL ? 0 : protobuf_c_message_pack(message, packed);
    for (size_t i = 0; i < packed_size; i++) {
        printf("%02x", packed[i]);
    }
    printf("\n");
    free(packed);
    protobuf_c_message_free_unpacked(message, NULL);
}

static void print_digits(const struct tr_buffer *bytes)
{
    for (size_t i = 0; i < bytes->size; i++) {
        printf("%02x", bytes->data[i]);
    }
    printf("\n");
}

/* On one line, as no text has an end of line that is not escaped. */
static void print_json(struct tr_arena *arena, const ProtobufCMessageDescriptor *descriptor,
                       const uint8_t *bytes, size_t size)
{
    struct tr_buffer json;
    const ProtobufCMessage *message = tr_flyte_message_unpack(
        arena, descriptor, (struct tr_bytes){.data = bytes, .size = size}, MEMORY_MAX);
    tr_buffer_init(&json, 0);
    if (message != NULL) {
        tr_flyte_message_write_json(message, &json);
    }
    for (size_t i = 0; i < json.size; i++) {
        putchar(json.data[i] == '\n' ? ' ' : json.data[i]);
    }
    printf(message == NULL || json.error != 0 ? "none\n" : "\n");
    tr_buffer_fini(&json);
}

static void read_json(struct tr_arena *arena, const ProtobufCMessageDescriptor *descriptor,
                      const char *json, size_t size)
{
    char problem[TR_FLYTE_PROBLEM_BYTES];
    struct tr_buffer bytes;
    ProtobufCMessage *message = tr_flyte_message_new(arena, descriptor);
    int error = tr_flyte_message_read_json(
        arena, message, (struct tr_text){.data = json, .size = size}, MEMORY_MAX, problem);
    if (error != 0) {
        printf("none %s\n", problem);
        return;
    }
    tr_buffer_init(&bytes, 0);
    tr_flyte_message_pack(message, &bytes);
    print_digits(&bytes);
    tr_buffer_fini(&bytes);
}

/* What a line says of a message of this kind. */
static void print_line(const char *mode, const ProtobufCMessageDescriptor *descriptor,
                       const char *text, size_t size)
{
    struct tr_arena arena;
    uint8_t *bytes = malloc(size + 1);
    tr_arena_init(&arena);
    if (mode[0] == 'r') {
        read_json(&arena, descriptor, text, size);
    } else if (bytes != NULL && mode[0] == 'j') {
        print_json(&arena, descriptor, bytes, read_digits(text, bytes));
    } else if (bytes != NULL) {
        print_again(descriptor, bytes, read_digits(text, bytes));
    }
    tr_arena_fini(&arena);
    free(bytes);
}

/* Of a map of literals propeller's hash and flytekit's. */
static int print_hashes(const char *text, size_t size)
{
    uint8_t *bytes = malloc(size + 1);
    int error = bytes == NULL ? -1 : 0;
    for (int form = TR_FLYTE_HASH_OF_PROPELLER; error == 0 && form <= TR_FLYTE_HASH_OF_FLYTEKIT;
         form++) {
        uint8_t hash[TR_FLYTE_HASH_BYTES];
        const struct tr_bytes document = {.data = bytes, .size = read_digits(text, bytes)};
        error = tr_flyte_hash(document, (enum tr_flyte_hash_form)form, hash);
        for (size_t i = 0; error == 0 && i < sizeof hash; i++) {
            printf("%02x", hash[i]);
        }
        printf(form == TR_FLYTE_HASH_OF_FLYTEKIT ? "\n" : " ");
    }
    free(bytes);
    return error;
}

int main(int argc, char **argv)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    know_all();
    if (argc > 1 && strcmp(argv[1], "names") == 0) {
        print_names();
        return 0;
    }
    while ((length = getline(&line, &room, stdin)) > 0) {
        char name[128];
        int begin = 0;
        if (argc > 1 && strcmp(argv[1], "hash") == 0) {
            if (print_hashes(line, (size_t)length) != 0) {
                return 1;
            }
            continue;
        }
        if (sscanf(line, "%127s %n", name, &begin) != 1 || find(name) == NULL) {
            fprintf(stderr, "there is no message %s\n", name);
            return 1;
        }
        print_line(argc > 1 ? argv[1] : "", find(name), line + begin, (size_t)(length - begin));
    }
    free(line);
    return 0;
}
