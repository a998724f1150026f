/*
 * Resources by cards, as the API server shows them: what their status means, by the rules of the
 * card that they name, or by the rules that travel with them as an annotation.
 *
 * Nobody sees whether an operator runs but by what it does: a resource without a status is one that
 * nobody has looked at. Then, and where the cluster does not know the kind, the job has a grace.
 */
#include "plugins/kubernetes/kubernetes.h"

#define RULES_MEMBER "$rules"

/* ------------------------------------------------------------------------------------- writing */

/* The task's own rules as JSON among the annotations, in the place of a member of the body. */
static void add_rules(struct tr_build *build, struct tr_bytes map, struct tr_text rules)
{
    struct tr_json_walk walk = tr_json_walk(map);
    tr_build_map(build);
    while (tr_json_next(&walk)) {
        tr_build_name(build, walk.name);
        tr_build_value(build, walk.value);
    }
    tr_build_member_text(build, TRI_KUBERNETES_RULES_ANNOTATION, rules);
    tr_build_end(build);
}

static void add_metadata(struct tr_build *build, struct tr_bytes metadata, struct tr_text rules)
{
    struct tr_json_walk walk = tr_json_walk(metadata);
    tr_build_map(build);
    while (tr_json_next(&walk)) {
        tr_build_name(build, walk.name);
        if (tr_text_equal(walk.name, tr_text_of("annotations"))) {
            add_rules(build, walk.value, rules);
        } else {
            tr_build_value(build, walk.value);
        }
    }
    tr_build_end(build);
}

int tri_kubernetes_write_body(struct tr_webapi_batch *batch, struct tr_bytes job,
                              struct tr_bytes *body)
{
    struct tr_bytes rules = tr_json_get(job, RULES_MEMBER);
    struct tr_json_walk walk = tr_json_walk(job);
    struct tr_build build = tr_build_of_batch(batch);
    struct tr_bytes json = {0};
    if (rules.size == 0) {
        return batch->api->write_json(batch, job, body);
    }
    int error = batch->api->write_json(batch, rules, &json);
    if (error != 0) {
        return error;
    }
    const struct tr_text text = {.data = (const char *)json.data, .size = json.size};
    tr_build_map(&build);
    while (tr_json_next(&walk)) {
        bool is_rules = tr_text_equal(walk.name, tr_text_of(RULES_MEMBER));
        if (is_rules) {
            continue;
        }
        tr_build_name(&build, walk.name);
        if (tr_text_equal(walk.name, tr_text_of("metadata"))) {
            add_metadata(&build, walk.value, text);
        } else {
            tr_build_value(&build, walk.value);
        }
    }
    tr_build_end(&build);
    return tr_build_json(&build, batch, body);
}

/* ------------------------------------------------------------------------------------- waiting */

/* "rayjobs.ray.io" */
static struct tr_text kind_words(struct tr_webapi_batch *batch,
                                 const struct tri_kubernetes_group *group)
{
    struct tri_kubernetes_kind kind;
    if (!tri_kubernetes_kind_read(group->kind, &kind)) {
        return group->kind;
    }
    return tri_kubernetes_format(batch, "%.*s%s%.*s", (int)kind.plural.size, kind.plural.data,
                                 kind.group.size > 0 ? "." : "", (int)kind.group.size,
                                 kind.group.size > 0 ? kind.group.data : "");
}

/* The end of who waits for an operator for too long: the cluster's, so it costs no retry. */
static void give_grace(struct tr_webapi_batch *batch, struct tr_webapi_report *report,
                       const char *code, struct tr_text message)
{
    uint64_t ms = tri_kubernetes_operator_timeout_ms(batch->endpoint);
    report->grace_ms = ms < UINT32_MAX ? (uint32_t)ms : UINT32_MAX;
    report->grace_phase = TR_TASK_PHASE_RETRYABLE_FAILURE;
    report->failure = TR_FAILURE_SYSTEM;
    report->code = tr_text_of(code);
    report->message = message;
}

int tri_kubernetes_report_no_kind(struct tr_webapi_batch *batch,
                                  const struct tri_kubernetes_group *group)
{
    struct tri_kubernetes_kind kind;
    struct tr_text words = kind_words(batch, group);
    if (!tri_kubernetes_kind_read(group->kind, &kind)) {
        return TR_INVALID;
    }
    struct tr_text reason = tri_kubernetes_format(
        batch,
        "the cluster does not know %.*s of version %.*s: install its operator, or let the card "
        "name a version that is there",
        (int)words.size, words.data, (int)kind.version.size, kind.version.data);
    struct tr_webapi_report report = {
        .identity = batch->items[0].identity, .news = TR_WEBAPI_LATER, .reason = reason};
    give_grace(batch, &report, "OperatorNotInstalled", reason);
    return batch->api->report(batch, &report);
}

/* ------------------------------------------------------------------------------------- reading */

/* Its rules: of the card that it names, or its own. Empty: its card is not there any more. */
static int find_rules(struct tr_webapi_batch *batch, const struct tr_bytes *members,
                      struct tri_card *card, struct tr_bytes *rules)
{
    struct tr_text name = {0};
    struct tr_text own = {0};
    int error = tr_scan_text(batch, members[TRI_KUBERNETES_CARD], &name);
    if (error == 0) {
        error = tr_scan_text(batch, members[TRI_KUBERNETES_RULES], &own);
    }
    *rules = (struct tr_bytes){0};
    *card = (struct tri_card){.name = name};
    if (error == 0 && own.size > 0) {
        struct tr_bytes json = {.data = (const uint8_t *)own.data, .size = own.size};
        error = batch->api->read_json(batch, json, rules);
        return error == TR_INVALID || error == TR_LIMIT ? 0 : error;
    }
    if (error == 0 && tri_card_find(tr_json_get(batch->endpoint->config, "cards"), name, card)) {
        *rules = tr_json_get(card->value, "status");
    }
    return error;
}

/* Whether nobody has looked at it: no status, or an empty one. */
static bool is_unseen(struct tr_bytes status)
{
    size_t marks = 0;
    for (size_t i = 0; i < status.size; i++) {
        marks += status.data[i] > ' ' ? 1 : 0;
    }
    return tr_scan_is_none(status) || marks <= 2;
}

int tri_kubernetes_read_resource(struct tr_webapi_batch *batch,
                                 const struct tri_kubernetes_group *group,
                                 const struct tr_bytes *members, struct tr_webapi_report *report)
{
    struct tri_card card;
    struct tr_bytes rules;
    struct tr_bytes status = members[TRI_KUBERNETES_STATUS];
    struct tr_text words = kind_words(batch, group);
    int error = find_rules(batch, members, &card, &rules);
    if (error != 0) {
        return error;
    }
    if (is_unseen(status)) {
        report->phase = TR_TASK_PHASE_QUEUED;
        report->reason = tri_kubernetes_format(
            batch, "waits for the operator of %.*s to look at it", (int)words.size, words.data);
        give_grace(
            batch, report, "OperatorTimeout",
            tri_kubernetes_format(
                batch,
                "no operator of %.*s has looked at it within %llu s: is "
                "it running, and does it see this namespace?",
                (int)words.size, words.data,
                (unsigned long long)tri_kubernetes_operator_timeout_ms(batch->endpoint) / 1000));
        return 0;
    }
    if (rules.size == 0) {
        report->reason = tri_kubernetes_format(
            batch, "its card '%.*s' is not in the settings any more: put it back",
            (int)card.name.size, card.name.data == NULL ? "" : card.name.data);
        return 0;
    }
    error = tri_card_read_status(batch, rules, status, report);
    struct tr_text log = tr_json_text(tr_json_get(card.value, "log"));
    return error != 0 || log.size == 0 ? error
                                       : tri_card_text_at(batch, status, log, &report->log_uri);
}
