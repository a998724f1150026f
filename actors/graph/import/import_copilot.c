/*
 * Raw containers with folders of data. On a cluster a co-pilot beside the container writes a file
 * for each input and reads one for each output. Here the container's words are run by a command of
 * this program that does so (deploy/copilot/README.md); /proc/self/exe is that program in any
 * process that is about to be one of its tasks.
 */
#include <string.h>

#include "actors/graph/import/import_inside.h"

/* A type as the language writes it; "" where it is none, which is told of the variable. */
static struct tr_text type_text(struct tri_import *import, const flyte_type *type)
{
    const struct tr_type *read = type == NULL ? NULL : tri_flyte_type_read(&import->types, type);
    struct tr_buffer buffer;
    tr_buffer_init(&buffer, 0);
    if (read != NULL) {
        tr_type_write(read, &buffer);
    }
    struct tr_text text = tr_arena_text(import->arena, tr_buffer_text(&buffer));
    import->arena->error = import->arena->error != 0 ? import->arena->error : buffer.error;
    tr_buffer_fini(&buffer);
    return text;
}

/*
 * NAME=TYPE,... of some variables, types as the language writes them. Of inputs those whose text is
 * not their file: the command sees values, and no types.
 */
static struct tr_text types_of(struct tri_import *import,
                               const Flyteidl__Core__VariableMap *variables, bool are_inputs)
{
    static const char *const files[] = {"file", "directory", "duration", "[", "{"};
    struct tr_buffer list;
    tr_buffer_init(&list, 0);
    for (size_t i = 0; variables != NULL && i < variables->n_variables; i++) {
        const Flyteidl__Core__VariableMap__VariablesEntry *entry = variables->variables[i];
        struct tr_text type = type_text(import, entry->value == NULL ? NULL : entry->value->type);
        bool is_said = type.size > 0 && !are_inputs;
        for (size_t k = 0; k < TR_COUNT_OF(files); k++) {
            size_t size = strlen(files[k]);
            is_said = is_said || (type.size >= size && memcmp(type.data, files[k], size) == 0);
        }
        if (is_said) {
            tr_buffer_print(&list, "%s%s=%.*s", list.size > 0 ? "," : "", entry->key,
                            TRI_TEXT(type));
        }
    }
    struct tr_text text = tr_arena_text(import->arena, tr_buffer_text(&list));
    import->arena->error = import->arena->error != 0 ? import->arena->error : list.error;
    tr_buffer_fini(&list);
    return text;
}

uint32_t tri_import_copilot(struct tri_import *import, const flyte_task *task,
                            struct tr_text *words)
{
    static const char *const formats[] = {
        [FLYTEIDL__CORE__DATA_LOADING_CONFIG__LITERAL_MAP_FORMAT__JSON] = "json",
        [FLYTEIDL__CORE__DATA_LOADING_CONFIG__LITERAL_MAP_FORMAT__YAML] = "yaml",
        [FLYTEIDL__CORE__DATA_LOADING_CONFIG__LITERAL_MAP_FORMAT__PROTO] = "proto"};
    const Flyteidl__Core__DataLoadingConfig *config = task->container->data_config;
    const Flyteidl__Core__TypedInterface *interface = task->interface;
    size_t format = (size_t)config->format < TR_COUNT_OF(formats) ? (size_t)config->format : 0;
    const struct {
        const char *option;
        struct tr_text value;
    } options[] = {
        {"--format", tr_text_of(formats[format])},
        {"--document", tr_text_of("{{.input}}")},
        {"--inputs", tr_text_of(config->input_path)},
        {"--outputs", tr_text_of(config->output_path)},
        {"--input-types", types_of(import, interface == NULL ? NULL : interface->inputs, true)},
        {"--output-types", types_of(import, interface == NULL ? NULL : interface->outputs, false)},
    };
    uint32_t count = 0;
    words[count++] = tr_text_of("/proc/self/exe");
    words[count++] = tr_text_of("copilot");
    for (size_t i = 0; i < TR_COUNT_OF(options); i++) {
        if (options[i].value.size > 0) {
            words[count++] = tr_text_of(options[i].option);
            words[count++] = options[i].value;
        }
    }
    words[count++] = tr_text_of("--");
    return count;
}
