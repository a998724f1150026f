/*
 * Helpers of a task whose image has no shell: an init container makes its folder and writes its
 * inputs; where its documents go to an object store, a native sidecar (an init container that runs
 * beside the task) sends them. It is told to end when the task has, and sends then; what it cannot
 * send is its own failure, and the task is tried again.
 */
#include "plugins/pod/pod.h"

#define OWN_FOLDER "/tmp/troupe"
#define HELPER_CPU "100m"
#define HELPER_MEMORY "64Mi"

/* The task may run as anybody. $0 is its folder. */
#define STARTS                                                                          \
    "umask 0;rm -rf \"$0/work\" \"$TROUPE_OUTPUTS\" \"$TROUPE_ERROR\";"                 \
    "mkdir -p \"$0/work\" \"$TROUPE_TMP\" \"$TROUPE_CHECKPOINT\"||exit 125;"            \
    "[ -z \"$TROUPE_JSON\" ]||printf %s \"$TROUPE_JSON\">\"$TROUPE_INPUTS\"||exit 125;" \
    "[ -z \"$TROUPE_DOCUMENT\" ]||ln -sf \"$TROUPE_DOCUMENT\" \"$0/inputs.pb\"||exit 125"

/* A shell hears a signal when what it runs is over, but in a wait at once. */
#define SENDS                                                      \
    "s=;trap 's=1' TERM;while [ -z $s ];do sleep 1& wait $!;done;" \
    "e=0;cd \"$0\"||exit 125;"

void tri_pod_add_shared_mount(struct tr_build *build, struct tr_text share)
{
    tri_pod_add_mount(build, tr_text_of(TRI_POD_SHARE_VOLUME),
                      share.size > 0 ? share : tr_text_of(OWN_FOLDER), false);
}

void tri_pod_add_own_volume(struct tr_build *build)
{
    tr_build_map(build);
    tr_build_member_text(build, "name", tr_text_of(TRI_POD_SHARE_VOLUME));
    tr_build_member_map(build, "emptyDir");
    tr_build_end(build);
    tr_build_end(build);
}

/* Quotas want of every container how much it takes. */
static void add_amounts(struct tr_build *build)
{
    static const char *const sides[] = {"requests", "limits"};
    tr_build_member_map(build, "resources");
    for (size_t i = 0; i < TR_COUNT_OF(sides); i++) {
        tr_build_member_map(build, sides[i]);
        tr_build_member_text(build, "cpu", tr_text_of(HELPER_CPU));
        tr_build_member_text(build, "memory", tr_text_of(HELPER_MEMORY));
        tr_build_end(build);
    }
    tr_build_end(build);
}

/* The caller ends it. */
static void begin_helper(struct tr_build *build, struct tr_task_context *task,
                         const struct tri_pod *own, const struct tr_webapi_endpoint *endpoint,
                         const struct tri_pod_inputs *inputs, struct tr_text image,
                         const char *name, struct tr_text lines)
{
    tr_build_map(build);
    tr_build_member_text(build, "name", tr_text_of(name));
    tr_build_member_text(build, "image", image);
    tr_build_member_list(build, "command");
    tr_build_text(build, tr_text_of("/bin/sh"));
    tr_build_text(build, tr_text_of("-c"));
    tr_build_text(build, lines);
    tr_build_text(build, tri_pod_folder(task, own, endpoint));
    tr_build_end(build);
    tri_pod_add_environment(build, task, own, endpoint, inputs, TRI_POD_HELPER);
    add_amounts(build);
    tr_build_member_list(build, "volumeMounts");
    tri_pod_add_shared_mount(build, tri_pod_share(endpoint));
    tr_build_end(build);
    tr_build_member_text(build, "terminationMessagePolicy", tr_text_of("FallbackToLogsOnError"));
}

void tri_pod_add_helpers(struct tr_build *build, struct tr_task_context *task,
                         const struct tri_pod *own, const struct tr_webapi_endpoint *endpoint,
                         const struct tri_pod_inputs *inputs, struct tr_text image)
{
    struct tr_text puts = tri_pod_shell_puts(task, endpoint);
    tr_build_member_list(build, "initContainers");
    begin_helper(build, task, own, endpoint, inputs, image, TR_POD_STARTER, tr_text_of(STARTS));
    tr_build_end(build);
    if (puts.size > 0) {
        struct tr_text lines = tr_task_format(task, SENDS "%.*s", (int)puts.size, puts.data);
        begin_helper(build, task, own, endpoint, inputs, image, TR_POD_SENDER, lines);
        tr_build_member_text(build, "restartPolicy", tr_text_of("Always"));
        tr_build_end(build);
    }
    tr_build_end(build);
}
