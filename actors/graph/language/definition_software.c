/*
 * What a task's command runs in: `venv`, `conda` and `container`. At most one of them is given; a
 * node's stands in the place of its task's, whichever that is.
 */
#include "actors/graph/document/limits.h"
#include "actors/graph/language/keys.h"
#include "actors/graph/value/template.h"

/* Notes which one is given; false where another one was before. */
static bool begin(struct tri_definition *definition, const struct tr_tree *value,
                  struct tri_settings *settings, uint8_t kind)
{
    uint8_t before = settings->settings.software.kind;
    settings->given |= TRI_SOFTWARE;
    if (before != TR_SOFTWARE_NONE) {
        tri_report_add(definition->report, value->place, "InvalidValue",
                       "a command runs in one environment, and %s is given, too\n"
                       "remove one of them",
                       tr_software_key(before));
        return false;
    }
    settings->settings.software.kind = kind;
    return true;
}

static bool read_requirement(struct tri_definition *definition, const struct tr_tree *tree,
                             struct tr_text *line)
{
    if (!tri_keys_read_text(definition, tree, line)) {
        return false;
    }
    if (memchr(line->data, '\n', line->size) != NULL) {
        tri_report_add(definition->report, tree->place, "InvalidValue",
                       "a requirement is one line\nwrite the others as items of their own");
        return false;
    }
    return true;
}

/* The name of a file, or the lines that would stand in it. */
static void read_requirements(struct tri_definition *definition, const struct tr_tree *value,
                              void *target)
{
    struct tr_software *software = target;
    if (value->kind != TR_TREE_LIST) {
        (void)tri_keys_read_text(definition, value, &software->file);
        return;
    }
    if (value->count > TR_REQUIREMENTS_MAX) {
        tri_report_add(definition->report, value->place, "InvalidValue",
                       "these are more than %u requirements\nput them into a file",
                       TR_REQUIREMENTS_MAX);
        return;
    }
    struct tr_text *lines = tr_arena_array(definition->arena, value->count, sizeof *lines);
    uint32_t kept = 0;
    for (uint32_t i = 0; lines != NULL && i < value->count; i++) {
        kept += read_requirement(definition, value->items[i], &lines[kept]) ? 1 : 0;
    }
    software->requirements = lines;
    software->requirement_count = lines == NULL ? 0 : kept;
}

static void read_python(struct tri_definition *definition, const struct tr_tree *value,
                        void *target)
{
    struct tr_software *software = target;
    (void)tri_keys_read_text(definition, value, &software->python);
}

/* Requirements alone, or a mapping with them. */
void tri_keys_read_venv(struct tri_definition *definition, const struct tr_tree *value,
                        void *target)
{
    static const struct tri_key keys[] = {{"requirements", read_requirements, 0},
                                          {"python", read_python, 0}};
    struct tri_settings *settings = target;
    struct tr_software *software = &settings->settings.software;
    if (!begin(definition, value, settings, TR_SOFTWARE_VENV)) {
        return;
    }
    if (value->kind != TR_TREE_MAP) {
        read_requirements(definition, value, software);
        return;
    }
    tri_keys_read_keys(definition, value, "venv", keys, TR_COUNT_OF(keys), software);
    if (tr_tree_find(value, "requirements") == NULL) {
        tri_report_add(definition->report, value->place, "ValueRequired",
                       "venv does not say what it has\n"
                       "add requirements: [NAME==VERSION], or the name of a file of them");
    }
}

void tri_keys_read_conda(struct tri_definition *definition, const struct tr_tree *value,
                         void *target)
{
    struct tri_settings *settings = target;
    if (begin(definition, value, settings, TR_SOFTWARE_CONDA)) {
        (void)tri_keys_read_text(definition, value, &settings->settings.software.file);
    }
}

static void read_image(struct tri_definition *definition, const struct tr_tree *value, void *target)
{
    struct tr_software *software = target;
    if (!tri_keys_read_text(definition, value, &software->image)) {
        return;
    }
    /* The runtime would take a dash for an option; templates are not filled in here. */
    if (software->image.data[0] == '-' ||
        tr_template_is_in(software->image.data, software->image.size)) {
        tri_report_add(definition->report, value->place, "InvalidValue",
                       "'%.*s' is no image\nwrite NAME:TAG", TRI_SHOWN(software->image));
    }
}

static void read_runtime(struct tri_definition *definition, const struct tr_tree *value,
                         void *target)
{
    static const char *const words[] = {"podman", "docker"};
    struct tr_software *software = target;
    uint32_t position;
    if (tri_keys_read_word(definition, value, words, TR_COUNT_OF(words), &position)) {
        software->runtime = tr_text_of(words[position]);
    }
}

static bool read_mount(struct tri_definition *definition, const struct tr_tree *tree,
                       struct tr_text *mount)
{
    if (!tri_keys_read_text(definition, tree, mount)) {
        return false;
    }
    if (mount->data[0] != '/' || memchr(mount->data, ',', mount->size) != NULL) {
        tri_report_add(definition->report, tree->place, "InvalidValue",
                       "'%.*s' is no folder to be mounted\n"
                       "write an absolute path without commas, which it has inside, too",
                       TRI_SHOWN(*mount));
        return false;
    }
    return true;
}

static void read_mounts(struct tri_definition *definition, const struct tr_tree *value,
                        void *target)
{
    struct tr_software *software = target;
    if (!tri_keys_expect_list(definition, value, "mounts")) {
        return;
    }
    if (value->count > TR_MOUNTS_MAX) {
        tri_report_add(definition->report, value->place, "InvalidValue",
                       "these are more than %u mounts\nname folders above them", TR_MOUNTS_MAX);
        return;
    }
    struct tr_text *mounts = tr_arena_array(definition->arena, value->count, sizeof *mounts);
    uint32_t kept = 0;
    for (uint32_t i = 0; mounts != NULL && i < value->count; i++) {
        kept += read_mount(definition, value->items[i], &mounts[kept]) ? 1 : 0;
    }
    software->mounts = mounts;
    software->mount_count = mounts == NULL ? 0 : kept;
}

/* An image alone, or a mapping with one. */
void tri_keys_read_container(struct tri_definition *definition, const struct tr_tree *value,
                             void *target)
{
    static const struct tri_key keys[] = {
        {"image", read_image, 0}, {"runtime", read_runtime, 0}, {"mounts", read_mounts, 0}};
    struct tri_settings *settings = target;
    struct tr_software *software = &settings->settings.software;
    if (!begin(definition, value, settings, TR_SOFTWARE_CONTAINER)) {
        return;
    }
    if (value->kind != TR_TREE_MAP) {
        read_image(definition, value, software);
        return;
    }
    tri_keys_read_keys(definition, value, "container", keys, TR_COUNT_OF(keys), software);
    if (tr_tree_find(value, "image") == NULL) {
        tri_report_add(definition->report, value->place, "ValueRequired",
                       "container does not say of which image\nadd image: NAME:TAG");
    }
}
