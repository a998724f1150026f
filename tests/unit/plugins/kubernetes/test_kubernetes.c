/*
 * The Kubernetes plugin's functions without an engine: names, what a pod's status means, what the
 * API server refuses, requests, and lines of a watch.
 */
#include "plugins/kubernetes/kubernetes.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/fake_batch.h"

#define GROUP "work/00000000000000a7/abcdefghijklm"

static struct fake_batch fake;

static int set_up(void **state)
{
    (void)state;
    fake_batch_init(&fake);
    fake.batch.job_set = tr_text_of(GROUP);
    return 0;
}

static struct tr_bytes bytes_of(const char *text)
{
    return (struct tr_bytes){.data = (const uint8_t *)text, .size = strlen(text)};
}

static const char *shown(struct tr_text text)
{
    static char room[20000];
    (void)snprintf(room, sizeof room, "%.*s", (int)text.size, text.data == NULL ? "" : text.data);
    return room;
}

/* --------------------------------------------------------------------------------------- names */

/* Whatever an identity holds, its name is one of Kubernetes', and its own. */
static void test_names(void **state)
{
    (void)state;
    static const char *const identities[] = {"flow-train-0", "FLOW-Train-0", "--x--", "",
                                             "\xc3\xa9",     "a.b/c"};
    char name[TR_KUBERNETES_NAME_BYTES_MAX + 1];
    char other[TR_KUBERNETES_NAME_BYTES_MAX + 1];
    char wide[301];
    memset(wide, 'x', 300);
    wide[300] = '\0';
    for (size_t i = 0; i <= TR_COUNT_OF(identities); i++) {
        const char *identity = i < TR_COUNT_OF(identities) ? identities[i] : wide;
        tri_kubernetes_name(tr_text_of("a7"), tr_text_of(identity), name);
        size_t size = strlen(name);
        assert_true(size >= TR_POD_MARK_BYTES && size <= TR_KUBERNETES_NAME_BYTES_MAX);
        assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-"), size);
        assert_true(name[0] != '-' && name[size - 1] != '-');
        tri_kubernetes_name(tr_text_of("a8"), tr_text_of(identity), other);
        assert_string_not_equal(name, other);
    }
    tri_kubernetes_name(tr_text_of("a7"), tr_text_of("flow-train-0"), name);
    assert_memory_equal(name, "flow-train-0-", 13);
}

static void test_a_uid_fits_into_a_row(void **state)
{
    (void)state;
    static const char *const uids[] = {"00000000-0000-0000-0000-000000000000",
                                       "ffffffff-ffff-ffff-ffff-ffffffffffff",
                                       "7d1c0a2b-94e5-4f06-8b17-0123456789ab"};
    static const char *const others[] = {"", "stranger-7", "7D1C0A2B-94E5-4F06-8B17-0123456789AB",
                                         "7d1c0a2b+94e5-4f06-8b17-0123456789ab"};
    char first[TRI_KUBERNETES_UID_BYTES];
    char second[TRI_KUBERNETES_UID_BYTES];
    for (size_t i = 0; i < TR_COUNT_OF(uids); i++) {
        struct tr_text handle = tri_kubernetes_handle(tr_text_of(uids[i]), first);
        assert_int_equal(handle.size, 22);
        assert_string_equal(shown(tri_kubernetes_uid(handle, second)), uids[i]);
    }
    for (size_t i = 0; i < TR_COUNT_OF(others); i++) {
        assert_string_equal(shown(tri_kubernetes_handle(tr_text_of(others[i]), first)), others[i]);
    }
}

static void test_groups(void **state)
{
    (void)state;
    struct tri_kubernetes_group parts;
    assert_true(tri_kubernetes_group_read(tr_text_of("a/b/c"), &parts));
    assert_string_equal(shown(parts.namespace), "a");
    assert_string_equal(shown(parts.store), "b");
    assert_string_equal(shown(parts.mark), "c");
    assert_true(tri_kubernetes_group_read(tr_text_of("a/b"), &parts));
    assert_int_equal(parts.mark.size, 0);
    static const char *const bad[] = {"", "a", "/b", "a/"};
    for (size_t i = 0; i < TR_COUNT_OF(bad); i++) {
        assert_false(tri_kubernetes_group_read(tr_text_of(bad[i]), &parts));
    }
    struct tr_text scope = {0};
    assert_int_equal(tri_kubernetes_scope(&fake.batch, &scope), 0);
    assert_string_equal(shown(scope), "work/00000000000000a7");
}

/* A group of a card's kind has all that it takes to find what was made, in its URL and its name. */
static void test_kinds(void **state)
{
    (void)state;
    static const struct {
        const char *group;
        const char *path;
        const char *beside;
    } kinds[] = {
        {"work:47:rayjobs.v1.ray.io/a7/m", "/apis/ray.io/v1/namespaces/work/rayjobs", "work/a7"},
        {"work:63c:trains.v1.example.com/a7/m", "/apis/example.com/v1/trains", "work/a7"},
        {"work:63:configmaps.v1/a7", "/api/v1/namespaces/work/configmaps", "work/a7"},
        {"work/a7/m", "/api/v1/namespaces/work/pods", ""},
    };
    struct tri_kubernetes_group group;
    char name[TR_KUBERNETES_NAME_BYTES_MAX + 1];
    for (size_t i = 0; i < TR_COUNT_OF(kinds); i++) {
        struct tr_text scope = {0};
        fake.batch.job_set = tr_text_of(kinds[i].group);
        assert_string_equal(shown(tri_kubernetes_path(&fake.batch, &group)), kinds[i].path);
        assert_string_equal(shown(group.namespace), "work");
        assert_string_equal(shown(group.store), "a7");
        assert_int_equal(tri_kubernetes_beside(&fake.batch, &scope), 0);
        assert_string_equal(shown(scope), kinds[i].beside);
        assert_int_equal(tri_kubernetes_scope(&fake.batch, &scope), 0);
        assert_memory_equal(scope.data, kinds[i].group, scope.size);
        assert_int_equal(scope.data[scope.size - 1], '7');
    }
    fake.batch.job_set = tr_text_of(kinds[0].group);
    (void)tri_kubernetes_path(&fake.batch, &group);
    tri_kubernetes_name_in(&group, tr_text_of("a-name-that-is-longer-than-names-of-ray-may-be-x"),
                           name);
    assert_in_range(strlen(name), 40, 47);
    static const char *const bad[] = {"", "47", "47:", "47:a", "9:a.v1", "64:a.v1", "x:a.v1"};
    for (size_t i = 0; i < TR_COUNT_OF(bad); i++) {
        struct tri_kubernetes_kind kind;
        assert_false(tri_kubernetes_kind_read(tr_text_of(bad[i]), &kind));
    }
}

/* -------------------------------------------------------------------------------------- phases */

#define META                                                                                     \
    "\"metadata\":{\"name\":\"x-m\",\"uid\":\"u\",\"resourceVersion\":\"7\",\"labels\":{"        \
    "\"troupe.dev/attempt\":\"x-0\",\"troupe.dev/store\":\"00000000000000a7\"},\"annotations\":" \
    "{\"troupe.dev/name\":\"x-m\"}}"
#define STATE(state) "[{\"name\":\"task\",\"state\":" state "}]"
#define ENDED(code, reason) \
    STATE("{\"terminated\":{\"exitCode\":" #code ",\"reason\":\"" reason "\",\"message\":\"m\"}}")
#define WAITS(reason) STATE("{\"waiting\":{\"reason\":\"" reason "\",\"message\":\"m\"}}")

static const struct {
    const char *status;
    uint8_t phase;
    uint8_t failure;
    const char *code;
    const char *words; /* of the message, or of the reason */
} rows[] = {
    {"{\"phase\":\"Pending\"}", TR_TASK_PHASE_QUEUED, 0, "", "waits for a node"},
    {"{\"phase\":\"Pending\",\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\","
     "\"reason\":\"Unschedulable\",\"message\":\"0/1 nodes\"}]}",
     TR_TASK_PHASE_QUEUED, 0, "", "Unschedulable: 0/1 nodes"},
    {"{\"phase\":\"Pending\",\"containerStatuses\":" WAITS("ContainerCreating") "}",
     TR_TASK_PHASE_INITIALIZING, 0, "", "ContainerCreating: m"},
    {"{\"phase\":\"Pending\",\"containerStatuses\":" WAITS("ImagePullBackOff") "}",
     TR_TASK_PHASE_INITIALIZING, TR_FAILURE_USER, "ImagePullBackOff", "ImagePullBackOff: m"},
    {"{\"phase\":\"Pending\",\"containerStatuses\":" WAITS(
         "PodInitializing") ",\"initContainerStatuses\":" WAITS("ImagePullBackOff") "}",
     TR_TASK_PHASE_INITIALIZING, TR_FAILURE_USER, "ImagePullBackOff", "ImagePullBackOff: m"},
    {"{\"phase\":\"Pending\",\"containerStatuses\":" WAITS("WhoKnows") "}",
     TR_TASK_PHASE_INITIALIZING, TR_FAILURE_SYSTEM, "WhoKnows", "WhoKnows: m"},
    {"{\"phase\":\"Pending\",\"containerStatuses\":" WAITS("InvalidImageName") "}",
     TR_TASK_PHASE_PERMANENT_FAILURE, TR_FAILURE_USER, "InvalidImageName", "InvalidImageName: m"},
    {"{\"phase\":\"Pending\",\"containerStatuses\":" WAITS("CreateContainerConfigError") "}",
     TR_TASK_PHASE_PERMANENT_FAILURE, TR_FAILURE_USER, "CreateContainerConfigError",
     "CreateContainerConfigError: m"},
    {"{\"phase\":\"Running\"}", TR_TASK_PHASE_RUNNING, 0, "", ""},
    {"{\"phase\":\"Unknown\"}", TR_TASK_PHASE_RUNNING, 0, "", ""},
    {"{\"phase\":\"Melting\"}", TR_TASK_PHASE_UNDEFINED, 0, "", ""},
    {"{}", TR_TASK_PHASE_UNDEFINED, 0, "", ""},
    {"{\"phase\":\"Succeeded\",\"containerStatuses\":" ENDED(0, "Completed") "}",
     TR_TASK_PHASE_SUCCESS, 0, "", ""},
    {"{\"phase\":\"Succeeded\",\"containerStatuses\":" ENDED(0, "OOMKilled") "}",
     TR_TASK_PHASE_RETRYABLE_FAILURE, TR_FAILURE_USER, "OOMKilled",
     "container task: exit status 0, OOMKilled: m"},
    {"{\"phase\":\"Failed\",\"containerStatuses\":" ENDED(3, "Error") "}",
     TR_TASK_PHASE_RETRYABLE_FAILURE, TR_FAILURE_USER, "ProcessFailed",
     "container task: exit status 3, Error: m"},
    {"{\"phase\":\"Failed\",\"containerStatuses\":" ENDED(137, "OOMKilled") "}",
     TR_TASK_PHASE_RETRYABLE_FAILURE, TR_FAILURE_USER, "OOMKilled",
     "container task: exit status 137, OOMKilled: m"},
    {"{\"phase\":\"Failed\",\"initContainerStatuses\":" ENDED(2, "Error") "}",
     TR_TASK_PHASE_RETRYABLE_FAILURE, TR_FAILURE_USER, "ProcessFailed",
     "container task: exit status 2, Error: m"},
    {"{\"phase\":\"Failed\",\"reason\":\"Evicted\",\"message\":\"memory\"}",
     TR_TASK_PHASE_RETRYABLE_FAILURE, TR_FAILURE_SYSTEM, "Interrupted", "Evicted: memory"},
    {"{\"phase\":\"Failed\",\"reason\":\"OutOfcpu\"}", TR_TASK_PHASE_RETRYABLE_FAILURE,
     TR_FAILURE_SYSTEM, "Interrupted", "OutOfcpu"},
    {"{\"phase\":\"Failed\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\"},{\"type\":"
     "\"DisruptionTarget\",\"status\":\"True\",\"reason\":\"PreemptionByScheduler\"}],"
     "\"containerStatuses\":" ENDED(137, "Error") "}",
     TR_TASK_PHASE_RETRYABLE_FAILURE, TR_FAILURE_SYSTEM, "Interrupted", "PreemptionByScheduler"},
    {"{\"phase\":\"Failed\",\"reason\":\"DeadlineExceeded\",\"message\":\"m\"}",
     TR_TASK_PHASE_RETRYABLE_FAILURE, TR_FAILURE_SYSTEM, "DeadlineExceeded", "m"},
    {"{\"phase\":\"Failed\",\"reason\":\"Odd\",\"message\":\"m\"}", TR_TASK_PHASE_RETRYABLE_FAILURE,
     TR_FAILURE_USER, "Odd", "Odd: m"},
    {"{\"phase\":\"Failed\"}", TR_TASK_PHASE_RETRYABLE_FAILURE, TR_FAILURE_SYSTEM, "UnknownError",
     "the pod has failed, and does not say why"},
};

static void test_what_a_status_means(void **state)
{
    for (size_t i = 0; i < TR_COUNT_OF(rows); i++) {
        char item[2000];
        (void)set_up(state);
        (void)snprintf(item, sizeof item, "{" META ",\"status\":%s}", rows[i].status);
        assert_int_equal(tri_kubernetes_item(&fake.batch, bytes_of(item)), 0);
        assert_int_equal(fake.report_count, 1);
        assert_string_equal(shown(fake.last.identity), "x-0");
        assert_string_equal(shown(fake.last.handle), "u");
        assert_int_equal(fake.last.phase, rows[i].phase);
        assert_int_equal(fake.last.failure, rows[i].failure);
        assert_string_equal(shown(fake.last.code), rows[i].code);
        struct tr_text words = fake.last.message.size > 0 ? fake.last.message : fake.last.reason;
        assert_string_equal(shown(words), rows[i].words);
    }
}

/* Where a pod says which container is the task's, that one decides, and no other is waited for. */
static void test_the_tasks_container_decides(void **state)
{
#define BESIDE(name, state) "{\"name\":\"" name "\",\"state\":" state "}"
#define DONE(code, reason) \
    "{\"terminated\":{\"exitCode\":" code ",\"reason\":\"" reason "\",\"message\":\"m\"}}"
#define RUNS "{\"running\":{}}"
    static const struct {
        const char *phase;
        const char *containers;
        uint8_t end;
        const char *code;
        bool is_there;
    } pods[] = {
        {"Running", BESIDE("main", RUNS) "," BESIDE("aside", RUNS), TR_TASK_PHASE_RUNNING, "",
         false},
        {"Running", BESIDE("main", RUNS) "," BESIDE("aside", DONE("1", "Error")),
         TR_TASK_PHASE_RUNNING, "", false},
        {"Running", BESIDE("aside", RUNS) "," BESIDE("main", DONE("0", "Completed")),
         TR_TASK_PHASE_SUCCESS, "", true},
        {"Running", BESIDE("main", DONE("3", "Error")) "," BESIDE("aside", RUNS),
         TR_TASK_PHASE_RETRYABLE_FAILURE, "ProcessFailed", true},
        {"Running", BESIDE("main", DONE("137", "OOMKilled")) "," BESIDE("aside", RUNS),
         TR_TASK_PHASE_RETRYABLE_FAILURE, "OOMKilled", true},
        {"Failed",
         BESIDE("aside", DONE("1", "OOMKilled")) "," BESIDE("main", DONE("0", "Completed")),
         TR_TASK_PHASE_SUCCESS, "", false},
        {"Failed", BESIDE("aside", DONE("137", "OOMKilled")) "," BESIDE("main", DONE("3", "Error")),
         TR_TASK_PHASE_RETRYABLE_FAILURE, "ProcessFailed", false},
    };
    for (size_t i = 0; i < TR_COUNT_OF(pods); i++) {
        char item[2000];
        (void)set_up(state);
        (void)snprintf(item, sizeof item,
                       "{\"metadata\":{\"name\":\"x-m\",\"uid\":\"u\",\"resourceVersion\":"
                       "\"7\",\"labels\":{\"troupe.dev/attempt\":\"x-0\",\"troupe.dev/store\":"
                       "\"00000000000000a7\"},\"annotations\":{\"troupe.dev/name\":\"x-m\","
                       "\"troupe.dev/container\":\"main\"}},\"status\":{\"phase\":\"%s\","
                       "\"containerStatuses\":[%s]}}",
                       pods[i].phase, pods[i].containers);
        assert_int_equal(tri_kubernetes_item(&fake.batch, bytes_of(item)), 0);
        assert_int_equal(fake.report_count, 1);
        assert_int_equal(fake.last.phase, pods[i].end);
        assert_string_equal(shown(fake.last.code), pods[i].code);
        assert_int_equal(fake.last.is_there, pods[i].is_there);
    }
}

/* A pod is this store's own by store, endpoint and name, and as long as nobody deletes it. */
static void test_whose_a_pod_is(void **state)
{
    static const struct {
        uint64_t store;
        const char *name; /* NULL: the one that follows from the identity */
        const char *endpoint;
        const char *deletion;
        bool is_own;
    } pods[] = {
        {0xa7, NULL, "default", "", true},
        {0xa8, NULL, "default", "", false},
        {0xa7, "x-copy", "default", "", false},
        {0xa7, NULL, "other", "", false},
        {0xa7, NULL, "default", "\"deletionTimestamp\":\"2026-01-01T00:00:00Z\",", false},
    };
    for (size_t i = 0; i < TR_COUNT_OF(pods); i++) {
        char own[TR_KUBERNETES_NAME_BYTES_MAX + 1];
        char item[1000];
        (void)set_up(state);
        fake.batch.store = pods[i].store;
        fake.endpoint.name = tr_text_of("default");
        tri_kubernetes_name(tr_text_of("00000000000000a7"), tr_text_of("x-0"), own);
        const char *name = pods[i].name != NULL ? pods[i].name : own;
        (void)snprintf(item, sizeof item,
                       "{\"metadata\":{\"name\":\"%s\",\"uid\":\"u\",\"resourceVersion\":\"7\",%s"
                       "\"labels\":{\"troupe.dev/attempt\":\"x-0\",\"troupe.dev/store\":"
                       "\"00000000000000a7\"},\"annotations\":{\"troupe.dev/name\":\"%s\","
                       "\"troupe.dev/endpoint\":\"%s\"}},\"status\":{\"phase\":\"Running\"}}",
                       name, pods[i].deletion, name, pods[i].endpoint);
        assert_int_equal(tri_kubernetes_item(&fake.batch, bytes_of(item)), 0);
        assert_int_equal(fake.report_count, 1);
        assert_int_equal(fake.last.is_own, pods[i].is_own);
    }
}

/* Who watches a whole cluster takes a pod for its own only in the namespace that it was made in. */
static void test_a_copy_in_another_namespace(void **state)
{
    static const char *const own[] = {"work", "play", ""};
    for (size_t i = 0; i < TR_COUNT_OF(own); i++) {
        char item[1000];
        (void)set_up(state);
        fake.endpoint.config = fake_value("{\"watch\":\"cluster\"}");
        struct tr_text scope = {0};
        assert_int_equal(tri_kubernetes_scope(&fake.batch, &scope), 0);
        assert_string_equal(shown(scope), "*/00000000000000a7");
        fake.batch.job_set = tr_text_of("*/00000000000000a7");
        struct tr_webapi_request request = {0};
        assert_int_equal(tri_kubernetes_write_list(&fake.batch, tr_text_of(""), &request), 0);
        assert_string_equal(
            shown(request.path),
            "/api/v1/pods?labelSelector=troupe.dev%2Fstore%3D00000000000000a7&limit=500");
        (void)snprintf(item, sizeof item,
                       "{\"metadata\":{\"name\":\"x-m\",\"uid\":\"u\",\"namespace\":\"work\","
                       "\"labels\":{\"troupe.dev/attempt\":\"x-0\",\"troupe.dev/store\":"
                       "\"00000000000000a7\"},\"annotations\":{\"troupe.dev/name\":\"x-m\","
                       "\"troupe.dev/namespace\":\"%s\"}}}",
                       own[i]);
        assert_int_equal(tri_kubernetes_item(&fake.batch, bytes_of(item)), 0);
        assert_int_equal(fake.report_count, i == 0 ? 1 : 0);
    }
}

/* What a container waits for: its grace, and how the pod ends when that is over. */
static void test_graces(void **state)
{
    static const struct {
        const char *reason;
        uint32_t grace_ms;
        uint8_t phase;
        uint8_t failure;
        const char *code;
    } graces[] = {
        {"ContainerCreating", 0, 0, 0, ""},
        {"PodInitializing", 0, 0, 0, ""},
        {"ErrImagePull", 180000, TR_TASK_PHASE_RETRYABLE_FAILURE, TR_FAILURE_USER,
         "ImagePullBackOff"},
        {"ImagePullBackOff", 180000, TR_TASK_PHASE_RETRYABLE_FAILURE, TR_FAILURE_USER,
         "ImagePullBackOff"},
        {"CreateContainerError", 180000, TR_TASK_PHASE_PERMANENT_FAILURE, TR_FAILURE_USER,
         "CreateContainerError"},
        {"WhoKnows", 600000, TR_TASK_PHASE_RETRYABLE_FAILURE, TR_FAILURE_SYSTEM, "WhoKnows"},
    };
    for (size_t i = 0; i < TR_COUNT_OF(graces); i++) {
        char item[2000];
        (void)set_up(state);
        (void)snprintf(item, sizeof item,
                       "{" META
                       ",\"status\":{\"phase\":\"Pending\",\"containerStatuses\":[{\"name\":"
                       "\"task\",\"state\":{\"waiting\":{\"reason\":\"%s\"}}}]}}",
                       graces[i].reason);
        assert_int_equal(tri_kubernetes_item(&fake.batch, bytes_of(item)), 0);
        assert_int_equal(fake.last.phase, TR_TASK_PHASE_INITIALIZING);
        assert_int_equal(fake.last.grace_ms, graces[i].grace_ms);
        assert_int_equal(fake.last.grace_phase, graces[i].phase);
        assert_int_equal(fake.last.failure, graces[i].failure);
        assert_string_equal(shown(fake.last.code), graces[i].code);
        assert_false(fake.last.is_there);
    }
}

/* Killed because it is being deleted is no failure of the user's; what it did before is. */
static void test_one_that_is_being_deleted(void **state)
{
    static const struct {
        const char *status;
        const char *code;
    } deleted[] = {
        {ENDED(143, "Error"), "ResourceDeletedExternally"},
        {ENDED(137, "Error"), "ResourceDeletedExternally"},
        {ENDED(137, "OOMKilled"), "OOMKilled"},
        {ENDED(3, "Error"), "ProcessFailed"},
    };
    for (size_t i = 0; i < TR_COUNT_OF(deleted); i++) {
        char item[2000];
        (void)set_up(state);
        (void)snprintf(
            item, sizeof item,
            "{\"metadata\":{\"name\":\"x-m\",\"uid\":\"u\",\"deletionTimestamp\":\"now\","
            "\"labels\":{\"troupe.dev/attempt\":\"x-0\",\"troupe.dev/store\":"
            "\"00000000000000a7\"},\"annotations\":{\"troupe.dev/name\":\"x-m\"}},"
            "\"status\":{\"phase\":\"Failed\",\"containerStatuses\":%s}}",
            deleted[i].status);
        assert_int_equal(tri_kubernetes_item(&fake.batch, bytes_of(item)), 0);
        assert_string_equal(shown(fake.last.code), deleted[i].code);
    }
}

/* What a finalizer keeps, and no node has begun, would stay as it is for ever. */
static void test_one_that_is_kept(void **state)
{
    static const struct {
        const char *more; /* of its metadata */
        const char *spec;
        uint8_t phase;
    } kept[] = {
        {"\"deletionTimestamp\":\"now\",\"finalizers\":[\"a.b/c\",\"troupe.dev/heard\"],", "",
         TR_TASK_PHASE_RETRYABLE_FAILURE},
        {"\"deletionTimestamp\":\"now\",\"finalizers\":[\"troupe.dev/heard\"],",
         "\"spec\":{\"nodeName\":\"n\"},", TR_TASK_PHASE_QUEUED},
        {"\"deletionTimestamp\":\"now\",\"finalizers\":[\"a.b/c\"],", "", TR_TASK_PHASE_QUEUED},
        {"\"finalizers\":[\"troupe.dev/heard\"],", "", TR_TASK_PHASE_QUEUED},
    };
    for (size_t i = 0; i < TR_COUNT_OF(kept); i++) {
        char item[2000];
        (void)set_up(state);
        (void)snprintf(item, sizeof item,
                       "{\"metadata\":{\"name\":\"x-m\",\"uid\":\"u\",%s\"labels\":{"
                       "\"troupe.dev/attempt\":\"x-0\",\"troupe.dev/store\":\"00000000000000a7\"},"
                       "\"annotations\":{\"troupe.dev/name\":\"x-m\"}},%s"
                       "\"status\":{\"phase\":\"Pending\"}}",
                       kept[i].more, kept[i].spec);
        assert_int_equal(tri_kubernetes_item(&fake.batch, bytes_of(item)), 0);
        assert_int_equal(fake.last.phase, kept[i].phase);
    }
}

/* ---------------------------------------------------------------------------------------- lines */

static int line(const char *type, const char *meta, const char *status)
{
    char text[2000];
    (void)snprintf(text, sizeof text, "{\"type\":\"%s\",\"object\":{%s,\"status\":%s}}", type, meta,
                   status);
    return tri_kubernetes_line(&fake.batch, bytes_of(text));
}

static void test_lines_of_a_watch(void **state)
{
    (void)state;
    assert_int_equal(line("MODIFIED", META, "{\"phase\":\"Running\"}"), 0);
    assert_int_equal(fake.last.phase, TR_TASK_PHASE_RUNNING);
    assert_string_equal(fake.cursor, "7");
    assert_int_equal(line("DELETED", META, "{\"phase\":\"Running\"}"), 0);
    assert_string_equal(shown(fake.last.code), "ResourceDeletedExternally");
    assert_int_equal(fake.last.failure, TR_FAILURE_SYSTEM);
    assert_true(fake.last.is_gone);
    assert_int_equal(line("DELETED", META, "{\"phase\":\"Succeeded\"}"), 0);
    assert_int_equal(fake.last.phase, TR_TASK_PHASE_SUCCESS); /* its last state counts */
    fake.report_count = 0;
    assert_int_equal(line("BOOKMARK", "\"metadata\":{\"resourceVersion\":\"99\"}", "{}"), 0);
    assert_string_equal(fake.cursor, "99");
    assert_int_equal(fake.caught_up, 0);
    assert_int_equal(line("BOOKMARK",
                          "\"metadata\":{\"resourceVersion\":\"99\",\"annotations\":"
                          "{\"k8s.io/initial-events-end\":\"true\"}}",
                          "{}"),
                     0);
    assert_int_equal(fake.caught_up, 1);
    /* Whatever an error says, a list mends it. */
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(fake.lists, i);
        assert_int_equal(
            tri_kubernetes_line(&fake.batch, bytes_of(i == 0 ? "{\"type\":\"ERROR\",\"object\":{"
                                                               "\"kind\":\"Status\",\"code\":410}}"
                                                             : "{\"type\":\"ERROR\",\"object\":{"
                                                               "\"code\":500}}")),
            0);
        assert_string_equal(fake.cursor, "99");
    }
    assert_int_equal(fake.lists, 2);
    /* A copy of ours under another name, one of another store, one without labels: nobody's. */
    assert_int_equal(line("ADDED",
                          "\"metadata\":{\"name\":\"copy\",\"uid\":\"u\",\"resourceVersion\":\"8\","
                          "\"labels\":{\"troupe.dev/attempt\":\"x-0\",\"troupe.dev/store\":"
                          "\"00000000000000a7\"},\"annotations\":{\"troupe.dev/name\":\"x-m\"}}",
                          "{\"phase\":\"Failed\"}"),
                     0);
    assert_int_equal(line("ADDED",
                          "\"metadata\":{\"name\":\"x-m\",\"uid\":\"u\",\"resourceVersion\":\"8\","
                          "\"labels\":{\"troupe.dev/attempt\":\"x-0\",\"troupe.dev/store\":"
                          "\"00000000000000a8\"},\"annotations\":{\"troupe.dev/name\":\"x-m\"}}",
                          "{\"phase\":\"Failed\"}"),
                     0);
    assert_int_equal(line("ADDED", "\"metadata\":{\"name\":\"y\",\"resourceVersion\":\"8\"}", "{}"),
                     0);
    assert_int_equal(fake.report_count, 0);
    static const char *const bad[] = {
        "",
        "{",
        "[]",
        "{\"type\":\"ADDED\"}",
        "{\"type\":7}",
        "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"resourceVersion\":7}}}",
    };
    for (size_t i = 0; i < TR_COUNT_OF(bad); i++) {
        assert_int_equal(tri_kubernetes_line(&fake.batch, bytes_of(bad[i])), TR_MALFORMED);
    }
}

/* ------------------------------------------------------------------------------- who is there */

/* A pod of the name is ours by its store and its attempt alone; one that is gone was deleted. */
static void test_whose_a_name_is(void **state)
{
    static const struct {
        uint32_t status;
        const char *attempt;
        const char *store;
        const char *code;
        uint8_t phase;
    } pods[] = {
        {200, "x-0", "00000000000000a7", "", TR_TASK_PHASE_RUNNING},
        {200, "x-1", "00000000000000a7", "NameTaken", TR_TASK_PHASE_PERMANENT_FAILURE},
        {200, "x-0", "00000000000000a8", "NameTaken", TR_TASK_PHASE_PERMANENT_FAILURE},
        {200, "", "", "NameTaken", TR_TASK_PHASE_PERMANENT_FAILURE},
        {404, "", "", "ResourceDeletedExternally", TR_TASK_PHASE_RETRYABLE_FAILURE},
    };
    for (size_t i = 0; i < TR_COUNT_OF(pods); i++) {
        char body[1000];
        (void)set_up(state);
        fake_batch_add(&fake, "x-0", "", "{}");
        (void)snprintf(body, sizeof body,
                       "{\"metadata\":{\"name\":\"x-m\",\"uid\":\"u\",\"labels\":{"
                       "\"troupe.dev/attempt\":\"%s\",\"troupe.dev/store\":\"%s\"},"
                       "\"annotations\":{\"troupe.dev/name\":\"x-m\"}},\"status\":{\"phase\":"
                       "\"Running\"}}",
                       pods[i].attempt, pods[i].store);
        const struct tr_webapi_response response = fake_response(pods[i].status, body);
        assert_int_equal(tri_kubernetes_read_status(&fake.batch, &response), 0);
        assert_int_equal(fake.report_count, 1);
        assert_int_equal(fake.last.phase, pods[i].phase);
        assert_string_equal(shown(fake.last.code), pods[i].code);
    }
}

/* ------------------------------------------------------------------------------------ refusals */

static const struct {
    uint32_t status;
    const char *message;
    uint8_t news;
    const char *code;
} refusals[] = {
    {403, "pods \\\"x\\\" is forbidden: exceeded quota: q, requested: pods=1", TR_WEBAPI_LATER, ""},
    {403, "exceeded quota: q, requested: cpu=2, used: cpu=0, limited: cpu=1", TR_WEBAPI_REFUSED,
     "ResourceRequestsExceedLimits"},
    {403, "failed quota: q: must specify cpu", TR_WEBAPI_REFUSED, "BadTaskSpecification"},
    {403, "pods \\\"x\\\" is forbidden: no PriorityClass with name low was found",
     TR_WEBAPI_REFUSED, "BadTaskSpecification"},
    {403, "User \\\"u\\\" cannot create resource", TR_WEBAPI_REFUSED, "PermissionDenied"},
    {404, "namespaces \\\"work\\\" not found", TR_WEBAPI_LATER, ""},
    {409, "object is being deleted: pods \\\"x\\\" already exists", TR_WEBAPI_LATER, ""},
    {409, "pods \\\"x\\\" already exists", TR_WEBAPI_IS, ""},
    {413, "Request entity too large", TR_WEBAPI_REFUSED, "BadTaskSpecification"},
    {422, "is invalid", TR_WEBAPI_REFUSED, "BadTaskSpecification"},
    {500, "etcdserver: request is too large", TR_WEBAPI_REFUSED, "BadTaskSpecification"},
};

static void test_what_is_refused(void **state)
{
    for (size_t i = 0; i < TR_COUNT_OF(refusals); i++) {
        char body[400];
        (void)set_up(state);
        fake_batch_add(&fake, "x-0", "", "{}");
        (void)snprintf(body, sizeof body,
                       "{\"kind\":\"Status\",\"reason\":\"r\",\"message\":\"%s\"}",
                       refusals[i].message);
        struct tr_webapi_response response = fake_response(refusals[i].status, body);
        assert_int_equal(tri_kubernetes_read_create(&fake.batch, &response), 0);
        assert_int_equal(fake.last.news, refusals[i].news);
        assert_string_equal(shown(fake.last.code), refusals[i].code);
    }
    (void)set_up(state);
    fake_batch_add(&fake, "x-0", "", "{}");
    struct tr_webapi_response busy = fake_response(500, "{\"message\":\"etcd is away\"}");
    assert_int_equal(tri_kubernetes_read_create(&fake.batch, &busy), TR_BUSY);
    struct tr_webapi_response page = fake_response(500, "<html>");
    assert_int_equal(tri_kubernetes_read_create(&fake.batch, &page), TR_BUSY);
    assert_int_equal(fake.report_count, 0);
}

/* More than a quota's limit is never granted; what it only has no room for now is waited for. */
static void test_what_a_quota_could_ever_grant(void **state)
{
    (void)state;
    static const struct {
        const char *message;
        bool exceeds;
    } messages[] = {
        {"exceeded quota: q, requested: pods=1, used: pods=9, limited: pods=9", false},
        {"exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0", true},
        {"exceeded quota: q, requested: requests.cpu=1500m, used: requests.cpu=0, limited: "
         "requests.cpu=1",
         true},
        {"exceeded quota: q, requested: requests.cpu=999m, used: requests.cpu=2m, limited: "
         "requests.cpu=1",
         false},
        {"exceeded quota: q, requested: cpu=1,memory=2Gi, used: cpu=0,memory=1, limited: "
         "cpu=1,memory=2G",
         true},
        {"exceeded quota: q, requested: memory=2.5Mi, used: memory=1, limited: memory=2560Ki",
         false},
        {"exceeded quota: q, requested: a=x, used: a=1, limited: a=0", false},
        {"exceeded quota: q, requested: a=2, used: b=1, limited: b=1", false},
        {"exceeded quota: q, requested: , used: , limited: ", false},
        {"requested: =, limited: =", false},
        {"", false},
    };
    for (size_t i = 0; i < TR_COUNT_OF(messages); i++) {
        assert_int_equal(tri_kubernetes_exceeds_limits(tr_text_of(messages[i].message)),
                         messages[i].exceeds);
    }
}

/* -------------------------------------------------------------------------- resources by cards */

#define RAY_GROUP "work:47:rayjobs.v1.ray.io/00000000000000a7/abcdefghijklm"
#define LABELS                        \
    "\"troupe.dev/attempt\":\"x-0\"," \
    "\"troupe.dev/store\":\"00000000000000a7\""
#define RAY(annotations, status)                                        \
    "{\"metadata\":{\"name\":\"x-m\",\"uid\":\"u\",\"labels\":{" LABELS \
    "},\"annotations\":{\"troupe.dev/name\":\"x-m\"" annotations "}},\"status\":" status "}"
#define CARD(name) ",\"troupe.dev/card\":\"" name "\""

static const struct {
    const char *item;
    uint8_t phase;
    uint32_t grace_ms;
    const char *code;
    const char *words;
} resources[] = {
    {RAY(CARD("ray"), "{}"), TR_TASK_PHASE_QUEUED, 300000, "OperatorTimeout",
     "waits for the operator of rayjobs.ray.io to look at it"},
    {RAY(CARD("ray"), "null"), TR_TASK_PHASE_QUEUED, 300000, "OperatorTimeout", "waits for"},
    {RAY(CARD("ray"), "{\"jobDeploymentStatus\":\"Running\",\"dashboardURL\":\"http://x\"}"),
     TR_TASK_PHASE_RUNNING, 0, "", ""},
    {RAY(CARD("gone"), "{\"state\":1}"), TR_TASK_PHASE_UNDEFINED, 0, "",
     "its card 'gone' is not in the settings any more: put it back"},
    {RAY(",\"troupe.dev/rules\":\"[{\\\"when\\\":{\\\"a\\\":1},\\\"phase\\\":"
         "\\\"succeeded\\\"}]\"",
         "{\"a\":1}"),
     TR_TASK_PHASE_SUCCESS, 0, "", ""},
};

static void test_resources(void **state)
{
    (void)state;
    for (size_t i = 0; i < TR_COUNT_OF(resources); i++) {
        fake_batch_init(&fake);
        fake.batch.job_set = tr_text_of(RAY_GROUP);
        assert_int_equal(tri_kubernetes_item(&fake.batch, bytes_of(resources[i].item)), 0);
        assert_int_equal(fake.report_count, 1);
        assert_int_equal(fake.last.phase, resources[i].phase);
        assert_int_equal(fake.last.grace_ms, resources[i].grace_ms);
        assert_non_null(strstr(shown(fake.last.reason), resources[i].words));
        assert_string_equal(shown(fake.last.code), resources[i].code);
    }
    fake_batch_init(&fake);
    fake.batch.job_set = tr_text_of(RAY_GROUP);
    fake_batch_add(&fake, "x-0", "", "{}");
    const struct tr_webapi_response response = fake_response(404, "404 page not found");
    assert_int_equal(tri_kubernetes_read_create(&fake.batch, &response), 0);
    assert_int_equal(fake.last.news, TR_WEBAPI_LATER);
    assert_string_equal(shown(fake.last.code), "OperatorNotInstalled");
    assert_string_equal(shown(fake.last.reason),
                        "the cluster does not know rayjobs.ray.io of version v1: install its "
                        "operator, or let the card name a version that is there");
}

#define PART(status)                                                  \
    "{\"metadata\":{\"name\":\"p\",\"uid\":\"u\",\"labels\":{" LABELS \
    ",\"troupe.dev/role\":\"worker\"}},\"status\":" status "}"

/* Pods that an operator makes: what may last for ever counts, their ends do not. */
static void test_parts(void **state)
{
    (void)state;
    static const struct {
        const char *status;
        uint32_t grace_ms;
        const char *words;
    } parts[] = {
        {"{\"phase\":\"Running\"}", 0, ""},
        {"{\"phase\":\"Failed\",\"reason\":\"Evicted\"}", 0, ""},
        {"{\"phase\":\"Pending\",\"containerStatuses\":" WAITS("ContainerCreating") "}", 0, ""},
        {"{\"phase\":\"Pending\",\"containerStatuses\":" WAITS("ImagePullBackOff") "}", 180000,
         "pod p: ImagePullBackOff: m"},
        {"{\"phase\":\"Pending\",\"containerStatuses\":" WAITS("InvalidImageName") "}", 1,
         "pod p: InvalidImageName: m"},
    };
    for (size_t i = 0; i < TR_COUNT_OF(parts); i++) {
        char item[1000];
        fake_batch_init(&fake);
        fake.batch.job_set = tr_text_of(GROUP);
        (void)snprintf(item, sizeof item, PART("%s"), parts[i].status);
        assert_int_equal(tri_kubernetes_item(&fake.batch, bytes_of(item)), 0);
        assert_int_equal(fake.report_count, 1);
        assert_true(fake.last.is_part);
        assert_int_equal(fake.last.grace_ms, parts[i].grace_ms);
        assert_string_equal(shown(fake.last.place), "p");
        if (parts[i].grace_ms > 0) {
            assert_string_equal(shown(fake.last.message), parts[i].words);
        }
    }
}

/* ------------------------------------------------------------------------------------ requests */

static void test_requests(void **state)
{
    (void)state;
    struct tr_webapi_request request = {0};
    fake_batch_add(&fake, "x-0", "AAAAAAAAAAAAAAAAAAAAAA", "{\"kind\":\"Pod\"}");
    assert_int_equal(tri_kubernetes_write_create(&fake.batch, &request), 0);
    assert_string_equal(shown(request.path),
                        "/api/v1/namespaces/work/pods?fieldManager=troupe&fieldValidation=Strict");
    assert_int_equal(tri_kubernetes_write_cancel(&fake.batch, &request), 0);
    assert_non_null(strstr(shown(request.path), "/pods/x-0-"));
    assert_memory_equal(request.body.data,
                        "{\"propagationPolicy\":\"Background\",\"preconditions\":{\"uid\":"
                        "\"00000000-0000-0000-0000-000000000000\"}}",
                        request.body.size);
    for (int i = 1; i < FAKE_ITEMS_MAX - 12; i++) {
        fake_batch_add(&fake, "y-0", "", "{}");
    }
    request = (struct tr_webapi_request){0};
    assert_int_equal(tri_kubernetes_write_cancel(&fake.batch, &request), 0);
    assert_non_null(strstr(shown(request.path), "?labelSelector=troupe.dev%2Fmark%20in%20%28"));
    assert_true(request.path.size < 8000);
    assert_int_equal(request.body.size, 0);
    fake.batch.count = 0;
    assert_int_equal(tri_kubernetes_write_cancel(&fake.batch, &request),
                     TR_INVALID); /* never all */
    assert_int_equal(tri_kubernetes_write_list(&fake.batch, tr_text_of("a+b"), &request), 0);
    assert_string_equal(shown(request.path),
                        "/api/v1/namespaces/work/pods?labelSelector=troupe.dev%2Fstore%3D"
                        "00000000000000a7&limit=500&continue=a%2Bb");
    assert_int_equal(tri_kubernetes_write_watch(&fake.batch, tr_text_of("77"), &request), 0);
    assert_non_null(
        strstr(shown(request.path), "&watch=1&allowWatchBookmarks=true&timeoutSeconds="));
    assert_non_null(strstr(shown(request.path), "&resourceVersion=77"));
    assert_int_equal(tri_kubernetes_write_begin(&fake.batch, &request), 0);
    assert_non_null(strstr(shown(request.path),
                           "&watch=1&allowWatchBookmarks=true&sendInitialEvents=true"
                           "&resourceVersionMatch=NotOlderThan&timeoutSeconds="));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_names, set_up),
        cmocka_unit_test_setup(test_a_uid_fits_into_a_row, set_up),
        cmocka_unit_test_setup(test_groups, set_up),
        cmocka_unit_test_setup(test_kinds, set_up),
        cmocka_unit_test_setup(test_resources, set_up),
        cmocka_unit_test_setup(test_parts, set_up),
        cmocka_unit_test_setup(test_whose_a_pod_is, set_up),
        cmocka_unit_test_setup(test_what_a_status_means, set_up),
        cmocka_unit_test_setup(test_the_tasks_container_decides, set_up),
        cmocka_unit_test_setup(test_a_copy_in_another_namespace, set_up),
        cmocka_unit_test_setup(test_graces, set_up),
        cmocka_unit_test_setup(test_one_that_is_being_deleted, set_up),
        cmocka_unit_test_setup(test_one_that_is_kept, set_up),
        cmocka_unit_test_setup(test_lines_of_a_watch, set_up),
        cmocka_unit_test_setup(test_whose_a_name_is, set_up),
        cmocka_unit_test_setup(test_what_is_refused, set_up),
        cmocka_unit_test_setup(test_what_a_quota_could_ever_grant, set_up),
        cmocka_unit_test_setup(test_requests, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
