/*
 * libyaml's events become a tree. An explicit stack of open lists and mappings takes the place of
 * recursion, and every limit is looked at before the next event is asked for: the parser itself
 * needs more than linear time for some inputs, so it must be stopped, not survived.
 *
 * An alias gives no copy: its place in the tree points at the anchor's part, which has ended by
 * then and changes no more. Only its weight is counted. So ten lines that would unfold to a billion
 * values cost ten lines of memory, and are refused by the count before any pass walks through them.
 *
 * What is wrong ends the reading at once, except repeated keys and merges of what is no mapping:
 * these leave a tree that is good enough to look for further errors.
 */
#include "actors/graph/document/yaml.h"

#include <yaml.h>

#include "actors/graph/document/limits.h"
#include "schemas/codec/utf8.h"

/*
 * A list or a mapping that is still open. Its parts are collected apart and go into the tree when
 * it is closed; its parent points at the tree meanwhile.
 */
struct level {
    struct tr_tree *tree;
    struct tri_vector parts;   /* items, or pairs */
    const struct tr_tree *key; /* of a mapping: the key that waits for its value */
};

struct anchor {
    struct tr_text name;
    struct tr_tree *tree;
};

/*
 * One document on its way. It has 128 levels and 1024 anchors, so it lies in the arena and not on a
 * worker's stack.
 */
struct reader {
    struct tr_arena *arena;
    struct tr_report *report;
    uint32_t source;
    struct tr_text text;
    yaml_parser_t parser;
    struct level levels[TR_TREE_DEPTH_MAX];
    uint32_t depth;
    struct anchor anchors[TR_YAML_ANCHORS_MAX]; /* sorted by name */
    uint32_t anchor_count;
    uint64_t unfolded; /* values so far, aliases followed */
    struct tr_tree *root;
    uint32_t documents;
};

static struct tri_place place_of(const struct reader *reader, yaml_mark_t mark)
{
    return (struct tri_place){
        .source = reader->source,
        .line = (uint32_t)mark.line + 1,
        .column = (uint32_t)mark.column + 1,
    };
}

static bool refuse(struct reader *reader, struct tri_place place, const char *text)
{
    tri_report_add(reader->report, place, NULL, "%s", text);
    return false;
}

/* What to do about an error of libyaml, by the words it uses: it has no codes for them. */
static const char *parser_remedy(const yaml_parser_t *parser)
{
    const char *context = parser->context == NULL ? "" : parser->context;
    const char *problem = parser->problem == NULL ? "" : parser->problem;
    if (parser->flow_level > 0 || strstr(context, "flow") != NULL) {
        return "in flow style quote what holds [ ] { } or a comma, as in \"$n.o[0]\" and "
               "\"enum(a, b)\"";
    }
    if (strstr(problem, "cannot start any token") != NULL) {
        return "indent with blanks, not tabs, and quote text that begins with @, ` or %";
    }
    if (strstr(problem, "mapping values are not allowed") != NULL) {
        return "quote text that holds a colon and a blank, and check the indentation";
    }
    if (strstr(problem, "undefined alias") != NULL) {
        return "define the anchor (&name) before it is used";
    }
    return "check the indentation, brackets and quotes here";
}

/*
 * A byte that is in no text. libyaml gives its offset, and people look for lines and columns, which
 * count characters like those of libyaml's own marks.
 */
static bool refuse_byte(struct reader *reader, const char *problem, size_t offset)
{
    const char *text = reader->text.data;
    struct tri_place place = {.source = reader->source, .line = 1, .column = 1};
    if (offset >= reader->text.size) {
        offset = reader->text.size == 0 ? 0 : reader->text.size - 1;
    }
    for (size_t i = 0; i < offset; i++) {
        bool is_begin = ((unsigned char)text[i] & 0xc0U) != 0x80U; /* of a character */
        place.column += is_begin ? 1 : 0;
        if (text[i] == '\n') {
            place.line++;
            place.column = 1;
        }
    }
    unsigned byte = reader->text.size == 0 ? 0 : (unsigned char)text[offset];
    bool is_utf16 = offset == 0 && (byte == 0xffU || byte == 0xfeU);
    tri_report_add(reader->report, place, "SyntaxError",
                   "this is no YAML: %s (0x%02x)\nsave the file as UTF-8 text%s", problem, byte,
                   is_utf16 ? "; it seems to be UTF-16" : "");
    return false;
}

static bool parser_failed(struct reader *reader)
{
    const yaml_parser_t *parser = &reader->parser;
    if (parser->error == YAML_MEMORY_ERROR) {
        reader->arena->error = reader->arena->error != 0 ? reader->arena->error : TR_MEMORY;
        return false;
    }
    struct tri_place place = place_of(reader, parser->problem_mark);
    const char *problem = parser->problem == NULL ? "it cannot be read" : parser->problem;
    if (parser->error == YAML_READER_ERROR) {
        return refuse_byte(reader, problem, parser->problem_offset);
    }
    tri_report_add(reader->report, place, "SyntaxError", "this is no YAML: %s%s%s\n%s",
                   parser->context == NULL ? "" : parser->context,
                   parser->context == NULL ? "" : ", ", problem, parser_remedy(parser));
    return false;
}

/*
 * Counts values, those behind an alias each time; false and told above the limit. A weight is at
 * most 32 bits and the sum has 64, so the check cannot be passed by wrapping.
 */
static bool count_values(struct reader *reader, struct tri_place place, uint32_t weight)
{
    reader->unfolded += weight;
    if (reader->unfolded <= TR_TREE_NODES_MAX) {
        return true;
    }
    tri_report_add(reader->report, place, NULL,
                   "the document unfolds to more than %u values\n"
                   "use fewer aliases, or keep data in files of their own",
                   TR_TREE_NODES_MAX);
    return false;
}

/* Where an anchor of this name is, or where it would stand. */
static uint32_t anchor_position(const struct reader *reader, struct tr_text name, bool *is_there)
{
    uint32_t low = 0;
    uint32_t high = reader->anchor_count;
    *is_there = false;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        int order = tr_text_order(reader->anchors[middle].name, name);
        if (order == 0) {
            *is_there = true;
            return middle;
        }
        low = order < 0 ? middle + 1 : low;
        high = order < 0 ? high : middle;
    }
    return low;
}

/*
 * Lets a name stand for a part from here on; NULL is no anchor. A name that is there already is
 * given to the later part, as YAML has it. A list or a mapping is defined when it is opened, so
 * that an alias inside of it is known and refused, rather than told to be undefined.
 */
static bool define_anchor(struct reader *reader, const yaml_char_t *anchor, struct tr_tree *tree)
{
    if (anchor == NULL) {
        return true;
    }
    struct tr_text name = tr_text_of((const char *)anchor);
    bool is_there;
    uint32_t at = anchor_position(reader, name, &is_there);
    if (!is_there) {
        if (reader->anchor_count == TR_YAML_ANCHORS_MAX) {
            tri_report_add(reader->report, tree->place, NULL,
                           "the file has more than %u anchors\nuse fewer", TR_YAML_ANCHORS_MAX);
            return false;
        }
        memmove(&reader->anchors[at + 1], &reader->anchors[at],
                (reader->anchor_count - at) * sizeof reader->anchors[0]);
        reader->anchor_count++;
        reader->anchors[at].name = tr_arena_text(reader->arena, name);
    }
    reader->anchors[at].tree = tree;
    return true;
}

/*
 * Whether a part has not ended yet. An alias to one would close a ring, in which every later walk
 * is endless.
 */
static bool is_open(const struct reader *reader, const struct tr_tree *tree)
{
    for (uint32_t i = 0; i < reader->depth; i++) {
        if (reader->levels[i].tree == tree) {
            return true;
        }
    }
    return false;
}

/* Puts a key into its mapping: it has to be a scalar. */
static bool attach_key(struct reader *reader, struct level *level, struct tr_tree *tree)
{
    if (!tr_tree_is_text(tree)) {
        return refuse(reader, tree->place,
                      "a key has to be text\nin flow style separate entries by commas");
    }
    level->key = tree;
    return true;
}

/* Puts a value, or a list or mapping that is just being opened, to where it belongs. */
static bool attach(struct reader *reader, struct tr_tree *tree)
{
    if (reader->depth == 0) {
        reader->root = tree;
        return true;
    }
    struct level *level = &reader->levels[reader->depth - 1];
    if (level->tree->kind == TR_TREE_LIST) {
        struct tr_tree **item = tri_vector_add(reader->arena, &level->parts, sizeof *item);
        if (item != NULL) {
            *item = tree;
        }
        return item != NULL;
    }
    if (level->key == NULL) {
        return attach_key(reader, level, tree);
    }
    struct tr_pair *pair = tri_vector_add(reader->arena, &level->parts, sizeof *pair);
    if (pair == NULL) {
        return false;
    }
    *pair = (struct tr_pair){.key = level->key, .value = tree};
    level->key = NULL;
    return true;
}

/* Only the tags that say what a scalar's form says already, and `!!str`, which makes it text. */
static bool accept_tag(struct reader *reader, struct tri_place place, const yaml_char_t *tag,
                       bool *is_text)
{
    const char *name = tag == NULL ? "" : (const char *)tag;
    *is_text = strcmp(name, YAML_STR_TAG) == 0 || strcmp(name, "!") == 0;
    if (tag == NULL || *is_text || strcmp(name, YAML_SEQ_TAG) == 0 ||
        strcmp(name, YAML_MAP_TAG) == 0) {
        return true;
    }
    tri_report_add(reader->report, place, NULL,
                   "the tag '%.*s' is not used here\nleave it out: types come from declarations",
                   TRI_SHOWN(tr_text_of(name)));
    return false;
}

static bool on_scalar(struct reader *reader, const yaml_event_t *event)
{
    struct tri_place place = place_of(reader, event->start_mark);
    bool is_text;
    if (!accept_tag(reader, place, event->data.scalar.tag, &is_text)) {
        return false;
    }
    bool is_plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && !is_text;
    struct tr_tree *tree =
        tri_tree_new(reader->arena, is_plain ? TR_TREE_PLAIN : TR_TREE_STRING, place);
    if (tree == NULL) {
        return false;
    }
    struct tr_text text = {.data = (const char *)event->data.scalar.value,
                           .size = event->data.scalar.length};
    tree->text = tr_arena_text(reader->arena, text);
    tree->has_dollar = tri_text_has_dollar(text);
    return count_values(reader, place, 1) &&
           define_anchor(reader, event->data.scalar.anchor, tree) && attach(reader, tree);
}

static bool on_alias(struct reader *reader, const yaml_event_t *event)
{
    struct tri_place place = place_of(reader, event->start_mark);
    struct tr_text name = tr_text_of((const char *)event->data.alias.anchor);
    bool is_there;
    uint32_t at = anchor_position(reader, name, &is_there);
    if (!is_there) {
        tri_report_add(reader->report, place, "SyntaxError",
                       "no anchor '%.*s' stands before this alias\ndefine it with &%.*s",
                       TRI_SHOWN(name), TRI_SHOWN(name));
        return false;
    }
    struct tr_tree *tree = reader->anchors[at].tree;
    if (is_open(reader, tree)) {
        tri_report_add(reader->report, place, "SyntaxError",
                       "the alias '%.*s' stands inside its own anchor\n"
                       "a document cannot hold itself",
                       TRI_SHOWN(name));
        return false;
    }
    return count_values(reader, place, tree->weight) && attach(reader, tree);
}

static bool on_open(struct reader *reader, const yaml_event_t *event, enum tr_tree_kind kind)
{
    struct tri_place place = place_of(reader, event->start_mark);
    bool is_list = kind == TR_TREE_LIST;
    bool is_text;
    if (!accept_tag(reader, place,
                    is_list ? event->data.sequence_start.tag : event->data.mapping_start.tag,
                    &is_text)) {
        return false;
    }
    if (reader->depth == TR_TREE_DEPTH_MAX) {
        tri_report_add(reader->report, place, NULL,
                       "lists and mappings nest deeper than %u\nflatten the document",
                       TR_TREE_DEPTH_MAX);
        return false;
    }
    struct tr_tree *tree = tri_tree_new(reader->arena, kind, place);
    if (tree == NULL || !count_values(reader, place, 1) || !attach(reader, tree)) {
        return false;
    }
    const yaml_char_t *anchor =
        is_list ? event->data.sequence_start.anchor : event->data.mapping_start.anchor;
    reader->levels[reader->depth++] = (struct level){.tree = tree};
    return define_anchor(reader, anchor, tree);
}

static bool on_close(struct reader *reader)
{
    struct level *level = &reader->levels[--reader->depth];
    if (level->tree->kind == TR_TREE_LIST) {
        tri_tree_close_list(level->tree, &level->parts);
        return true;
    }
    return tri_tree_close_map(reader->arena, reader->report, level->tree, &level->parts);
}

static bool on_document(struct reader *reader, const yaml_event_t *event)
{
    if (++reader->documents == 1) {
        return true;
    }
    return refuse(reader, place_of(reader, event->start_mark),
                  "a file holds one document\nremove what follows '---'");
}

static bool on_event(struct reader *reader, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        return on_document(reader, event);
    case YAML_SCALAR_EVENT:
        return on_scalar(reader, event);
    case YAML_ALIAS_EVENT:
        return on_alias(reader, event);
    case YAML_SEQUENCE_START_EVENT:
        return on_open(reader, event, TR_TREE_LIST);
    case YAML_MAPPING_START_EVENT:
        return on_open(reader, event, TR_TREE_MAP);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return on_close(reader);
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
    case YAML_DOCUMENT_END_EVENT:
        return true;
    }
    return true;
}

static bool read_events(struct reader *reader)
{
    bool is_fine = true;
    bool is_end = false;
    while (is_fine && !is_end) {
        /*
         * What libyaml gives is copied by on_event, so each event ends before the next is asked
         * for. A failed parse gives an empty event, which owns nothing.
         */
        yaml_event_t event;
        if (yaml_parser_parse(&reader->parser, &event) == 0) {
            return parser_failed(reader);
        }
        is_end = event.type == YAML_STREAM_END_EVENT;
        is_fine = on_event(reader, &event);
        yaml_event_delete(&event);
    }
    return is_fine;
}

/*
 * Whether the text is small enough to be parsed at all; told if not. Keys are counted by their
 * colons, which takes a thousandth of the time that parsing them would. The count is rough: colons
 * in texts and comments are among it. What makes values without such a colon is stopped by the
 * count of values.
 */
static bool within_limits(struct tr_report *report, struct tri_place place, struct tr_text text)
{
    if (text.size > TR_YAML_BYTES_MAX) {
        tri_report_add(report, place, NULL,
                       "the file has %zu bytes, and a YAML file may have %u\n"
                       "keep data in JSON or in files of their own",
                       text.size, TR_YAML_BYTES_MAX);
        return false;
    }
    uint32_t keys = 0;
    const char *end = text.data + text.size;
    for (const char *at = text.data; at < end; at++) {
        at = memchr(at, ':', (size_t)(end - at));
        if (at == NULL) {
            break;
        }
        bool is_key = at + 1 == end || strchr(" \t\r\n\"'{[", at[1]) != NULL ||
                      (at > text.data && (at[-1] == '"' || at[-1] == '\''));
        keys += is_key ? 1 : 0;
    }
    if (keys > TR_YAML_KEYS_MAX) {
        tri_report_add(report, place, NULL,
                       "the file has more than %u keys\n"
                       "split it with include:, or keep data in files of their own",
                       TR_YAML_KEYS_MAX);
        return false;
    }
    return true;
}

static const struct tr_tree *read_all(struct reader *reader, struct tr_text text)
{
    struct tri_place place = {.source = reader->source};
    if (yaml_parser_initialize(&reader->parser) == 0) {
        reader->arena->error = TR_MEMORY;
        return NULL;
    }
    yaml_parser_set_input_string(&reader->parser, (const unsigned char *)text.data, text.size);
    /* Else libyaml would guess UTF-16 from the first bytes, and places would count other units. */
    yaml_parser_set_encoding(&reader->parser, YAML_UTF8_ENCODING);
    bool is_fine = read_events(reader);
    yaml_parser_delete(&reader->parser);
    if (is_fine && reader->root == NULL) {
        is_fine = refuse(reader, place, "the file is empty\nwrite a document into it");
    }
    return is_fine && reader->arena->error == 0 ? reader->root : NULL;
}

const struct tr_tree *tr_yaml_read(struct tr_arena *arena, struct tr_report *report,
                                   uint32_t source, struct tr_text text)
{
    struct tri_place place = {.source = source};
    text = tr_utf8_skip_mark(text);
    if (!within_limits(report, place, text)) {
        return NULL;
    }
    struct reader *reader = tr_arena_alloc(arena, sizeof *reader);
    if (reader == NULL) {
        return NULL;
    }
    reader->arena = arena;
    reader->report = report;
    reader->source = source;
    reader->text = text;
    return read_all(reader, text);
}
