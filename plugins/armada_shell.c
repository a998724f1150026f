/*
 * The lines of /bin/sh around the words of a task in a pod. They make the folder that the keeper of
 * processes would have made; so a pod needs a shell, unless its task has no words and leaves all to
 * its image. $0 is the attempt's folder, "$@" the words.
 *
 * Where the documents go to an object store the lines stay until the words have ended, and put them
 * there with curl, which signs by itself from 7.75 on, and what S3 wants to be signed from 7.88 on:
 * so the key never leaves the cluster, and an unchanged task runs in any image with a shell and
 * curl. A document that was not written is put all the same, empty: it covers what an earlier run
 * of the same job has left, which Armada may have put back into its queue, and to read it nobody
 * needs the right to list.
 */
#include "plugins/armada.h"

/* What an earlier run of the same job has left is removed. 125: as env and nice have it. */
#define FOLDERS                                                                              \
    ": \"${TROUPE_INPUTS:=$0/inputs.json}\";export TROUPE_INPUTS TROUPE_TMP=\"$0/tmp\" "     \
    "TROUPE_OUTPUTS=\"$0/outputs.json\" TROUPE_ERROR=\"$0/error.json\";"                     \
    "rm -rf \"$0/work\" \"$TROUPE_OUTPUTS\" \"$TROUPE_ERROR\";"                              \
    "mkdir -p \"$0/work\" \"$TROUPE_TMP\" \"$TROUPE_CHECKPOINT\"&&cd \"$0/work\"||exit 125;" \
    "[ -z \"$TROUPE_JSON\" ]||printf %s \"$TROUPE_JSON\">\"$TROUPE_INPUTS\";"                \
    "unset TROUPE_JSON;"

/* Nothing is begun whose outputs would be lost. */
#define NEEDS_CURL                                                                   \
    "command -v curl>/dev/null||{ echo troupe: this image has no curl, which takes " \
    "outputs to the object store>&2;exit 125;};"

/* SIGTERM is passed on; a wait that it has broken off is begun again. */
#define WAITS                    \
    "&t=$!;trap 'kill $t' TERM;" \
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

/* Where the words read from and write to. */
static struct tr_text pipes(struct tr_task_context *task)
{
    const struct tr_task_template *template = tr_task_template(task);
    return tr_task_words(task, "<%s%s",
                         template->is_stdin_inputs ? "\"$TROUPE_INPUTS\"" : "/dev/null",
                         template->is_stdout_outputs ? " >\"$TROUPE_OUTPUTS\"" : "");
}

struct tr_text tri_armada_shell(struct tr_task_context *task,
                                const struct tr_webapi_endpoint *endpoint)
{
    struct tri_armada_objects objects = tri_armada_objects(task, endpoint);
    struct tr_text ends = pipes(task);
    if (objects.url.size == 0) {
        return tr_task_words(task, "%sexec \"$@\" %.*s", FOLDERS, (int)ends.size, ends.data);
    }
    struct tr_text signs =
        objects.key.size == 0
            ? tr_text_of(SIGNS_NOT)
            : tr_task_words(task, SIGNS, (int)objects.region.size, objects.region.data);
    return tr_task_words(task, "%s%s(unset TROUPE_STORE_KEY;exec \"$@\") %.*s" WAITS "%.*s%s",
                         FOLDERS, NEEDS_CURL, (int)ends.size, ends.data, (int)signs.size,
                         signs.data, PUTS);
}
