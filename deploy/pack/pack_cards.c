/*
 * A tool of the build: packs cards (plugins/cards/ours/, YAML) into a table of C, as the settings
 * would read them.
 *
 *     pack_cards OUTPUT.c CARD.yaml...
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/graph/document/yaml.h"
#include "actors/graph/value/literal.h"

#define CARD_BYTES_MAX (64U << 10)

struct cards {
    struct tr_arena arena;
    struct tr_report report;
    FILE *output;
};

/* A file "spark.yaml" is the card "spark". */
static struct tr_text name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *begin = slash == NULL ? path : slash + 1;
    return (struct tr_text){.data = begin, .size = strcspn(begin, ".")};
}

static bool read_file(const char *path, char *room, struct tr_text *text)
{
    FILE *file = fopen(path, "re");
    size_t size = file == NULL ? 0 : fread(room, 1, CARD_BYTES_MAX, file);
    *text = (struct tr_text){.data = room, .size = size};
    if (file != NULL) {
        (void)fclose(file);
    }
    return size > 0 && size < CARD_BYTES_MAX;
}

static void print_bytes(FILE *output, uint32_t number, struct tr_bytes bytes)
{
    (void)fprintf(output, "static const uint8_t card_%u[] = {", number);
    for (size_t i = 0; i < bytes.size; i++) {
        (void)fprintf(output, "%u,", bytes.data[i]);
    }
    (void)fprintf(output, "};\n");
}

static bool pack(struct cards *cards, uint32_t number, const char *path)
{
    static char room[CARD_BYTES_MAX];
    struct tr_literal_reader reader = {.report = &cards->report, .arena = &cards->arena};
    struct tr_buffer packed;
    struct tr_text text;
    if (!read_file(path, room, &text)) {
        (void)fprintf(stderr, "pack_cards: %s cannot be read, or has over %u bytes\n", path,
                      CARD_BYTES_MAX);
        return false;
    }
    const struct tr_tree *tree = tr_yaml_read(&cards->arena, &cards->report, 0, text);
    tr_buffer_init(&packed, 0);
    bool is_good = tree != NULL && tr_literal_read(&reader, NULL, tree, &packed);
    if (is_good) {
        print_bytes(cards->output, number, tr_buffer_bytes(&packed));
    }
    tr_buffer_fini(&packed);
    return is_good;
}

/* What is wrong with the last card that was read. */
static void complain(struct cards *cards, const char *path)
{
    tr_report_finish(&cards->report);
    for (uint32_t i = 0; i < cards->report.count; i++) {
        const struct tr_problem *problem = &cards->report.problems[i];
        (void)fprintf(stderr, "%s:%u: %.*s\n", path, problem->line, (int)problem->rule.size,
                      problem->rule.data);
    }
}

int main(int argc, char **argv)
{
    struct cards cards = {.output = argc < 3 ? NULL : fopen(argv[1], "we")};
    if (cards.output == NULL) {
        (void)fprintf(stderr, "usage: pack_cards OUTPUT.c CARD.yaml...\n");
        return 2;
    }
    tr_arena_init(&cards.arena);
    tr_report_init(&cards.report);
    bool is_good = true;
    (void)fprintf(cards.output, "#include \"plugins/cards/cards.h\"\n");
    for (int i = 2; i < argc && is_good; i++) {
        is_good = pack(&cards, (uint32_t)i, argv[i]);
        if (!is_good) {
            complain(&cards, argv[i]);
        }
    }
    (void)fprintf(cards.output, "const struct tri_card_row tri_cards_ours[] = {\n");
    for (int i = 2; i < argc; i++) {
        struct tr_text name = name_of(argv[i]);
        (void)fprintf(cards.output, "    {\"%.*s\", card_%d, sizeof card_%d},\n", (int)name.size,
                      name.data, i, i);
    }
    (void)fprintf(cards.output,
                  "};\nconst size_t tri_cards_ours_count = TR_COUNT_OF(tri_cards_ours);\n");
    is_good = fclose(cards.output) == 0 && is_good;
    tr_report_fini(&cards.report);
    tr_arena_fini(&cards.arena);
    return is_good ? 0 : 1;
}
