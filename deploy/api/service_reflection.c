/*
 * grpc.reflection.v1 and v1alpha, which are the same on the wire: what is served, for tools that
 * have no definitions of it. A stream may ask many things; what it asks is answered at once.
 */
#include <flyteidl/grpc_reflection.pb-c.h>

#include "actors/graph/flyte/flyte_message.h"
#include "deploy/api/definitions.h"
#include "deploy/api/services.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

typedef Grpc__Reflection__V1__ServerReflectionRequest reflection_request;
typedef Grpc__Reflection__V1__ServerReflectionResponse reflection_response;

/* Which of the fields of a oneof is set. */
#define ASKED(name) GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_##name
#define GIVEN(name) GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_##name

#define NEW(call, name) \
    tr_flyte_message_new(tr_api_call_arena(call), &grpc__reflection__v1__##name##__descriptor)

/* An answer that is none; the stream goes on. */
static void answer_error(struct tr_api_call *call, reflection_response *response,
                         enum tr_api_code code, const char *words, const char *name)
{
    Grpc__Reflection__V1__ErrorResponse *error = NEW(call, error_response);
    struct tr_text text = tr_arena_print(tr_api_call_arena(call), "%s%.200s", words, name);
    if (error != NULL && text.data != NULL) {
        error->error_code = (int32_t)code;
        error->error_message = (char *)(uintptr_t)text.data;
        response->message_response_case = GIVEN(ERROR_RESPONSE);
        response->error_response = error;
    }
}

static void answer_files(struct tr_api_call *call, reflection_response *response,
                         const struct tr_definitions *definitions,
                         const struct tr_definition *first, const char *name)
{
    struct tr_arena *arena = tr_api_call_arena(call);
    if (first == NULL) {
        answer_error(call, response, TR_API_NOT_FOUND, "nothing here is called ", name);
        return;
    }
    Grpc__Reflection__V1__FileDescriptorResponse *files = NEW(call, file_descriptor_response);
    const struct tr_definition **needed =
        tr_arena_alloc(arena, definitions->count * sizeof *needed);
    ProtobufCBinaryData *data = tr_arena_alloc(arena, definitions->count * sizeof *data);
    if (arena->error != 0) {
        return;
    }
    files->n_file_descriptor_proto = tr_definitions_needed(definitions, first, needed);
    files->file_descriptor_proto = data;
    for (size_t i = 0; i < files->n_file_descriptor_proto; i++) {
        data[i] = (ProtobufCBinaryData){.data = (uint8_t *)(uintptr_t)needed[i]->bytes.data,
                                        .len = needed[i]->bytes.size};
    }
    response->message_response_case = GIVEN(FILE_DESCRIPTOR_RESPONSE);
    response->file_descriptor_response = files;
}

/* Files of proto3 extend nothing. */
static void answer_extensions(struct tr_api_call *call, reflection_response *response,
                              const struct tr_definitions *definitions, char *type)
{
    if (!tr_definitions_has_message(definitions, tr_text_of(type))) {
        answer_error(call, response, TR_API_NOT_FOUND, "no message here is called ", type);
        return;
    }
    Grpc__Reflection__V1__ExtensionNumberResponse *numbers = NEW(call, extension_number_response);
    if (numbers != NULL) {
        numbers->base_type_name = type;
        response->message_response_case = GIVEN(ALL_EXTENSION_NUMBERS_RESPONSE);
        response->all_extension_numbers_response = numbers;
    }
}

/* Those with a service in it are the files that were made of the table. */
static void answer_services(struct tr_api_call *call, reflection_response *response,
                            const struct tr_definitions *definitions)
{
    struct tr_arena *arena = tr_api_call_arena(call);
    Grpc__Reflection__V1__ListServiceResponse *list = NEW(call, list_service_response);
    Grpc__Reflection__V1__ServiceResponse **services =
        tr_arena_alloc(arena, definitions->count * sizeof *services);
    for (size_t i = 0; arena->error == 0 && i < definitions->count; i++) {
        const Troupe__Descriptor__File *file = definitions->items[i].file;
        Grpc__Reflection__V1__ServiceResponse *service =
            file->n_service == 0 ? NULL : NEW(call, service_response);
        if (service != NULL) {
            service->name = (char *)(uintptr_t)tr_arena_print(arena, "%s.%s", file->package,
                                                              file->service[0]->name)
                                .data;
            services[list->n_service++] = service;
        }
    }
    if (arena->error == 0) {
        list->service = services;
        response->message_response_case = GIVEN(LIST_SERVICES_RESPONSE);
        response->list_services_response = list;
    }
}

static void answer(struct tr_api_call *call, reflection_response *response,
                   const struct tr_definitions *definitions, const reflection_request *asked)
{
    const struct tr_definition *found = NULL;
    switch (asked->message_request_case) {
    case ASKED(FILE_BY_FILENAME):
        found = tr_definitions_file(definitions, tr_text_of(asked->file_by_filename));
        answer_files(call, response, definitions, found, asked->file_by_filename);
        return;
    case ASKED(FILE_CONTAINING_SYMBOL):
        found = tr_definitions_declaring(definitions, tr_text_of(asked->file_containing_symbol));
        answer_files(call, response, definitions, found, asked->file_containing_symbol);
        return;
    case ASKED(FILE_CONTAINING_EXTENSION):
        answer_error(call, response, TR_API_NOT_FOUND, "nothing here extends ",
                     asked->file_containing_extension->containing_type);
        return;
    case ASKED(ALL_EXTENSION_NUMBERS_OF_TYPE):
        answer_extensions(call, response, definitions, asked->all_extension_numbers_of_type);
        return;
    case ASKED(LIST_SERVICES):
        answer_services(call, response, definitions);
        return;
    default:
        answer_error(call, response, TR_API_INVALID_ARGUMENT, "the request asks for nothing", "");
    }
}

/* Read once for each stream; NULL without memory. */
static const struct tr_definitions *definitions_of(struct tr_api_call *call)
{
    struct tr_definitions *definitions = tr_api_call_state(call);
    if (definitions != NULL) {
        return definitions;
    }
    size_t count;
    const struct tr_api_method *methods = tr_api_call_methods(call, &count);
    definitions = tr_alloc_zero(1, sizeof *definitions);
    if (definitions != NULL && tr_definitions_init(definitions, methods, count) != 0) {
        tr_definitions_fini(definitions);
        tr_free(definitions);
        definitions = NULL;
    }
    tr_api_call_state_set(call, definitions);
    return definitions;
}

void tr_api_reflect(struct tr_api_call *call, const void *request)
{
    reflection_request *asked = (reflection_request *)(uintptr_t)request;
    const struct tr_definitions *definitions = definitions_of(call);
    reflection_response *response = NEW(call, server_reflection_response);
    if (definitions != NULL && response != NULL) {
        response->valid_host = asked->host;
        response->original_request = asked;
        answer(call, response, definitions, asked);
    }
    if (definitions == NULL || tr_api_call_arena(call)->error != 0) {
        tr_api_fail(call, TR_API_UNAVAILABLE, "%s", tr_error_text(TR_MEMORY));
    } else {
        (void)!tr_api_send(call, &response->base);
    }
}

void tr_api_reflect_gone(struct tr_api_call *call)
{
    struct tr_definitions *definitions = tr_api_call_state(call);
    if (definitions != NULL) {
        tr_definitions_fini(definitions);
        tr_free(definitions);
    }
}
