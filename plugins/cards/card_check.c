/*
 * What is refused of a card before anything is made of it, in words that name the place and the
 * remedy: members that are not known, templates that could not be filled in, rules that never end.
 */
#include "plugins/cards/cards.h"

#include <stdio.h>

struct checker {
    const char *place;
    char *problem;
    size_t size;
};

#define REFUSE(checker, ...) tr_config_refuse((checker)->problem, (checker)->size, __VA_ARGS__)

/* -------------------------------------------------------------------------------------- shapes */

static int check_map(const struct checker *checker, const char *below, struct tr_bytes map,
                     const struct tr_config_key *keys, size_t count)
{
    char place[200];
    (void)snprintf(place, sizeof place, "%s%s", checker->place, below);
    if (tr_json_type(map) != TR_CODEC_MAP) {
        return REFUSE(checker, "%s has to be a mapping", place);
    }
    return tr_config_check_as(place, map, keys, count, checker->problem, checker->size);
}

/* Small letters, digits, and what else is given: what names of Kubernetes' API have. */
static bool is_api_name(struct tr_text name, const char *others, size_t bytes_max)
{
    bool is = name.size > 0 && name.size <= bytes_max;
    for (size_t i = 0; i < name.size && is; i++) {
        char letter = name.data[i];
        is = (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') ||
             (letter != '\0' && strchr(others, letter) != NULL);
    }
    return is;
}

static int check_resource(const struct checker *checker, struct tr_bytes resource)
{
    static const struct tr_config_key keys[] = {
        {"group", TR_CODEC_TEXT},  {"version", TR_CODEC_TEXT},
        {"plural", TR_CODEC_TEXT}, {"kind", TR_CODEC_TEXT},
        {"scope", TR_CODEC_TEXT},  {"name_bytes_max", TR_CODEC_UNSIGNED}};
    static const char *const names[] = {"version", "plural"};
    struct tr_text group = tr_json_text(tr_json_get(resource, "group"));
    struct tr_text kind = tr_json_text(tr_json_get(resource, "kind"));
    struct tr_text scope = tr_json_text(tr_json_get(resource, "scope"));
    int64_t most =
        tr_json_i64(tr_json_get(resource, "name_bytes_max"), TR_CARD_RESOURCE_NAME_BYTES_MAX);
    int error = check_map(checker, ".resource", resource, keys, TR_COUNT_OF(keys));
    for (size_t i = 0; error == 0 && i < TR_COUNT_OF(names); i++) {
        if (!is_api_name(tr_json_text(tr_json_get(resource, names[i])), "-", 63)) {
            error = REFUSE(checker, "%s.resource.%s has to be of small letters, digits and -",
                           checker->place, names[i]);
        }
    }
    if (error != 0) {
        return error;
    }
    if (group.size > 0 && !is_api_name(group, "-.", 100)) {
        return REFUSE(checker, "%s.resource.group has to be of small letters, digits, - and .",
                      checker->place);
    }
    if (kind.size == 0) {
        return REFUSE(checker, "%s.resource.kind is missing: say what its objects are, as Job",
                      checker->place);
    }
    if (scope.size > 0 && !tr_text_equal(scope, tr_text_of("namespace")) &&
        !tr_text_equal(scope, tr_text_of("cluster"))) {
        return REFUSE(checker, "%s.resource.scope is namespace or cluster", checker->place);
    }
    return most >= TR_CARD_RESOURCE_NAME_BYTES_MIN && most <= TR_CARD_RESOURCE_NAME_BYTES_MAX
               ? 0
               : REFUSE(checker, "%s.resource.name_bytes_max has to be from %d to %d",
                        checker->place, TR_CARD_RESOURCE_NAME_BYTES_MIN,
                        TR_CARD_RESOURCE_NAME_BYTES_MAX);
}

/* --------------------------------------------------------------------------------------- rules */

/* A path goes through mappings: names with a . between them. */
static int check_path(const struct checker *checker, const char *place, struct tr_text path)
{
    bool is_first = true;
    bool is_good = path.size > 0 && path.size <= 200;
    bool is_list = path.size >= 11 && memcmp(path.data, "conditions.", 11) == 0;
    for (size_t i = 0; i < path.size && is_good; i++) {
        char letter = path.data[i];
        is_list = is_list || letter == '[' || (is_first && letter >= '0' && letter <= '9');
        is_good =
            (letter == '.' ? !is_first : letter > ' ') && (letter != '.' || i + 1 < path.size);
        is_first = letter == '.';
    }
    if (is_list) {
        return REFUSE(checker,
                      "%s: the path '%.*s' leads into a list: of conditions use "
                      "`condition: TYPE`",
                      place, (int)path.size, path.data);
    }
    return is_good ? 0
                   : REFUSE(checker, "%s: '%.*s' is no path: write names with a . between them",
                            place, (int)path.size, path.data == NULL ? "" : path.data);
}

/* What a path's value is held against: a word, null, or a list of words. */
static bool is_wanted_word(struct tr_bytes value, bool is_in_list)
{
    enum tr_codec_type type = tr_json_type(value);
    struct tr_json_walk walk = tr_json_walk(value);
    if (type == TR_CODEC_ARRAY && !is_in_list) {
        bool is_good = true;
        while (is_good && tr_json_next(&walk)) {
            is_good = is_wanted_word(walk.value, true);
        }
        return is_good;
    }
    return type == TR_CODEC_TEXT || type == TR_CODEC_UNSIGNED || type == TR_CODEC_SIGNED ||
           type == TR_CODEC_BOOL || type == TR_CODEC_NIL;
}

static int check_when(const struct checker *checker, const char *place, struct tr_bytes when)
{
    struct tr_json_walk walk = tr_json_walk(when);
    int error = 0;
    while (error == 0 && tr_json_next(&walk)) {
        error = check_path(checker, place, walk.name);
        if (error == 0 && !is_wanted_word(walk.value, false)) {
            error = REFUSE(checker,
                           "%s.when: '%.*s' is held against a word, a number, null, or a "
                           "list of them",
                           place, (int)walk.name.size, walk.name.data);
        }
    }
    return error;
}

static bool is_phase(struct tr_text name)
{
    for (size_t i = 0; i < tri_card_phase_count; i++) {
        if (tr_text_equal(name, tr_text_of(tri_card_phases[i].name))) {
            return true;
        }
    }
    return false;
}

static int check_rule(const struct checker *checker, uint32_t number, struct tr_bytes rule)
{
    static const struct tr_config_key keys[] = {
        {"when", TR_CODEC_MAP},   {"condition", TR_CODEC_TEXT}, {"reason", TR_CODEC_NONE},
        {"phase", TR_CODEC_TEXT}, {"whose", TR_CODEC_TEXT},     {"code", TR_CODEC_TEXT},
        {"retry", TR_CODEC_BOOL}, {"message", TR_CODEC_TEXT}};
    char below[40];
    char place[240];
    struct tr_text whose = tr_json_text(tr_json_get(rule, "whose"));
    struct tr_text message = tr_json_text(tr_json_get(rule, "message"));
    struct tr_bytes when = tr_json_get(rule, "when");
    struct tr_text phase = tr_json_text(tr_json_get(rule, "phase"));
    bool has_condition = tr_json_text(tr_json_get(rule, "condition")).size > 0;
    (void)snprintf(below, sizeof below, ".status.%u", number);
    (void)snprintf(place, sizeof place, "%s%s", checker->place, below);
    int error = check_map(checker, below, rule, keys, TR_COUNT_OF(keys));
    if (error == 0 && !is_phase(phase)) {
        return REFUSE(checker,
                      "%s.phase is one of queued, initializing, running, succeeded, failed", place);
    }
    if (error == 0 && when.size == 0 && !has_condition) {
        return REFUSE(checker, "%s fits nothing: add `when` or `condition`", place);
    }
    if (error == 0 && tr_json_get(rule, "reason").size > 0 && !has_condition) {
        return REFUSE(checker, "%s.reason is that of a `condition`: add one", place);
    }
    if (error == 0 && whose.size > 0 && !tr_text_equal(whose, tr_text_of("user")) &&
        !tr_text_equal(whose, tr_text_of("system"))) {
        return REFUSE(checker, "%s.whose is user or system", place);
    }
    if (error == 0 && message.size > 0) {
        error = check_path(checker, place, message);
    }
    return error != 0 ? error : check_when(checker, place, when);
}

static int check_rules(const struct checker *checker, struct tr_bytes rules)
{
    struct tr_json_walk walk = tr_json_walk(rules);
    uint32_t number = 0;
    bool has_success = false;
    int error = 0;
    if (tr_json_type(rules) != TR_CODEC_ARRAY) {
        return REFUSE(checker, "%s.status has to be a list of rules", checker->place);
    }
    while (error == 0 && tr_json_next(&walk)) {
        struct tr_text phase = tr_json_text(tr_json_get(walk.value, "phase"));
        has_success = has_success || tr_text_equal(phase, tr_text_of("succeeded"));
        error = number < TR_CARD_RULES_MAX ? check_rule(checker, number++, walk.value)
                                           : REFUSE(checker, "%s.status has more than %d rules",
                                                    checker->place, TR_CARD_RULES_MAX);
    }
    return error != 0 || has_success
               ? error
               : REFUSE(checker,
                        "%s.status has no rule with `phase: succeeded`, so no task of it "
                        "would ever succeed: add one",
                        checker->place);
}

/* ---------------------------------------------------------------------------------------- card */

static int check_making(const struct checker *checker, struct tr_bytes card, bool is_card)
{
    struct tri_card_making making;
    struct tr_bytes made;
    tri_card_begin(&making, NULL, (struct tr_text){0});
    int error =
        is_card ? tri_card_make(&making, card, &made) : tri_card_make_tree(&making, card, &made);
    return error == 0 ? 0 : REFUSE(checker, "%s.%s", checker->place, making.problem);
}

int tri_card_check(const char *place, struct tr_bytes card, char *problem, size_t problem_size)
{
    static const struct tr_config_key keys[] = {{"resource", TR_CODEC_MAP},
                                                {"let", TR_CODEC_MAP},
                                                {"make", TR_CODEC_MAP},
                                                {"status", TR_CODEC_ARRAY},
                                                {"log", TR_CODEC_TEXT}};
    const struct checker checker = {.place = place, .problem = problem, .size = problem_size};
    struct tr_text log = tr_json_text(tr_json_get(card, "log"));
    if (card.size > TR_CARD_BYTES_MAX) {
        return REFUSE(&checker, "%s has %zu bytes; a card has at most %u: shorten it", place,
                      card.size, TR_CARD_BYTES_MAX);
    }
    int error = check_map(&checker, "", card, keys, TR_COUNT_OF(keys));
    if (error == 0) {
        error = check_resource(&checker, tr_json_get(card, "resource"));
    }
    if (error == 0 && tr_json_type(tr_json_get(card, "make")) != TR_CODEC_MAP) {
        error = REFUSE(&checker, "%s.make is missing: say how a resource is made", place);
    }
    if (error == 0) {
        error = check_rules(&checker, tr_json_get(card, "status"));
    }
    if (error == 0 && log.size > 0) {
        error = check_path(&checker, place, log);
    }
    return error != 0 ? error : check_making(&checker, card, true);
}

int tri_card_check_status(const char *place, struct tr_bytes rules, char *problem,
                          size_t problem_size)
{
    const struct checker checker = {.place = place, .problem = problem, .size = problem_size};
    return rules.size <= TR_CARD_BYTES_MAX
               ? check_rules(&checker, rules)
               : REFUSE(&checker, "%s.status has %zu bytes; rules have at most %u", place,
                        rules.size, TR_CARD_BYTES_MAX);
}

int tri_card_check_make(const char *place, struct tr_bytes tree, char *problem, size_t problem_size)
{
    const struct checker checker = {.place = place, .problem = problem, .size = problem_size};
    return tree.size <= TR_CARD_BYTES_MAX
               ? check_making(&checker, tree, false)
               : REFUSE(&checker, "%s has %zu bytes; a manifest has at most %u", place, tree.size,
                        TR_CARD_BYTES_MAX);
}
