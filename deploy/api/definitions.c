/*
 * There are a few dozen files, so each question walks through all of them.
 */
#include "deploy/api/definitions.h"

#include <string.h>

#include "actors/graph/flyte/flyte_message.h"
#include "deploy/api/methods.h"
#include "deploy/api_wire/api_limits.h"
#include "schemas/codec/error.h"

#define SYNTAX "proto3"
#define FILE_SUFFIX ".proto"

/* ------------------------------------------------------------------ names */

/* Cuts NAME, or NAME and the dot before more, off the front; false: something else is there. */
static bool cut_name(struct tr_text *symbol, const char *name)
{
    size_t size = strlen(name);
    bool is_there =
        size > 0 && symbol->size >= size && memcmp(symbol->data, name, size) == 0 &&
        (symbol->size == size || (symbol->data[size] == '.' && symbol->size > size + 1));
    if (is_there) {
        size_t cut = size + (symbol->size > size ? 1 : 0);
        symbol->data += cut;
        symbol->size -= cut;
    }
    return is_there;
}

static bool is_enum(Troupe__Descriptor__Enum *const *enums, size_t count, struct tr_text symbol)
{
    for (size_t i = 0; i < count; i++) {
        if (tr_text_equal(tr_text_of(enums[i]->name), symbol)) {
            return true;
        }
    }
    return false;
}

/* Whether a name is one of some messages or in one; `may_be_enum`: or of an enum in one. */
static bool is_message(Troupe__Descriptor__Message *const *messages, size_t count,
                       struct tr_text symbol, bool may_be_enum)
{
    for (size_t i = 0; i < count; i++) {
        const Troupe__Descriptor__Message *message = messages[i];
        struct tr_text rest = symbol;
        if (cut_name(&rest, message->name)) {
            return rest.size == 0 ||
                   is_message(message->nested_type, message->n_nested_type, rest, may_be_enum) ||
                   (may_be_enum && is_enum(message->enum_type, message->n_enum_type, rest));
        }
    }
    return false;
}

static bool is_service(const Troupe__Descriptor__File *file, struct tr_text symbol)
{
    for (size_t i = 0; i < file->n_service; i++) {
        const Troupe__Descriptor__Service *service = file->service[i];
        struct tr_text rest = symbol;
        bool is_one = cut_name(&rest, service->name);
        for (size_t j = 0; is_one && rest.size > 0 && j < service->n_method; j++) {
            if (tr_text_equal(tr_text_of(service->method[j]->name), rest)) {
                return true;
            }
        }
        if (is_one && rest.size == 0) {
            return true;
        }
    }
    return false;
}

static bool declares_message(const Troupe__Descriptor__File *file, struct tr_text symbol)
{
    return cut_name(&symbol, file->package) &&
           is_message(file->message_type, file->n_message_type, symbol, false);
}

static bool declares(const Troupe__Descriptor__File *file, struct tr_text symbol)
{
    return cut_name(&symbol, file->package) &&
           (is_message(file->message_type, file->n_message_type, symbol, true) ||
            is_enum(file->enum_type, file->n_enum_type, symbol) || is_service(file, symbol));
}

const struct tr_definition *tr_definitions_file(const struct tr_definitions *definitions,
                                                struct tr_text name)
{
    for (size_t i = 0; i < definitions->count; i++) {
        if (tr_text_equal(tr_text_of(definitions->items[i].file->name), name)) {
            return &definitions->items[i];
        }
    }
    return NULL;
}

const struct tr_definition *tr_definitions_declaring(const struct tr_definitions *definitions,
                                                     struct tr_text symbol)
{
    for (size_t i = 0; i < definitions->count; i++) {
        if (declares(definitions->items[i].file, symbol)) {
            return &definitions->items[i];
        }
    }
    return NULL;
}

bool tr_definitions_has_message(const struct tr_definitions *definitions, struct tr_text symbol)
{
    for (size_t i = 0; i < definitions->count; i++) {
        if (declares_message(definitions->items[i].file, symbol)) {
            return true;
        }
    }
    return false;
}

/* ------------------------------------------------------------------ what is needed */

static bool has(const struct tr_definition *const *needed, size_t count,
                const struct tr_definition *one)
{
    for (size_t i = 0; i < count; i++) {
        if (needed[i] == one) {
            return true;
        }
    }
    return false;
}

size_t tr_definitions_needed(const struct tr_definitions *definitions,
                             const struct tr_definition *first, const struct tr_definition **needed)
{
    size_t count = 0;
    needed[count++] = first;
    for (size_t i = 0; i < count; i++) {
        const Troupe__Descriptor__File *file = needed[i]->file;
        for (size_t j = 0; j < file->n_dependency; j++) {
            const struct tr_definition *other =
                tr_definitions_file(definitions, tr_text_of(file->dependency[j]));
            if (other != NULL && !has(needed, count, other)) {
                needed[count++] = other;
            }
        }
    }
    return count;
}

/* ------------------------------------------------------------------ services */

static char *print(struct tr_arena *arena, const char *front, const char *name, const char *behind)
{
    return (char *)(uintptr_t)tr_arena_print(arena, "%s%s%s", front, name, behind).data;
}

/* The files that declare what a method takes and gives become those that its service needs. */
static void need(const struct tr_definitions *definitions, Troupe__Descriptor__File *file,
                 const ProtobufCMessageDescriptor *message)
{
    const struct tr_definition *other =
        tr_definitions_declaring(definitions, tr_text_of(message->name));
    if (other == NULL) {
        return;
    }
    for (size_t i = 0; i < file->n_dependency; i++) {
        if (strcmp(file->dependency[i], other->file->name) == 0) {
            return;
        }
    }
    file->dependency[file->n_dependency++] = other->file->name;
}

static Troupe__Descriptor__Method *new_method(struct tr_arena *arena,
                                              const struct tr_api_method *row)
{
    Troupe__Descriptor__Method *method =
        tr_flyte_message_new(arena, &troupe__descriptor__method__descriptor);
    if (method != NULL) {
        method->name = print(arena, row->name, "", "");
        method->input_type = print(arena, ".", row->request->name, "");
        method->output_type = print(arena, ".", row->response->name, "");
        method->client_streaming = row->is_dialogue;
        method->server_streaming = row->is_stream;
    }
    return method;
}

/* The file of a service: PACKAGE.NAME.proto, with all of the table's rows that are of it. */
static Troupe__Descriptor__File *new_file(struct tr_definitions *definitions,
                                          const struct tr_api_method *methods, size_t method_count,
                                          const char *name)
{
    struct tr_arena *arena = &definitions->arena;
    const char *dot = strrchr(name, '.');
    Troupe__Descriptor__File *file =
        tr_flyte_message_new(arena, &troupe__descriptor__file__descriptor);
    Troupe__Descriptor__Service *service =
        tr_flyte_message_new(arena, &troupe__descriptor__service__descriptor);
    void *room = tr_arena_alloc(arena, sizeof *file->service);
    void *methods_room = tr_arena_alloc(arena, method_count * sizeof *service->method);
    void *names_room = tr_arena_alloc(arena, 2 * method_count * sizeof *file->dependency);
    if (arena->error != 0 || dot == NULL) {
        return NULL;
    }
    file->name = print(arena, name, FILE_SUFFIX, "");
    file->package = (char *)(uintptr_t)tr_arena_print(arena, "%.*s", (int)(dot - name), name).data;
    file->syntax = print(arena, SYNTAX, "", "");
    file->service = room;
    file->dependency = names_room;
    file->service[file->n_service++] = service;
    service->name = print(arena, dot + 1, "", "");
    service->method = methods_room;
    for (size_t i = 0; i < method_count; i++) {
        if (strcmp(methods[i].service, name) == 0) {
            service->method[service->n_method++] = new_method(arena, &methods[i]);
            need(definitions, file, methods[i].request);
            need(definitions, file, methods[i].response);
        }
    }
    return arena->error == 0 ? file : NULL;
}

static void add_service(struct tr_definitions *definitions, const struct tr_api_method *methods,
                        size_t method_count, const char *name)
{
    struct tr_buffer bytes;
    const Troupe__Descriptor__File *file = new_file(definitions, methods, method_count, name);
    if (file == NULL) {
        return;
    }
    tr_buffer_init(&bytes, 0);
    tr_flyte_message_pack(&file->base, &bytes);
    struct tr_text copy = tr_arena_text(&definitions->arena, tr_buffer_text(&bytes));
    if (bytes.error == 0 && definitions->arena.error == 0) {
        definitions->items[definitions->count++] = (struct tr_definition){
            .file = file, .bytes = {.data = (const uint8_t *)copy.data, .size = bytes.size}};
    }
    tr_buffer_fini(&bytes);
}

/* ------------------------------------------------------------------ all of them */

static void read_files(struct tr_definitions *definitions, const Troupe__Descriptor__Files *files)
{
    for (size_t i = 0; i < files->n_file; i++) {
        struct tr_bytes bytes = {.data = files->file[i].data, .size = files->file[i].len};
        const Troupe__Descriptor__File *file =
            tr_flyte_message_unpack(&definitions->arena, &troupe__descriptor__file__descriptor,
                                    bytes, TR_API_MESSAGE_BYTES_MAX);
        TR_ASSERT(file != NULL || definitions->arena.error != 0);
        if (file != NULL) {
            definitions->items[definitions->count++] =
                (struct tr_definition){.file = file, .bytes = bytes};
        }
    }
}

int tr_definitions_init(struct tr_definitions *definitions, const struct tr_api_method *methods,
                        size_t method_count)
{
    struct tr_bytes all = {.data = tri_flyteidl_definitions, .size = tri_flyteidl_definitions_size};
    *definitions = (struct tr_definitions){.count = 0};
    tr_arena_init(&definitions->arena);
    const Troupe__Descriptor__Files *files = tr_flyte_message_unpack(
        &definitions->arena, &troupe__descriptor__files__descriptor, all, TR_API_MESSAGE_BYTES_MAX);
    TR_ASSERT(files != NULL || definitions->arena.error != 0);
    if (files != NULL) {
        definitions->items = tr_arena_alloc(&definitions->arena, (files->n_file + method_count) *
                                                                     sizeof *definitions->items);
    }
    if (definitions->items != NULL) {
        read_files(definitions, files);
    }
    for (size_t i = 0; definitions->arena.error == 0 && i < method_count; i++) {
        if (!tr_api_has_service(methods, i, tr_text_of(methods[i].service))) {
            add_service(definitions, methods, method_count, methods[i].service);
        }
    }
    return definitions->arena.error;
}

void tr_definitions_fini(struct tr_definitions *definitions)
{
    tr_arena_fini(&definitions->arena);
}
