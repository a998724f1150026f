/*
 * Cards: those of ours, those that are refused, what expressions give, what is made of Flyte's
 * messages, and what a status means.
 */
#include "plugins/cards/cards.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/fake_batch.h"
#include "tests/support/fake_task.h"

static struct fake_task fake;
static struct fake_batch batch;

static int set_up(void **state)
{
    (void)state;
    fake_init(&fake);
    fake_batch_init(&batch);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    fake_fini(&fake);
    return 0;
}

/* ---------------------------------------------------------------------------------------- ours */

static void test_ours_are_good(void **state)
{
    (void)state;
    char problem[700] = "";
    assert_int_equal(tri_cards_ours_count, 8);
    for (size_t i = 0; i < tri_cards_ours_count; i++) {
        const struct tr_bytes card = {.data = tri_cards_ours[i].bytes,
                                      .size = tri_cards_ours[i].size};
        int error = tri_card_check(tri_cards_ours[i].name, card, problem, sizeof problem);
        assert_string_equal(problem, "");
        assert_int_equal(error, 0);
        assert_true(strlen(tri_cards_ours[i].name) <= TR_CARD_NAME_BYTES_MAX);
    }
}

static void test_cards_of_ones_own_go_before_ours(void **state)
{
    (void)state;
    struct tri_card card;
    struct tr_bytes own = fake_value("{\"ray\":{\"mine\":1},\"train\":{}}");
    assert_true(tri_card_find(own, tr_text_of("ray"), &card));
    assert_string_equal(fake_json(card.value), "{\"mine\":1}");
    assert_true(tri_card_find(own, tr_text_of("train"), &card));
    assert_true(tri_card_find(own, tr_text_of("dask"), &card));
    assert_false(tri_card_find(own, tr_text_of("echo"), &card));
}

/* ------------------------------------------------------------------------------------- refused */

#define CARD(resource, make, status) \
    "{\"resource\":" resource ",\"make\":" make ",\"status\":" status "}"
#define RESOURCE \
    "{\"group\":\"example.com\",\"version\":\"v1\",\"plural\":\"trains\",\"kind\":\"Train\"}"
#define STATUS "[{\"when\":{\"state\":\"Done\"},\"phase\":\"succeeded\"}]"
#define MAKE(text) CARD(RESOURCE, "{\"spec\":{\"a\":" text "}}", STATUS)
#define RULES(text) CARD(RESOURCE, "{}", text)

static const struct {
    const char *card;
    const char *words;
} bad[] = {
    {"[]", "place has to be a mapping"},
    {"{\"status\":[],\"makes\":{}}", "'makes'"},
    {CARD("{}", "{}", STATUS), "place.resource.version has to be of small letters, digits and -"},
    {CARD("{\"version\":\"v1\",\"plural\":\"a/b\",\"kind\":\"A\"}", "{}", STATUS),
     "place.resource.plural has to be of small letters, digits and -"},
    {CARD("{\"version\":\"v1\",\"plural\":\"as\"}", "{}", STATUS),
     "place.resource.kind is missing"},
    {CARD("{\"version\":\"v1\",\"plural\":\"as\",\"kind\":\"A\",\"scope\":\"all\"}", "{}", STATUS),
     "place.resource.scope is namespace or cluster"},
    {CARD("{\"version\":\"v1\",\"plural\":\"as\",\"kind\":\"A\",\"name_bytes_max\":9}", "{}",
          STATUS),
     "place.resource.name_bytes_max has to be from 20 to 63"},
    {CARD("{\"group\":\"A\",\"version\":\"v1\",\"plural\":\"as\",\"kind\":\"A\"}", "{}", STATUS),
     "place.resource.group has to be of small letters, digits, - and ."},
    {"{\"resource\":" RESOURCE ",\"status\":" STATUS "}", "place.make is missing"},
    {MAKE("\"${nothing(1)}\""), "place.make.spec.a: there is no function nothing: it is one of "
                                "decode, default, "},
    {MAKE("\"${nobody.x}\""), "place.make.spec.a: nothing is called nobody: a card has custom, "},
    {MAKE("\"${custom.a[0]}\""), "a path goes through mappings, and not into a list"},
    {MAKE("\"${custom.0}\""), "a path goes through mappings, and not into a list"},
    {MAKE("\"${custom.}\""), "a name has to follow each '.' of a path"},
    {MAKE("\"${custom\""), "place.make.spec.a: ${ has no }"},
    {MAKE("\"${'a}\""), "place.make.spec.a: ${ has no }"},
    {MAKE("\"${}\""), "an expression is missing"},
    {MAKE("\"${custom x}\""), "what is behind the expression is too much: x"},
    {MAKE("\"${-1}\""), "an expression begins with a name, a number or a 'text', and not with -"},
    {MAKE("\"${number()}\""), "number has 1 to 12 arguments, and not 0"},
    {MAKE("\"${number(custom}\""), "need ',' between them and ')' behind them"},
    {MAKE("\"${99999999999}\""), "is too large a number"},
    {MAKE("\"${list(list(list(list(list(list(list(list(list(list(list(list(list(list(list(list("
          "list(1)))))))))))))))))}\""),
     "an expression has at most 16 functions in each other"},
    {MAKE("{\"$loop\":1}"), "there is no $loop: it is one of $pod, $each, $when"},
    {MAKE("{\"$pod\":{}}"), "place.make.spec.a.$pod: a pod needs a role: {$pod: {role: worker}}"},
    {MAKE("{\"$pod\":{\"role\":\"x\",\"colour\":\"red\"}}"), "colour is not known beside role"},
    {MAKE("{\"$each\":\"${custom.x}\",\"as\":\"task\",\"make\":1}"),
     "the name task has a meaning already: choose another"},
    {MAKE("{\"$each\":\"${custom.x}\",\"as\":\"9\",\"make\":1}"), "'9' is no name"},
    {MAKE("{\"$when\":\"${custom.x}\",\"than\":1}"), "than is not known beside $when"},
    {"{\"resource\":" RESOURCE ",\"make\":{},\"status\":" STATUS
     ",\"let\":{\"a\":\"${b}\",\"b\":\"${list(a)}\"}}",
     "place.let.b: a leads back to itself"},
    {RULES("{}"), "place.status has to be a list, not a mapping"},
    {RULES("[]"), "place.status has no rule with `phase: succeeded`, so no task of it would ever "
                  "succeed: add one"},
    {RULES("[{\"when\":{\"a\":1},\"phase\":\"failed\"}]"), "no rule with `phase: succeeded`"},
    {RULES("[{\"phase\":\"succeeded\"}]"),
     "place.status.0 fits nothing: add `when` or `condition`"},
    {RULES("[{\"when\":{},\"phase\":\"done\"}]"),
     "place.status.0.phase is one of queued, initializing, running, succeeded, failed"},
    {RULES("[{\"when\":{\"conditions.type\":1},\"phase\":\"succeeded\"}]"),
     "the path 'conditions.type' leads into a list: of conditions use `condition: TYPE`"},
    {RULES("[{\"when\":{\"a.0.b\":1},\"phase\":\"succeeded\"}]"), "'a.0.b' leads into a list"},
    {RULES("[{\"when\":{\"a[1]\":1},\"phase\":\"succeeded\"}]"), "'a[1]' leads into a list"},
    {RULES("[{\"when\":{\"a..b\":1},\"phase\":\"succeeded\"}]"), "'a..b' is no path"},
    {RULES("[{\"when\":{\"a\":{}},\"phase\":\"succeeded\"}]"),
     "'a' is held against a word, a number, null, or a list of them"},
    {RULES("[{\"when\":{},\"phase\":\"succeeded\",\"whose\":\"nobody\"}]"),
     "place.status.0.whose is user or system"},
    {RULES("[{\"when\":{},\"phase\":\"succeeded\",\"reason\":\"x\"}]"),
     "place.status.0.reason is that of a `condition`"},
    {RULES("[{\"when\":{},\"phase\":\"succeeded\",\"colour\":\"x\"}]"), "'colour'"},
};

static void test_bad_cards_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < TR_COUNT_OF(bad); i++) {
        char problem[700] = "";
        int error = tri_card_check("place", fake_value(bad[i].card), problem, sizeof problem);
        if (error != TR_INVALID || strstr(problem, bad[i].words) == NULL) {
            print_error("card %s\nsays   %s\nnot    %s\n", bad[i].card, problem, bad[i].words);
        }
        assert_int_equal(error, TR_INVALID);
        assert_non_null(strstr(problem, bad[i].words));
    }
}

static void test_a_card_of_10_MB_is_refused(void **state)
{
    (void)state;
    char problem[700];
    size_t size = 10U << 20;
    uint8_t *data = malloc(size);
    assert_non_null(data);
    memset(data, 0x80, size);
    const struct tr_bytes card = {.data = data, .size = size};
    assert_int_equal(tri_card_check("place", card, problem, sizeof problem), TR_INVALID);
    assert_string_equal(problem, "place has 10485760 bytes; a card has at most 65536: shorten it");
    free(data);
}

/* --------------------------------------------------------------------------------- expressions */

#define CUSTOM                                                                                  \
    "{\"n\":3,\"t\":\"it's\",\"e\":\"\",\"real\":2.0,\"half\":1.5,\"yes\":true,\"no\":false,"   \
    "\"l\":[\"a\",\"b c\"],\"m\":{\"x\":1,\"y\":{\"z\":\"deep\"}},\"dots\":{\"a.b\":\"c\"},"    \
    "\"policy\":\"RESTART_POLICY_ON_FAILURE\",\"null\":null,\"b\":\"eyJhIjogMX0=\",\"digits\":" \
    "\"7\"}"

static const struct {
    const char *text;
    const char *json; /* "": it is left out */
} expressions[] = {
    {"plain", "\"plain\""},
    {"${custom.n}", "3"},
    {"a${custom.n}b", "\"a3b\""},
    {"${custom.t}-${custom.yes}", "\"it's-true\""},
    {"$${custom.n} costs $5", "\"${custom.n} costs $5\""},
    {"${custom.nothing}", ""},
    {"a-${custom.nothing}", ""},
    {"${custom.e}", ""},
    {"${custom.null}", ""},
    {"${custom.m.y.z}", "\"deep\""},
    {"${custom.m.y.z.q}", ""},
    {"${custom.n.q}", ""},
    {"${custom.dots.'a.b'}", "\"c\""},
    {"${'a}b'}", "\"a}b\""},
    {"${default(custom.nothing, custom.e, 'x')}", "\"x\""},
    {"${default(custom.nothing, 5)}", "5"},
    {"${default(custom.no, true)}", "false"},
    {"${number(custom.real)}", "2"},
    {"${number(custom.digits)}", "7"},
    {"${number(custom.m, custom.n)}", "3"},
    {"${number(custom.nothing)}", ""},
    {"${max(1, custom.n)}", "3"},
    {"${min(1, custom.n)}", "1"},
    {"${text(custom.n)}", "\"3\""},
    {"${text(custom.yes)}", "\"true\""},
    {"${enum(custom.policy, 'Always', 'OnFailure', 'Never')}", "\"OnFailure\""},
    {"${enum(2, 'Always', 'OnFailure', 'Never')}", "\"Never\""},
    {"${enum(custom.nothing, 'Always')}", ""},
    {"${merge(custom.m, custom.dots)}", "{\"x\":1,\"y\":{\"z\":\"deep\"},\"a.b\":\"c\"}"},
    {"${list(1, custom.l, custom.nothing)}", "[1,\"a\",\"b c\"]"},
    {"${list()}", "[]"},
    {"${join(custom.l, '+')}", "\"a+b c\""},
    {"${shell(list('echo', custom.t, ''))}", "\"'echo' 'it'\\\\''s'\""},
    {"${if(custom.yes, 'a', 'b')}", "\"a\""},
    {"${if(custom.no, 'a', 'b')}", "\"b\""},
    {"${if(equal(custom.n, 3), 'a')}", "\"a\""},
    {"${if(custom.nothing, 'a')}", ""},
    {"${first(custom.l)}", "\"a\""},
    {"${first(custom.n)}", ""},
    {"${decode(custom.b)}", "\"{\\\"a\\\": 1}\""},
};

static struct tri_card_making making;

static void begin(const char *custom)
{
    tri_card_begin(&making, &fake.context, tr_text_of("train"));
    tri_card_give(&making, "custom", fake_value(custom));
}

static void test_expressions(void **state)
{
    (void)state;
    for (size_t i = 0; i < TR_COUNT_OF(expressions); i++) {
        begin(CUSTOM);
        struct tr_bytes value = tri_card_fill(&making, tr_text_of(expressions[i].text));
        const char *json = value.size == 0 ? "" : fake_json(value);
        if (making.error != 0 || strcmp(json, expressions[i].json) != 0) {
            print_error("%s gives %s and not %s (%s)\n", expressions[i].text, json,
                        expressions[i].json, making.problem);
        }
        assert_int_equal(making.error, 0);
        assert_string_equal(json, expressions[i].json);
    }
}

static const struct {
    const char *text;
    const char *words;
} wrong[] = {
    {"${need(custom.nothing)}", "custom.nothing is missing, which the card 'train' needs"},
    {"${number(custom.t)}", "custom.t has to be a whole number"},
    {"${number(custom.half)}", "custom.half has to be a whole number"},
    {"${positive(custom.nothing)}", "custom.nothing has to be at least 1"},
    {"${text(custom.m)}", "custom.m has to be a text or a number"},
    {"${enum(custom.t, 'A', 'B')}", "custom.t has a value that the card 'train' does not know"},
    {"${decode(custom.t)}", "custom.t has to be base64"},
    {"a${custom.m}", "has to be a text or a number"},
};

static void test_values_that_cannot_be(void **state)
{
    (void)state;
    for (size_t i = 0; i < TR_COUNT_OF(wrong); i++) {
        begin(CUSTOM);
        assert_int_equal(tri_card_fill(&making, tr_text_of(wrong[i].text)).size, 0);
        assert_int_equal(making.error, TR_INVALID);
        if (strstr(making.problem, wrong[i].words) == NULL) {
            print_error("%s says %s\n", wrong[i].text, making.problem);
        }
        assert_non_null(strstr(making.problem, wrong[i].words));
    }
}

/* ------------------------------------------------------------------------------------ templates */

static const char *made_of(const char *tree)
{
    struct tr_bytes made = {0};
    begin(CUSTOM);
    assert_int_equal(tri_card_make_tree(&making, fake_value(tree), &made), 0);
    return made.size == 0 ? "" : fake_json(made);
}

static void test_trees(void **state)
{
    (void)state;
    assert_string_equal(made_of("{\"a\":\"${custom.nothing}\",\"b\":{\"c\":\"${custom.e}\"}}"), "");
    assert_string_equal(made_of("{\"a\":{},\"b\":[],\"c\":null,\"d\":1}"),
                        "{\"a\":{},\"b\":[],\"d\":1}");
    assert_string_equal(made_of("{\"$each\":\"${custom.l}\",\"as\":\"one\",\"make\":{\"x\":\"-"
                                "${one}\"}}"),
                        "[{\"x\":\"-a\"},{\"x\":\"-b c\"}]");
    assert_string_equal(made_of("{\"$each\":\"${custom.n}\",\"as\":\"one\",\"make\":1}"), "");
    assert_string_equal(made_of("{\"$when\":\"${custom.n}\",\"then\":1,\"else\":2}"), "1");
    assert_string_equal(made_of("{\"$when\":\"${custom.no}\",\"then\":1,\"else\":2}"), "2");
    assert_string_equal(made_of("{\"$when\":\"${number(0)}\",\"then\":1}"), "");
}

/* Three lists of 200 in each other, and a tree of 60 lists. */
static const char *const deep_parts[] = {"{\"$each\":\"${custom.l}\",\"as\":\"a\",\"make\":",
                                         "{\"$each\":\"${custom.l}\",\"as\":\"b\",\"make\":",
                                         "{\"$each\":\"${custom.l}\",\"as\":\"c\",\"make\":"};

static void add_times(char *room, size_t size, const char *part, size_t times)
{
    size_t used = strlen(room);
    for (size_t i = 0; i < times; i++) {
        used += (size_t)snprintf(room + used, size - used, "%s", part);
    }
}

/* What takes too long, or is too deep, is refused and takes no time. */
static void test_bounds(void **state)
{
    (void)state;
    char text[1000] = "";
    char list[2000] = "{\"l\":[1";
    struct tr_bytes made;
    for (size_t i = 0; i < TR_COUNT_OF(deep_parts); i++) {
        add_times(text, sizeof text, deep_parts[i], 1);
    }
    add_times(text, sizeof text, "1", 1);
    add_times(text, sizeof text, "}", TR_COUNT_OF(deep_parts));
    add_times(list, sizeof list, ",1", 200);
    add_times(list, sizeof list, "]}", 1);
    begin(list);
    assert_int_equal(tri_card_make_tree(&making, fake_value(text), &made), TR_INVALID);
    assert_non_null(strstr(making.problem, "this takes more than 20000 steps"));
    text[0] = '\0';
    add_times(text, sizeof text, "[", 60);
    add_times(text, sizeof text, "1", 1);
    add_times(text, sizeof text, "]", 60);
    begin(CUSTOM);
    assert_int_equal(tri_card_make_tree(&making, fake_value(text), &made), TR_INVALID);
    assert_non_null(strstr(making.problem, "it is nested deeper than 24"));
}

/* ------------------------------------------------------------------------ what ours are made of */

#define POD                                                                                   \
    "{\"containers\":[{\"name\":\"t\",\"image\":\"i\",\"command\":[\"/bin/sh\",\"-c\",\"s\"," \
    "\"/f\"],\"args\":[\"train\",\"it's\"],\"env\":[{\"name\":\"A\",\"value\":\"1\"}],"       \
    "\"resources\":{\"requests\":{\"cpu\":\"1\",\"memory\":\"9\"}}}],\"restartPolicy\":"      \
    "\"Never\",\"activeDeadlineSeconds\":60}"
#define TASK                                                                               \
    "{\"argv\":[\"train\",\"it's\"],\"words\":[\"/bin/sh\",\"-c\",\"s\",\"/f\",\"train\"," \
    "\"it's\"],\"timeout_seconds\":60}"

static const char *made_by(const char *name, const char *custom)
{
    struct tri_card card;
    struct tr_bytes made = {0};
    assert_true(tri_card_find((struct tr_bytes){0}, tr_text_of(name), &card));
    tri_card_begin(&making, &fake.context, card.name);
    tri_card_give(&making, "custom", fake_value(custom));
    tri_card_give(&making, "task", fake_value(TASK));
    tri_card_give(&making, "name", fake_value("\"x-m\""));
    tri_card_give(&making, "namespace", fake_value("\"work\""));
    tri_card_give(&making, "pod", fake_value(POD));
    tri_card_give(&making, "steady_pod", fake_value(POD));
    tri_card_give(&making, "labels", fake_value("{\"troupe.dev/attempt\":\"x-0\"}"));
    tri_card_give(&making, "annotations", fake_value("{}"));
    if (tri_card_make(&making, card.value, &made) != 0) {
        return making.problem;
    }
    return fake_json(made);
}

static void has(const char *made, const char *part)
{
    if (strstr(made, part) == NULL) {
        print_error("%s\nlacks %s\n", made, part);
    }
    assert_non_null(strstr(made, part));
}

static void has_not(const char *made, const char *part)
{
    if (strstr(made, part) != NULL) {
        print_error("%s\nhas %s\n", made, part);
    }
    assert_null(strstr(made, part));
}

static void test_pytorch(void **state)
{
    (void)state;
    const char *made = made_by("pytorch", "{\"workers\":2}");
    has(made, "\"Master\":{\"replicas\":1,\"restartPolicy\":\"Never\"");
    has(made, "\"Worker\":{\"replicas\":2,");
    has(made, "\"name\":\"pytorch\"");
    has(made, "\"troupe.dev/role\":\"worker\"");
    has(made, "\"/f/$(TROUPE_POD)\"");
    has(made, "\"runPolicy\":{\"activeDeadlineSeconds\":60,\"cleanPodPolicy\":\"Running\"}");
    has_not(made, "elasticPolicy");
    made = made_by("pytorch",
                   "{\"workerReplicas\":{\"common\":{\"replicas\":3.0,\"image\":\"w\","
                   "\"restartPolicy\":\"RESTART_POLICY_ON_FAILURE\",\"resources\":{\"requests\":[{"
                   "\"name\":\"CPU\",\"value\":\"4\"},{\"name\":\"GPU\",\"value\":\"1\"}]}}},"
                   "\"runPolicy\":{\"cleanPodPolicy\":\"CLEANPOD_POLICY_ALL\","
                   "\"backoffLimit\":4}}");
    has(made, "\"Worker\":{\"replicas\":3,\"restartPolicy\":\"OnFailure\"");
    has(made, "\"image\":\"w\"");
    has(made, "\"limits\":{\"cpu\":\"4\",\"nvidia.com/gpu\":\"1\"}");
    has(made, "\"cleanPodPolicy\":\"All\"");
    has(made, "\"backoffLimit\":4");
    made = made_by("pytorch", "{\"workerReplicas\":{\"replicas\":4},\"elasticConfig\":{"
                              "\"minReplicas\":2,\"maxReplicas\":4,\"nprocPerNode\":8}}");
    has(made, "\"elasticPolicy\":{\"maxReplicas\":4,\"maxRestarts\":0,\"minReplicas\":2,"
              "\"nProcPerNode\":8,\"rdzvBackend\":\"c10d\"}");
    has_not(made, "\"Master\"");
    has_not(made, "TROUPE_POD");
    has(made_by("pytorch", "{}"),
        "make.spec.pytorchReplicaSpecs.Worker.replicas: worker.common.replicas has to be at least "
        "1");
}

static void test_tensorflow(void **state)
{
    (void)state;
    const char *made = made_by("tensorflow", "{\"workers\":2,\"psReplicas\":1}");
    has(made, "\"PS\":{\"replicas\":1,");
    has(made, "\"Worker\":{\"replicas\":2,");
    has_not(made, "Chief");
    made = made_by("tensorflow", "{\"workerReplicas\":{\"common\":{\"replicas\":2}},\"psReplicas\":"
                                 "{\"common\":{}},\"chiefReplicas\":{\"replicas\":1}}");
    has(made, "\"Chief\":{\"replicas\":1,");
    has_not(made, "\"PS\"");
}

/* Slots are kept in both versions; the launcher has the words, and a role that its log goes by. */
static void test_mpi(void **state)
{
    (void)state;
    static const char *const names[] = {"mpi", "mpi-v2beta1"};
    for (size_t i = 0; i < TR_COUNT_OF(names); i++) {
        const char *made = made_by(names[i], "{\"numWorkers\":2,\"slots\":4}");
        has(made, "\"slotsPerWorker\":4");
        has(made, "\"troupe.dev/role\":\"launcher\"");
        has(made, "\"args\":[\"train\",\"it's\"]");
        made = made_by(names[i], "{\"workerReplicas\":{\"common\":{\"replicas\":2},\"command\":["
                                 "\"sshd\",\"-De\"]},\"launcherReplicas\":{\"common\":{\"replicas\""
                                 ":1}},\"slots\":3}");
        has(made, "\"slotsPerWorker\":3");
        has(made, "\"command\":[\"sshd\",\"-De\"]");
    }
}

/* Words are quoted for the shell that they go through, and memory is not taken from cpu. */
static void test_ray(void **state)
{
    (void)state;
    const char *made = made_by(
        "ray", "{\"rayCluster\":{\"headGroupSpec\":{\"k8sPod\":{\"podSpec\":{\"containers\":"
               "[{\"name\":\"ray-head\",\"resources\":{\"requests\":{\"cpu\":\"2\","
               "\"memory\":\"4Gi\"}}}]}}},\"workerGroupSpec\":[{\"groupName\":\"g\","
               "\"replicas\":3,\"minReplicas\":5,\"maxReplicas\":1}]},\"runtimeEnv\":"
               "\"eyJhIjogMX0=\"}");
    has(made, "\"entrypoint\":\"'/bin/sh' '-c' 's' '/f' 'train' 'it'\\\\''s'\"");
    has(made, "\"minReplicas\":3");
    has(made, "\"maxReplicas\":3");
    has(made, "\"requests\":{\"cpu\":\"2\",\"memory\":\"4Gi\"}");
    has(made, "\"runtimeEnvYAML\":\"{\\\"a\\\": 1}\"");
    has(made, "\"name\":\"ray-worker\"");
    has(made, "\"shutdownAfterJobFinishes\":true");
    made = made_by("ray", "{\"rayCluster\":{},\"runtimeEnv\":\"eyJhIjogMX0=\",\"runtimeEnvYaml\":"
                          "\"b: 2\"}");
    has(made, "\"runtimeEnvYAML\":\"b: 2\"");
}

static void test_spark(void **state)
{
    (void)state;
    const char *made =
        made_by("spark",
                "{\"mainApplicationFile\":\"local:///e.py\",\"executorPath\":\"/py\",\"sparkConf\":"
                "{\"spark.driver.memory\":\"1G\",\"spark.executor.instances\":\"2\","
                "\"spark.executor.cores\":\"1\"}}");
    has(made, "\"type\":\"Python\"");
    has(made, "\"arguments\":[\"train\",\"it's\"]");
    has(made, "\"instances\":2");
    has(made, "\"memory\":\"1G\"");
    has(made, "\"spark.pyspark.python\":\"/py\"");
    has(made, "\"spark.kubernetes.executor.podNamePrefix\":\"x-m\"");
    has(made, "\"troupe.dev/role\":\"driver\"");
    has_not(made, "START_TIME");
    has(made_by("spark", "{}"), "make.spec.mainApplicationFile: custom.mainApplicationFile is "
                                "missing, which the card 'spark' needs");
}

static void test_dask_and_job(void **state)
{
    (void)state;
    const char *made = made_by("dask", "{\"workers\":{\"numberOfWorkers\":4,\"image\":\"w\"}}");
    has(made, "\"replicas\":4");
    has(made, "\"name\":\"job-runner\"");
    has(made, "\"restartPolicy\":\"Always\"");
    has(made, "\"dask.org/cluster-name\":\"x-m\"");
    has_not(made, "activeDeadlineSeconds");
    made = made_by("job", "{\"parallelism\":2}");
    has(made, "\"backoffLimit\":0");
    has(made, "\"parallelism\":2");
    has(made, "\"activeDeadlineSeconds\":60");
}

static void test_what_is_made_twice_is_the_same(void **state)
{
    (void)state;
    static const char custom[] = "{\"workers\":2,\"psReplicas\":1,\"numWorkers\":2,"
                                 "\"mainApplicationFile\":\"f\",\"rayCluster\":{}}";
    for (size_t i = 0; i < tri_cards_ours_count; i++) {
        char *first = strdup(made_by(tri_cards_ours[i].name,
                                     strcmp(tri_cards_ours[i].name, "dask") == 0 ? "{}" : custom));
        assert_non_null(first);
        has(first, "\"spec\":");
        assert_string_equal(first,
                            made_by(tri_cards_ours[i].name,
                                    strcmp(tri_cards_ours[i].name, "dask") == 0 ? "{}" : custom));
        free(first);
    }
}

/* -------------------------------------------------------------------------------------- status */

#define SECOND ",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}"
#define IS(type) \
    "{\"type\":\"" type "\",\"status\":\"True\",\"reason\":\"R\",\"message\":\"m\"" SECOND
#define ISNT(type) "{\"type\":\"" type "\",\"status\":\"False\"" SECOND
#define CONDITIONS(list) "{\"conditions\":[" list "]}"
#define SPARK(state) "{\"applicationState\":{\"state\":\"" state "\",\"errorMessage\":\"m\"}}"
#define RAY(deployment, job) \
    "{\"jobDeploymentStatus\":\"" deployment "\",\"jobStatus\":\"" job "\",\"message\":\"m\"}"

static const struct {
    const char *card;
    const char *status;
    uint8_t phase;
    uint8_t failure;
    const char *code;
    const char *words; /* of the message, or of the reason */
} meanings[] = {
    {"pytorch", CONDITIONS(IS("Created")), TR_TASK_PHASE_QUEUED, 0, "", "R: m"},
    {"pytorch", CONDITIONS(IS("Created") "," IS("Running")), TR_TASK_PHASE_RUNNING, 0, "", ""},
    {"pytorch", CONDITIONS(IS("Created") "," IS("Failed")), TR_TASK_PHASE_RETRYABLE_FAILURE,
     TR_FAILURE_USER, "JobFailed", "R: m"},
    {"tensorflow", CONDITIONS(IS("Failed") "," IS("Created")), TR_TASK_PHASE_RETRYABLE_FAILURE,
     TR_FAILURE_USER, "JobFailed", "R: m"},
    {"mpi", CONDITIONS(IS("Created") "," ISNT("Running") "," IS("Succeeded")),
     TR_TASK_PHASE_SUCCESS, 0, "", ""},
    {"mpi", CONDITIONS(IS("Created") "," IS("Suspended")), TR_TASK_PHASE_QUEUED, 0, "", ""},
    {"mpi", CONDITIONS(IS("Odd")), TR_TASK_PHASE_UNDEFINED, 0, "",
     "no rule of its card fits its status: condition Odd"},
    {"spark", SPARK("COMPLETED"), TR_TASK_PHASE_SUCCESS, 0, "", ""},
    {"spark", SPARK("FAILED"), TR_TASK_PHASE_RETRYABLE_FAILURE, TR_FAILURE_USER, "JobFailed", "m"},
    {"spark", SPARK("SUBMISSION_FAILED"), TR_TASK_PHASE_RETRYABLE_FAILURE, TR_FAILURE_SYSTEM,
     "SubmissionFailed", "m"},
    {"spark", SPARK("SUSPENDED"), TR_TASK_PHASE_QUEUED, 0, "", ""},
    {"spark", SPARK(""), TR_TASK_PHASE_QUEUED, 0, "", ""},
    {"spark", SPARK("MELTING"), TR_TASK_PHASE_UNDEFINED, 0, "",
     "no rule of its card fits its status: applicationState.state = MELTING"},
    {"ray", RAY("Complete", "SUCCEEDED"), TR_TASK_PHASE_SUCCESS, 0, "", ""},
    {"ray", RAY("Complete", "FAILED"), TR_TASK_PHASE_RETRYABLE_FAILURE, TR_FAILURE_USER,
     "JobFailed", "m"},
    {"ray", RAY("Complete", "STOPPED"), TR_TASK_PHASE_RETRYABLE_FAILURE, TR_FAILURE_USER,
     "JobFailed", "m"},
    {"ray", RAY("Complete", ""), TR_TASK_PHASE_RETRYABLE_FAILURE, TR_FAILURE_SYSTEM, "JobLost",
     "m"},
    {"ray", RAY("Failed", "FAILED"), TR_TASK_PHASE_RETRYABLE_FAILURE, TR_FAILURE_SYSTEM,
     "ClusterFailed", "m"},
    {"ray", RAY("ValidationFailed", ""), TR_TASK_PHASE_PERMANENT_FAILURE, TR_FAILURE_USER,
     "BadTaskSpecification", "m"},
    {"ray", RAY("Retrying", "FAILED"), TR_TASK_PHASE_RUNNING, 0, "", ""},
    {"ray", RAY("Waiting", ""), TR_TASK_PHASE_QUEUED, 0, "", ""},
    {"ray", RAY("Dreaming", "PENDING"), TR_TASK_PHASE_UNDEFINED, 0, "",
     "jobDeploymentStatus = Dreaming, jobStatus = PENDING"},
    {"dask", "{\"jobStatus\":\"Successful\"}", TR_TASK_PHASE_SUCCESS, 0, "", ""},
    {"dask", "{\"jobStatus\":\"Failed\"}", TR_TASK_PHASE_RETRYABLE_FAILURE, TR_FAILURE_USER,
     "JobFailed", "jobStatus = Failed"},
    {"dask", "{\"jobStatus\":\"ClusterCreated\"}", TR_TASK_PHASE_INITIALIZING, 0, "", ""},
    {"job", CONDITIONS(IS("Complete")), TR_TASK_PHASE_SUCCESS, 0, "", ""},
    {"job",
     "{\"conditions\":[{\"type\":\"Failed\",\"status\":\"True\",\"reason\":"
     "\"DeadlineExceeded\"}]}",
     TR_TASK_PHASE_RETRYABLE_FAILURE, TR_FAILURE_USER, "TimeoutExpired", "DeadlineExceeded"},
    {"job", "{\"active\":1,\"ready\":0}", TR_TASK_PHASE_INITIALIZING, 0, "", ""},
    {"job", "{\"active\":1,\"ready\":1}", TR_TASK_PHASE_RUNNING, 0, "", ""},
};

static void test_status(void **state)
{
    (void)state;
    for (size_t i = 0; i < TR_COUNT_OF(meanings); i++) {
        struct tri_card card;
        struct tr_webapi_report report = {0};
        const char *json = meanings[i].status;
        assert_true(tri_card_find((struct tr_bytes){0}, tr_text_of(meanings[i].card), &card));
        assert_int_equal(tri_card_read_status(
                             &batch.batch, tr_json_get(card.value, "status"),
                             (struct tr_bytes){.data = (const uint8_t *)json, .size = strlen(json)},
                             &report),
                         0);
        char words[600];
        (void)snprintf(words, sizeof words, "%.*s%.*s", (int)report.message.size,
                       report.message.data == NULL ? "" : report.message.data,
                       (int)report.reason.size,
                       report.reason.data == NULL ? "" : report.reason.data);
        if (report.phase != meanings[i].phase || strstr(words, meanings[i].words) == NULL) {
            print_error("%s %s: phase %u, words %s\n", meanings[i].card, json, report.phase, words);
        }
        assert_int_equal(report.phase, meanings[i].phase);
        assert_int_equal(report.failure, meanings[i].failure);
        assert_true(tr_text_equal(report.code, tr_text_of(meanings[i].code)));
        assert_non_null(strstr(words, meanings[i].words));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_ours_are_good, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cards_of_ones_own_go_before_ours, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_cards_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_card_of_10_MB_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_expressions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_values_that_cannot_be, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_trees, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bounds, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_pytorch, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_tensorflow, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_mpi, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_ray, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_spark, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_dask_and_job, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_made_twice_is_the_same, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_status, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
