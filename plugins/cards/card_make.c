/*
 * Making a resource of a template: a tree in which texts have ${...} (card_expression.c), and maps
 * may say what they are made of.
 *
 *     {$pod: {role: worker, ...}}                       the task's pod as a role (card_pod.c)
 *     {$each: "${list}", as: group, make: TREE}         a list, an item for each of another
 *     {$when: "${expression}", then: TREE, else: TREE}  one or the other; without else nothing
 *
 * What has no value is left out, and so is a map or list that is left with nothing. A check walks
 * the same way without values: builds have failed before they begin, and so build nothing.
 */
#include "plugins/cards/cards.h"

#include <stdarg.h>
#include <stdio.h>

static const char *const names[] = {
#define TRI_CARD_NAME(name) name,
    TRI_CARD_NAMES(TRI_CARD_NAME)
#undef TRI_CARD_NAME
};

/* -------------------------------------------------------------------------------- the making */

void tri_card_begin(struct tri_card_making *making, struct tr_task_context *task,
                    struct tr_text card)
{
    *making = (struct tri_card_making){.task = task, .card = card};
    for (size_t i = 0; task == NULL && i < TR_COUNT_OF(names); i++) {
        tri_card_give(making, names[i], (struct tr_bytes){0});
    }
}

void tri_card_give(struct tri_card_making *making, const char *name, struct tr_bytes value)
{
    if (making->count < TR_COUNT_OF(making->values)) {
        making->values[making->count++] =
            (struct tri_card_value){.name = tr_text_of(name), .value = value};
    }
}

/* The item of a list, under its name, until it is dropped. */
static bool push_item(struct tri_card_making *making, struct tr_text name, struct tr_bytes value)
{
    if (making->item_count == TR_COUNT_OF(making->items)) {
        tri_card_refuse(making, "there are more than %d $each in each other", TR_CARD_DEPTH_MAX);
        return false;
    }
    making->items[making->item_count++] = (struct tri_card_value){.name = name, .value = value};
    return true;
}

void tri_card_refuse(struct tri_card_making *making, const char *format, ...)
{
    if (making->error != 0) {
        return;
    }
    making->error = TR_INVALID;
    int used = snprintf(making->problem, sizeof making->problem, "%.*s: ", (int)making->place_size,
                        making->place);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(making->problem + used, sizeof making->problem - (size_t)used, format,
                    arguments);
    va_end(arguments);
}

bool tri_card_step(struct tri_card_making *making)
{
    if (++making->steps > TR_CARD_STEPS_MAX) {
        tri_card_refuse(making, "this takes more than %d steps: make its lists shorter",
                        TR_CARD_STEPS_MAX);
    }
    return making->error == 0;
}

struct tr_build tri_card_build(struct tri_card_making *making)
{
    struct tr_build build =
        making->task == NULL ? (struct tr_build){0} : tr_build_of_task(making->task);
    build.error = making->task == NULL ? TR_INVALID : making->error;
    return build;
}

struct tr_bytes tri_card_built(struct tri_card_making *making, struct tr_build *build)
{
    struct tr_bytes value = {0};
    if (making->task == NULL || making->error != 0) {
        return value;
    }
    making->error = tr_build_take(build, &value);
    if (making->error == TR_INVALID) {
        making->error = 0;
        tri_card_refuse(making, "a text is no UTF-8");
    }
    return making->error == 0 ? value : (struct tr_bytes){0};
}

struct tr_bytes tri_card_text_value(struct tri_card_making *making, struct tr_text text)
{
    struct tr_build build = tri_card_build(making);
    tr_build_text(&build, text);
    return text.size == 0 ? (struct tr_bytes){0} : tri_card_built(making, &build);
}

/* -------------------------------------------------------------------------------------- places */

/* A place further down; what it was, for the way back. */
static size_t enter(struct tri_card_making *making, struct tr_text name)
{
    size_t before = making->place_size;
    size_t room = sizeof making->place - 1 - before;
    int size = snprintf(making->place + before, room + 1, "%s%.*s", before > 0 ? "." : "",
                        (int)name.size, name.data);
    making->place_size += size < 0 ? 0 : (size_t)size < room ? (size_t)size : room;
    return before;
}

/* --------------------------------------------------------------------------------------- names */

enum let_state { LET_READY, LET_WAITS, LET_IS_MADE };

static struct tr_bytes make(struct tri_card_making *making, struct tr_bytes tree);

static struct tr_bytes make_named(struct tri_card_making *making, struct tr_text name,
                                  struct tr_bytes tree)
{
    size_t before = enter(making, name);
    struct tr_bytes value = make(making, tree);
    making->place_size = before;
    return value;
}

/* Makes a `let`, at its own place, where no item has a name. */
static void make_let(struct tri_card_making *making, struct tri_card_value *let)
{
    char place[sizeof making->place];
    size_t place_size = making->place_size;
    uint32_t item_first = making->item_first;
    memcpy(place, making->place, sizeof place);
    making->place_size = 0;
    making->item_first = making->item_count;
    let->state = LET_IS_MADE;
    (void)enter(making, tr_text_of("let"));
    let->value = make_named(making, let->name, let->tree);
    let->state = LET_READY;
    making->item_first = item_first;
    making->place_size = place_size;
    memcpy(making->place, place, sizeof place);
}

bool tri_card_named(struct tri_card_making *making, struct tr_text name, struct tr_bytes *value)
{
    for (uint32_t i = making->item_count; i > making->item_first; i--) {
        if (tr_text_equal(making->items[i - 1].name, name)) {
            *value = making->items[i - 1].value;
            return true;
        }
    }
    for (uint32_t i = 0; i < making->count; i++) {
        struct tri_card_value *row = &making->values[i];
        if (!tr_text_equal(row->name, name)) {
            continue;
        }
        if (row->state == LET_IS_MADE) {
            tri_card_refuse(making, "%.*s leads back to itself: a name may not need itself",
                            (int)name.size, name.data);
        } else if (row->state == LET_WAITS) {
            make_let(making, row);
        }
        *value = row->value;
        return true;
    }
    return false;
}

/* ---------------------------------------------------------------------------------- the forms */

/* Whether a map has no members but these; else it is refused. */
static bool check_members(struct tri_card_making *making, struct tr_bytes map,
                          const char *const *known, size_t count)
{
    struct tr_json_walk walk = tr_json_walk(map);
    while (making->error == 0 && tr_json_next(&walk)) {
        bool is_known = false;
        for (size_t i = 0; i < count; i++) {
            is_known = is_known || tr_text_equal(walk.name, tr_text_of(known[i]));
        }
        if (!is_known) {
            tri_card_refuse(making, "%.*s is not known beside %s", (int)walk.name.size,
                            walk.name.data, known[0]);
        }
    }
    return making->error == 0;
}

static bool is_plain_name(struct tr_text name)
{
    bool is_plain = name.size > 0 && name.size <= TR_CARD_NAME_BYTES_MAX;
    for (size_t i = 0; i < name.size && is_plain; i++) {
        char small = (char)(name.data[i] | 32);
        is_plain = name.data[i] == '_' || (small >= 'a' && small <= 'z');
    }
    return is_plain;
}

/* A name that cards give to something: a new one. */
static bool check_name(struct tri_card_making *making, struct tr_text name)
{
    bool is_known = false;
    for (uint32_t i = 0; i < making->count; i++) {
        is_known = is_known || tr_text_equal(making->values[i].name, name);
    }
    for (uint32_t i = making->item_first; i < making->item_count; i++) {
        is_known = is_known || tr_text_equal(making->items[i].name, name);
    }
    if (!is_plain_name(name)) {
        tri_card_refuse(making, "'%.*s' is no name: use letters and _, at most %d", (int)name.size,
                        name.data == NULL ? "" : name.data, TR_CARD_NAME_BYTES_MAX);
    } else if (is_known) {
        tri_card_refuse(making, "the name %.*s has a meaning already: choose another",
                        (int)name.size, name.data);
    }
    return making->error == 0;
}

static struct tr_bytes make_each(struct tri_card_making *making, struct tr_bytes form)
{
    static const char *const known[] = {"$each", "as", "make"};
    struct tr_text name = tr_json_text(tr_json_get(form, "as"));
    struct tr_bytes tree = tr_json_get(form, "make");
    if (!check_members(making, form, known, TR_COUNT_OF(known)) || !check_name(making, name)) {
        return (struct tr_bytes){0};
    }
    struct tr_bytes list = make_named(making, tr_text_of("$each"), tr_json_get(form, "$each"));
    struct tr_json_walk walk = tr_json_walk(list);
    struct tr_build build = tri_card_build(making);
    bool has_any = false;
    if (making->task == NULL && push_item(making, name, (struct tr_bytes){0})) {
        (void)make_named(making, tr_text_of("make"), tree);
        making->item_count--;
    }
    tr_build_list(&build);
    while (tr_json_type(list) == TR_CODEC_ARRAY && tri_card_step(making) && tr_json_next(&walk) &&
           push_item(making, name, walk.value)) {
        struct tr_bytes item = make_named(making, tr_text_of("make"), tree);
        making->item_count--;
        if (item.size > 0) {
            tr_build_value(&build, item);
            has_any = true;
        }
    }
    tr_build_end(&build);
    struct tr_bytes made = tri_card_built(making, &build);
    return has_any ? made : (struct tr_bytes){0};
}

static struct tr_bytes make_when(struct tri_card_making *making, struct tr_bytes form)
{
    static const char *const known[] = {"$when", "then", "else"};
    if (!check_members(making, form, known, TR_COUNT_OF(known))) {
        return (struct tr_bytes){0};
    }
    struct tr_bytes value = make_named(making, tr_text_of("$when"), tr_json_get(form, "$when"));
    bool is_false = tr_json_type(value) == TR_CODEC_BOOL && !tr_json_bool(value);
    bool is_zero = tr_json_i64(value, 1) == 0 && tr_json_type(value) != TR_CODEC_TEXT;
    bool is = value.size > 0 && !is_false && !is_zero;
    if (making->task == NULL) {
        (void)make_named(making, tr_text_of("else"), tr_json_get(form, "else"));
    }
    const char *branch = is || making->task == NULL ? "then" : "else";
    return make_named(making, tr_text_of(branch), tr_json_get(form, branch));
}

static struct tr_bytes make_members(struct tri_card_making *making, struct tr_bytes map);

static struct tr_bytes make_pod(struct tri_card_making *making, struct tr_bytes form)
{
    static const char *const known[] = {"$pod"};
    static const char *const members[] = {
        "role",           "container",   "image",         "command", "args",  "resources", "ports",
        "restart_policy", "environment", "interruptible", "over",    "gives", "beside"};
    struct tr_bytes role = tr_json_get(form, "$pod");
    if (!check_members(making, form, known, TR_COUNT_OF(known))) {
        return (struct tr_bytes){0};
    }
    size_t before = enter(making, tr_text_of("$pod"));
    if (tr_json_type(role) != TR_CODEC_MAP || tr_json_text(tr_json_get(role, "role")).size == 0) {
        tri_card_refuse(making, "a pod needs a role: {$pod: {role: worker}}");
    } else if (check_members(making, role, members, TR_COUNT_OF(members))) {
        role = make_members(making, role);
    }
    struct tr_bytes pod = making->task == NULL || making->error != 0 ? (struct tr_bytes){0}
                                                                     : tri_card_pod(making, role);
    making->place_size = before;
    return pod;
}

static const struct {
    const char *name;
    struct tr_bytes (*make)(struct tri_card_making *making, struct tr_bytes form);
} forms[] = {{"$pod", make_pod}, {"$each", make_each}, {"$when", make_when}};

/* ----------------------------------------------------------------------------------- the tree */

static struct tr_bytes make_members(struct tri_card_making *making, struct tr_bytes map)
{
    struct tr_build build = tri_card_build(making);
    struct tr_json_walk walk = tr_json_walk(map);
    uint32_t count = walk.left;
    bool has_any = false;
    tr_build_map(&build);
    while (making->error == 0 && tr_json_next(&walk)) {
        struct tr_bytes value = make_named(making, walk.name, walk.value);
        if (value.size > 0) {
            tr_build_name(&build, walk.name);
            tr_build_value(&build, value);
            has_any = true;
        }
    }
    tr_build_end(&build);
    struct tr_bytes made = tri_card_built(making, &build);
    return has_any || count == 0 ? made : (struct tr_bytes){0};
}

static struct tr_bytes make_map(struct tri_card_making *making, struct tr_bytes map)
{
    struct tr_json_walk walk = tr_json_walk(map);
    while (tr_json_next(&walk)) {
        bool is_form = walk.name.size > 0 && walk.name.data[0] == '$';
        for (size_t i = 0; is_form && i < TR_COUNT_OF(forms); i++) {
            if (tr_text_equal(walk.name, tr_text_of(forms[i].name))) {
                return forms[i].make(making, map);
            }
        }
        if (is_form) {
            tri_card_refuse(making, "there is no %.*s: it is one of $pod, $each, $when",
                            (int)walk.name.size, walk.name.data);
            return (struct tr_bytes){0};
        }
    }
    return make_members(making, map);
}

static struct tr_bytes make_list(struct tri_card_making *making, struct tr_bytes list)
{
    struct tr_build build = tri_card_build(making);
    struct tr_json_walk walk = tr_json_walk(list);
    uint32_t count = walk.left;
    uint32_t number = 0;
    bool has_any = false;
    tr_build_list(&build);
    while (making->error == 0 && tr_json_next(&walk)) {
        char place[16];
        (void)snprintf(place, sizeof place, "%u", number++);
        struct tr_bytes value = make_named(making, tr_text_of(place), walk.value);
        if (value.size > 0) {
            tr_build_value(&build, value);
            has_any = true;
        }
    }
    tr_build_end(&build);
    struct tr_bytes made = tri_card_built(making, &build);
    return has_any || count == 0 ? made : (struct tr_bytes){0};
}

static struct tr_bytes make(struct tri_card_making *making, struct tr_bytes tree)
{
    struct tr_bytes value = {0};
    if (making->error != 0 || !tri_card_step(making)) {
        return value;
    }
    if (++making->depth > TR_CARD_DEPTH_MAX) {
        tri_card_refuse(making, "it is nested deeper than %d", TR_CARD_DEPTH_MAX);
        return value;
    }
    switch (tr_json_type(tree)) {
    case TR_CODEC_MAP:
        value = make_map(making, tree);
        break;
    case TR_CODEC_ARRAY:
        value = make_list(making, tree);
        break;
    case TR_CODEC_TEXT:
        value = tri_card_fill(making, tr_json_text(tree));
        break;
    case TR_CODEC_NONE:
    case TR_CODEC_NIL:
        break;
    default:
        value = making->task == NULL ? value : tree;
        break;
    }
    making->depth--;
    return value;
}

/* ----------------------------------------------------------------------------------- the card */

/* Each `let` gets a row, and is made when it is asked for; a check asks for all of them. */
static void add_lets(struct tri_card_making *making, struct tr_bytes lets)
{
    struct tr_json_walk walk = tr_json_walk(lets);
    uint32_t first = making->count;
    size_t before = enter(making, tr_text_of("let"));
    while (making->error == 0 && tr_json_next(&walk)) {
        if (making->count - first == TR_CARD_LETS_MAX) {
            tri_card_refuse(making, "a card has at most %d names", TR_CARD_LETS_MAX);
        } else if (check_name(making, walk.name)) {
            making->values[making->count++] =
                (struct tri_card_value){.name = walk.name, .tree = walk.value, .state = LET_WAITS};
        }
    }
    making->place_size = before;
    for (uint32_t i = first; making->task == NULL && i < making->count; i++) {
        struct tr_bytes value;
        (void)tri_card_named(making, making->values[i].name, &value);
    }
}

int tri_card_make_tree(struct tri_card_making *making, struct tr_bytes tree, struct tr_bytes *made)
{
    struct tr_bytes value = make_named(making, tr_text_of("make"), tree);
    if (making->error == 0) {
        *made = value;
    }
    return making->error;
}

int tri_card_make(struct tri_card_making *making, struct tr_bytes card, struct tr_bytes *made)
{
    add_lets(making, tr_json_get(card, "let"));
    return tri_card_make_tree(making, tr_json_get(card, "make"), made);
}
