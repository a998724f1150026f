/*
 * Notifications as they are written, beyond what examples/README.md shows: bounds, forms that are
 * wrong, and templates in places where they mean nothing.
 */
#include <stdio.h>
#include <string.h>

#include "actors/graph/compiler/compile.h"
#include "actors/graph/document/limits.h"
#include "schemas/engine/notify.h"
#include "tests/unit/actors/graph/help.h"

#define TEXT_BYTES 200000

static const char head[] = "troupe: 1\n"
                           "workflows: {w: {nodes: {s: {sleep: 1s}}}}\n"
                           "launch_plans: {p: {workflow: w, notify: [\n";

static char text[TEXT_BYTES];

/* What is told of a definition whose plan has these notifications, without the place. */
static const char *told_of(struct help *help, const char *notifications)
{
    struct tr_graph *graph = NULL;
    (void)snprintf(text, sizeof text, "%s%s]}}\n", head, notifications);
    struct tr_definition_source request = {
        .path = tr_text_of("t"), .folder = tr_text_of("/f"), .text = tr_text_of(text)};
    int error = tr_graph_compile(&request, &help->report, &graph);
    tr_graph_free(graph);
    const char *told = help_errors(help);
    assert_int_equal(error == 0, strstr(told, "warning:") != NULL || told[0] == '\0');
    return told;
}

static void expect(const char *notifications, const char *wanted)
{
    struct help help;
    help_init(&help);
    const char *told = told_of(&help, notifications);
    if (wanted[0] == '\0' ? told[0] != '\0' : strstr(told, wanted) == NULL) {
        fail_msg("%s\nwanted: %s\ngot: %s", notifications, wanted, told);
    }
    help_fini(&help);
}

#define HTTP(rest) "{on: failed, http: {url: 'http://h'" rest "}}"

static void test_forms(void **state)
{
    (void)state;
    static const struct {
        const char *notification;
        const char *told;
    } cases[] = {
        {"{on: [], command: [x]}", "on names no phase; write some of: succeeded failed"},
        {"{on: [[failed]], command: [x]}", "a list is no value for 'on'"},
        {"{on: failed, http: 'http://h'}", "http is a mapping, and this is text"},
        {"{on: failed, mail: a@b.c}", "mail is a mapping, and this is text"},
        {"{on: failed, command: [[x]]}", "a list is no value for 'command'; write text"},
        {"{on: failed, command: [x, '']}", "'' is no value for 'command'; write text"},
        {"{on: failed, http: {url: 'http://u:p@h/x'}}", "is no URL that can be asked"},
        {"{on: failed, http: {url: 'http://'}}", "is no URL that can be asked"},
        {"{on: failed, http: {url: 'http://h/a b'}}", "is no URL that can be asked"},
        {"{on: failed, http: {url: '{{.project}}'}}", "is no URL that can be asked"},
        {"{on: failed, http: {url: [x]}}", "a list is no value for 'url'"},
        {HTTP(", headers: [a]"), "headers is a mapping, and this is a list"},
        {HTTP(", headers: {A: [b]}"), "a list is no value for 'headers'"},
        {HTTP(", secrets: [a]"), "secrets is a mapping, and this is a list"},
        {HTTP(", authorization: {}"), "authorization is one of bearer and basic"},
        {HTTP(", authorization: {bearer: a/b, basic: a/b}"),
         "authorization is one of bearer and basic"},
        {"{on: failed, mail: {to: []}}", "to has 0 addresses; write some, at most 64"},
        {"{on: failed, mail: {to: [a@b.c, -x@b.c]}}", "'-x@b.c' is no address of a mail"},
        {"{on: failed, mail: {to: 'a b@c'}}", "'a b@c' is no address of a mail"},
        {"{on: failed, mail: {to: {a: b}}}", "a mapping is no address of a mail"},
        {"{on: failed, mail: {to: '@b'}}", "'@b' is no address of a mail"},
        {"{on: failed, mail: {to: a@b.c, subject: [x]}}", "a list is no value for 'subject'"},
        {"{on: failed, mail: {to: a@b.c}, secrets: {A: b/c}}",
         "'secrets' beside 'mail' has no meaning; remove it"},
        {"{on: failed, command: [x], timeout: 0s}", "'0s' is no value for 'timeout'"},
    };
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        expect(cases[i].notification, cases[i].told);
    }
}

static void test_templates(void **state)
{
    (void)state;
    static const struct {
        const char *notification;
        const char *told;
    } cases[] = {
        {"{on: failed, command: [x, '{{ $PHASE | quote }}', '{{`{{`}}']}", ""},
        {HTTP(", body: {a: [{b: '{{.labels.example.org/team}}'}, 1, null]}"), ""},
        {"{on: failed, command: [x, '{{.phase']}", "the template '{{.phase' has no end"},
        {"{on: failed, command: [x, '{{phase}}']}", "did you mean {{.phase}}?"},
        {"{on: failed, command: [x, '{{.phase | upper}}']}",
         "the template {{.phase | upper}} names nothing that a notification knows"},
        {"{on: failed, command: [x, '{{.namespace}}']}",
         "the template {{.namespace}} names nothing that a notification knows"},
        {"{on: failed, command: [x, '{{.labels.a b}}']}", "'a b' is no key of a label"},
        {HTTP(", body: {'{{.phase}}': 1}"), "the template {{.phase}} is not filled in here"},
        {HTTP(", secrets: {A: '{{.phase}}/b'}"), "the template {{.phase}} is not filled in here"},
        {"{on: failed, command: [x], secrets: {A: '{{.phase}}/b'}}",
         "the template {{.phase}} is not filled in here"},
        {"{on: failed, mail: {to: '{{.phase}}@b'}}",
         "the template {{.phase}} is not filled in here"},
        {"{on: failed, command: [sh, -c, \"echo '{{.error | quote}}'\"]}",
         "{{.error | quote}} brings its own quotes, and stands inside of others"},
        {"{on: failed, command: [sh, -c, 'echo {{.error | quote}}']}", ""},
    };
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        expect(cases[i].notification, cases[i].told);
    }
}

/* So many of something, one behind the other. */
static const char *many(const char *before, uint32_t count, const char *format, const char *after)
{
    static char made[TEXT_BYTES];
    size_t size = (size_t)snprintf(made, sizeof made, "%s", before);
    for (uint32_t i = 0; i < count; i++) {
        char one[64];
        (void)snprintf(one, sizeof one, "%u", i);
        for (const char *at = format; *at != '\0'; at++) {
            size += (size_t)snprintf(made + size, sizeof made - size, "%s",
                                     *at == '#' ? one : (char[2]){*at, '\0'});
        }
    }
    (void)snprintf(made + size, sizeof made - size, "%s", after);
    return made;
}

static void test_bounds(void **state)
{
    (void)state;
    expect(many("", TR_NOTIFICATIONS_MAX, "{on: failed, command: [x]},", ""), "");
    expect(many("", TR_NOTIFICATIONS_MAX + 1, "{on: failed, command: [x]},", ""),
           "notify has 65 notifications, more than 64; leave some out");
    expect(many("{on: failed, mail: {to: [", TR_MAIL_ADDRESSES_MAX, "a#@b.c,", "]}}"), "");
    expect(many("{on: failed, mail: {to: [", TR_MAIL_ADDRESSES_MAX + 1, "a#@b.c,", "]}}"),
           "to has 65 addresses; write some, at most 64");
    expect(many("{on: failed, http: {url: 'http://h', headers: {", 64, "a#: b,", "}}}"), "");
    expect(many("{on: failed, http: {url: 'http://h', headers: {", 65, "a#: b,", "}}}"),
           "headers has 65 headers, more than 64; leave some out");
    expect(many("{on: failed, http: {url: 'http://h', secrets: {", TR_NOTIFY_SECRETS_MAX,
                "a#: b/c,", "}}}"),
           "");
    expect(many("{on: failed, http: {url: 'http://h', secrets: {", TR_NOTIFY_SECRETS_MAX + 1,
                "a#: b/c,", "}}}"),
           "a request has at most 8 secrets; leave some out");
    expect(
        many("{on: failed, command: [x], secrets: {", TR_NOTIFY_SECRETS_MAX + 1, "a#: b/c,", "}}"),
        "a notification has at most 8 secrets; leave some out");
    expect(many("{on: failed, command: [", TR_RUN_WORDS_MAX + 1, "x,", "]}"),
           "command has 4097 words");
    expect(many("{on: failed, command: [", 4000, "abcdefghijklmnopqr,", "]}"),
           "the notification has more than 65536 bytes; shorten its texts");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_templates),
        cmocka_unit_test(test_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
