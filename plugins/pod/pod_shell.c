/*
 * The lines of /bin/sh around the words of a task in a pod. They make the folder that the keeper of
 * processes would have made; so a pod needs a shell, unless its task has no words and leaves all to
 * its image. $0 is the attempt's folder, "$@" the words.
 *
 * Where that folder lies on a share, what the words print goes there as well as to the pod's own
 * log, so that `troupe logs` finds it. That takes tee and mkfifo, of coreutils and busybox; in an
 * image without them it goes to the pod's log alone.
 *
 * Where the documents go to an object store the lines stay until the words have ended, and put them
 * there with curl, which signs by itself from 7.75 on, and what S3 wants to be signed from 7.88 on:
 * so the key never leaves the cluster, and an unchanged task runs in any image with a shell and
 * curl. A document that was not written is put all the same, empty: it covers what an earlier run
 * of the same job has left, which a server may have put back into its queue, and to read it nobody
 * needs the right to list.
 */
#include "plugins/pod/pod.h"

/* What an earlier run of the same job has left is removed. 125: as env and nice have it. */
#define FOLDERS                                                                              \
    ": \"${TROUPE_INPUTS:=$0/inputs.json}\";export TROUPE_INPUTS TROUPE_TMP=\"$0/tmp\" "     \
    "TROUPE_OUTPUTS=\"$0/outputs.json\" TROUPE_ERROR=\"$0/error.json\";"                     \
    "rm -rf \"$0/work\" \"$TROUPE_OUTPUTS\" \"$TROUPE_ERROR\";"                              \
    "mkdir -p \"$0/work\" \"$TROUPE_TMP\" \"$TROUPE_CHECKPOINT\"&&cd \"$0/work\"||exit 125;" \
    "[ -z \"$TROUPE_JSON\" ]||printf %s \"$TROUPE_JSON\">\"$TROUPE_INPUTS\";"                \
    "unset TROUPE_JSON;"

/* Flyte's documents: what an earlier run has left goes; the inputs are a file of the store. */
#define DOCUMENTS                                                               \
    "rm -f \"$0\"/*.pb;"                                                        \
    "[ -z \"$TROUPE_DOCUMENT\" ]||ln -s \"$TROUPE_DOCUMENT\" \"$0/inputs.pb\";" \
    "unset TROUPE_DOCUMENT;"

/* Nothing is begun whose outputs would be lost. */
#define NEEDS_CURL                                                                   \
    "command -v curl>/dev/null||{ echo troupe: this image has no curl, which takes " \
    "outputs to the object store>&2;exit 125;};"

/* Who looks from outside reads it while the words run. */
#define TELLS "export TROUPE_PROGRESS=\"$0/progress\";rm -f \"$TROUPE_PROGRESS\";"

/*
 * A pipe each, which nobody finds once both ends are open; 3 and 4 are where the words print to.
 * A command that is told to end still writes, so tee does not hear of it. These lines go along
 * with each job, so they are as short as can be: the shell is in $0/work.
 */
#define TEES                                                                              \
    "rm -f ../.o ../.e;if command -v tee>/dev/null&&mkfifo ../.o ../.e 2>/dev/null;then " \
    "trap '' TERM;tee ../stdout<../.o&_o=$!;tee ../stderr<../.e>&2&_e=$!;trap - TERM;"    \
    "exec 3>../.o 4>../.e;rm ../.o ../.e;else _o=;exec 3>&1 4>&2;fi;"

/*
 * What is still on its way is waited for: two seconds at most, since a daemon that the words have
 * left may hold its end for ever.
 */
#define DRAINS                                             \
    "[ -z $_o ]||{ (sleep 2;kill -9 $_o $_e) 2>/dev/null&" \
    "w=$!;wait $_o $_e;kill $w 2>/dev/null;};"

/* SIGTERM is passed on; a wait that it has broken off is begun again. */
#define WAITS                                   \
    "&t=$!;exec 3>&- 4>&-;trap 'kill $t' TERM;" \
    "while wait $t;e=$?;kill -0 $t 2>/dev/null;do :;done;"

/*
 * What is secret goes to curl by its stdin, where nobody sees it. The body is left unsigned, as
 * this curl has it only of those it reads as a whole.
 */
#define SIGNS                                                                                 \
    "s(){ k=${TROUPE_STORE_KEY#*:};"                                                          \
    "printf 'aws-sigv4=aws:amz:%.*s:s3\\nheader=\"x-amz-content-sha256:UNSIGNED-PAYLOAD\"\\n" \
    "user=\"%%s:%%s\"\\n' \"${TROUPE_STORE_KEY%%%%:*}\" \"${k%%%%:*}\";"                      \
    "[ \"$k\" = \"${k%%%%:*}\" ]||printf 'header=\"x-amz-security-token:%%s\"\\n' \"${k#*:}\";};"
#define SIGNS_NOT "s(){ :;};"

#define PUTS                                                                                    \
    "p(){ : >>\"$1\";s|curl -K- -fsS --retry 5 --retry-connrefused -m300 -T \"$1\" \"$2\">&2||" \
    "{ echo \"troupe: $1 cannot be put to $2\">&2;exit 125;};};"                                \
    "p \"$TROUPE_ERROR\" \"$TROUPE_ERROR_URI\";p \"$TROUPE_OUTPUTS\" \"$TROUPE_OUTPUTS_URI\";"  \
    "exit $e"

/* Where the words read from and write to; `is_kept`: their logs go on to tee. */
static struct tr_text pipes(struct tr_task_context *task, bool is_kept)
{
    const struct tr_task_template *template = tr_task_template(task);
    return tr_task_format(task, "<%s%s%s",
                          template->is_stdin_inputs ? "\"$TROUPE_INPUTS\"" : "/dev/null",
                          template->is_stdout_outputs ? " >\"$TROUPE_OUTPUTS\""
                          : is_kept                   ? " >&3"
                                                      : "",
                          is_kept ? " 2>&4 3>&- 4>&-" : "");
}

/* What follows when the words have ended: the documents go to their store. */
static struct tr_text puts_documents(struct tr_task_context *task,
                                     const struct tri_pod_objects *objects)
{
    return objects->key.size == 0 ? tr_text_of(SIGNS_NOT PUTS)
                                  : tr_task_format(task, SIGNS "%s", (int)objects->region.size,
                                                   objects->region.data, PUTS);
}

struct tr_text tri_pod_shell_puts(struct tr_task_context *task,
                                  const struct tr_webapi_endpoint *endpoint)
{
    struct tri_pod_objects objects = tri_pod_objects(task, endpoint);
    return objects.url.size == 0 ? (struct tr_text){0} : puts_documents(task, &objects);
}

struct tr_text tri_pod_shell(struct tr_task_context *task,
                             const struct tr_webapi_endpoint *endpoint)
{
    struct tri_pod_objects objects = tri_pod_objects(task, endpoint);
    bool is_put = objects.url.size > 0;
    bool is_kept = tri_pod_share(endpoint).size > 0;
    struct tr_text ends = pipes(task, is_kept);
    struct tr_text puts = is_put ? puts_documents(task, &objects) : tr_text_of("exit $e");
    const char *folders = tri_pod_has_flyte(task) ? FOLDERS DOCUMENTS : FOLDERS;
    if (!is_put && !is_kept) {
        return tr_task_format(task, "%sexec \"$@\" %.*s", folders, (int)ends.size, ends.data);
    }
    return tr_task_format(task, "%s%s%s(%sexec \"$@\") %.*s" WAITS "%s%.*s", folders,
                          is_put ? NEEDS_CURL : "", is_kept ? TELLS TEES : "",
                          is_put ? "unset TROUPE_STORE_KEY;" : "", (int)ends.size, ends.data,
                          is_kept ? DRAINS : "", (int)puts.size, puts.data);
}
