/*
 * A command that runs in a container, by podman or docker: lines of /bin/sh that find the runtime,
 * fetch the image and stay until the container has ended.
 *
 * Signals to the attempt's processes reach the runtime's client, which hands SIGTERM on. What it
 * cannot hand on is SIGKILL, and the container is no descendant of ours: so the keeper runs a
 * command behind the end of the attempt (process_start's `after`), whatever has ended it, which
 * removes the container by its name. The name is made of the attempt's folder, and so nobody
 * else's on this machine.
 *
 * Variables are handed to the client, and it is told their names: no value is in its words, which
 * everybody can see. The image's own PATH holds, and HOME is TROUPE_TMP, as the attempt's user has
 * no home there.
 */
#include <stdio.h>
#include <string.h>

#include "plugins/process/process.h"

#define NOT_STARTED "ContainerNotStarted"

/* Whose container it is, for people. */
#define LABEL "troupe.attempt="

#define FINDS                                                                                     \
    "runtime=$1 name=$2 image=$3 memory=$4 bound=$5\n"                                            \
    "shift 5\n"                                                                                   \
    "last() { grep . \"${TROUPE_ERROR%/*}/stderr\" | tail -n 1; }\n"                              \
    "for tool in ${runtime:-podman docker} none; do command -v $tool >/dev/null && break; done\n" \
    "[ $tool != none ] || fail " TRI_PROCESS_NO_TOOL " false \"there is no ${runtime:-podman or"  \
    " docker} in the PATH ($PATH), by which a container is run; install it, or put it into the"   \
    " PATH of the engine\"\n"                                                                     \
    "user=$(id -u):$(id -g)\n"                                                                    \
    "if [ ${tool##*/} = podman ]; then\n"                                                         \
    "  [ $user = 0:0 ] || set -- --userns keep-id \"$@\"\n"                                       \
    "else\n"                                                                                      \
    "  about=$($tool info --format '{{json .SecurityOptions}}') ||"                               \
    " fail " NOT_STARTED " true \"$tool cannot be used: $(last)\"\n"                              \
    "  case $about in *name=rootless*) user=0:0 ;; esac\n"                                        \
    "fi\n"                                                                                        \
    "$tool image inspect \"$image\" >/dev/null 2>&1 || {\n"                                       \
    "  say \"fetching the image $image\"\n"                                                       \
    "  $tool pull \"$image\" >&2 ||"                                                              \
    " fail " NOT_STARTED " true \"the image $image cannot be fetched: $(last)\"\n"                \
    "}\n"

/* The engine's folder with the helper for Python stands last in PYTHONPATH. */
#define RUNS                                                                                      \
    "helper=${PYTHONPATH##*:}\n"                                                                  \
    "[ ! -d \"$helper\" ] ||"                                                                     \
    " set -- --mount \"type=bind,source=$helper,target=$helper,readonly\" \"$@\"\n"               \
    "[ $memory = 0 ] || set -- --memory $memory --memory-swap $memory \"$@\"\n"                   \
    "[ ${tool##*/} = podman ] && ! command -v catatonit >/dev/null &&"                            \
    " [ ! -x /usr/libexec/podman/catatonit ] || set -- --init \"$@\"\n"                           \
    "trap : TERM INT HUP\n"                                                                       \
    "$tool run --name $name --user $user --env HOME=\"$TROUPE_TMP\" \"$@\"\n"                     \
    "status=$?\n"                                                                                 \
    "state=$($tool container inspect --format '{{.State.OOMKilled}} {{.State.StartedAt}}' $name"  \
    " 2>/dev/null)\n"                                                                             \
    "case $status,$state in\n"                                                                    \
    "0,*) ;;\n"                                                                                   \
    "*,true*) [ -s \"$TROUPE_ERROR\" ] || fail OOMKilled true \"killed by the kernel for memory:" \
    " $bound\" ;;\n"                                                                              \
    "*,|*,*' 0001-'*) fail " NOT_STARTED " true \"$tool could not start a container of $image:"   \
    " $(last)\" ;;\n"                                                                             \
    "esac\n"                                                                                      \
    "exit $status\n"

static const char container_script[] = TRI_PROCESS_TELLS FINDS RUNS;

/*
 * Removes the container by whichever tool has it, and fails where it is still there then. Podman
 * would wait ten seconds for one that does not hear SIGTERM; its grace is over by now.
 */
static const char after_script[] = "for tool in $1; do\n"
                                   "  command -v $tool >/dev/null || continue\n"
                                   "  [ $tool = podman ] && now='--time 0' || now=\n"
                                   "  $tool rm --force --volumes $now $2 >/dev/null 2>&1\n"
                                   "  ! $tool container inspect $2 >/dev/null 2>&1 || exit 1\n"
                                   "done\n";

struct tr_text tri_process_container_script(void)
{
    return (struct tr_text){.data = container_script, .size = sizeof container_script - 1};
}

/* ---- What it is called, and what it has. ---------------------------------------------------- */

/* FNV-1a: two folders of one machine have the same name of an attempt as good as never. */
static uint32_t hash_of(struct tr_text text)
{
    uint32_t hash = 2166136261U;
    for (size_t i = 0; i < text.size; i++) {
        hash = (hash ^ (uint8_t)text.data[i]) * 16777619U;
    }
    return hash;
}

static struct tr_text name_of(struct tr_task_context *task)
{
    struct tr_text name = tr_task_identity(task)->generated_name;
    return tr_task_format(task, "troupe-%.*s-%08x", (int)name.size, name.data,
                          hash_of(tr_task_attempt_folder(task)));
}

/* Variables that it is told by their names; those that are not set are passed over. */
static const char *const told[] = {
    "LANG",           "PYTHONPATH",     "TROUPE_FOLDER", "TROUPE_EXECUTION",  "TROUPE_NODE",
    "TROUPE_ELEMENT", "TROUPE_ATTEMPT", "TROUPE_TMP",    "TROUPE_CHECKPOINT", "TROUPE_PROGRESS",
    "TROUPE_INPUTS",  "TROUPE_OUTPUTS", "TROUPE_ERROR",  "TRACEPARENT",
};

/* Those of the engine that the client finds its service and its settings by. */
static const char *const clients[] = {
    "DOCKER_HOST",     "DOCKER_CONFIG",   "DOCKER_CONTEXT",          "DOCKER_CERT_PATH",
    "CONTAINER_HOST",  "CONTAINERS_CONF", "CONTAINERS_STORAGE_CONF", "REGISTRY_AUTH_FILE",
    "XDG_RUNTIME_DIR", "XDG_DATA_HOME",   "XDG_CONFIG_HOME",         "DBUS_SESSION_BUS_ADDRESS",
};

uint32_t tri_process_container_words_of_client(struct tr_text *words)
{
    for (size_t i = 0; i < TR_COUNT_OF(clients); i++) {
        words[i] = tr_text_of(clients[i]);
    }
    return TR_COUNT_OF(clients);
}

static void put(struct tri_process_words *words, struct tr_text word)
{
    words->items[words->count++] = word;
}

static void put_option(struct tri_process_words *words, const char *name, struct tr_text value)
{
    put(words, tr_text_of(name));
    put(words, value);
}

static void put_variables(struct tr_task_context *task, struct tri_process_words *words)
{
    const struct tr_task_template *template = tr_task_template(task);
    for (size_t i = 0; i < TR_COUNT_OF(told); i++) {
        put_option(words, "--env", tr_text_of(told[i]));
    }
    for (uint32_t i = 0; i < template->environment_count; i++) {
        put_option(words, "--env", template->environment[i].name);
    }
    for (uint32_t i = 0; i < template->secret_count; i++) {
        put_option(words, "--env", template->secrets[i].name);
    }
}

static void put_mount(struct tr_task_context *task, struct tri_process_words *words,
                      struct tr_text path, bool is_readonly)
{
    put_option(words, "--mount",
               tr_task_format(task, "type=bind,source=%.*s,target=%.*s%s", (int)path.size,
                              path.data, (int)path.size, path.data,
                              is_readonly ? ",readonly" : ""));
}

/* What inputs name lies in the store, or in folders that the task names itself. */
static void put_mounts(struct tr_task_context *task, struct tri_process_words *words)
{
    static const char *const shared[] = {"blobs", "attempts"};
    const struct tr_task_template *template = tr_task_template(task);
    const struct tr_software *software = &template->software;
    struct tr_text store = tr_task_store_folder(task);
    for (size_t i = 0; i < TR_COUNT_OF(shared); i++) {
        put_mount(task, words,
                  tr_task_format(task, "%.*s/%s", (int)store.size, store.data, shared[i]), true);
    }
    put_mount(task, words, template->folder, true);
    put_mount(task, words, tr_task_attempt_folder(task), false);
    put_mount(task, words, tr_task_checkpoint_folder(task), false);
    for (uint32_t i = 0; i < software->mount_count; i++) {
        put_mount(task, words, software->mounts[i], false);
    }
}

/* ---- Words. --------------------------------------------------------------------------------- */

/* More than all but the lists of the task takes. */
#define FIXED_WORDS 96

static size_t words_max(const struct tr_task_template *template)
{
    size_t lists = (size_t) template->environment_count + template->secret_count +
                   template->software.mount_count;
    return FIXED_WORDS + 2 * lists;
}

/* How a bound is told where it was used. */
static struct tr_text bound_text(struct tr_task_context *task, uint64_t bytes)
{
    return bytes == 0 ? tr_text_of("the machine had no more")
                      : tr_task_format(task, "used its bound of %s",
                                       tri_process_size_text(task, bytes).data);
}

int tri_process_container_words(struct tr_task_context *task, struct tri_process_words *words)
{
    const struct tr_task_template *template = tr_task_template(task);
    struct tr_text folder = tr_task_attempt_folder(task);
    uint64_t memory = template->resources.memory_bytes;
    *words = (struct tri_process_words){
        .items = tr_task_scratch(task, words_max(template) * sizeof *words->items)};
    if (words->items == NULL) {
        return TR_MEMORY;
    }
    put(words, tr_text_of("/bin/sh"));
    put(words, tr_task_format(task, "%.*s/" TRI_PROCESS_SETUP, (int)folder.size, folder.data));
    put(words, template->software.runtime);
    put(words, name_of(task));
    put(words, template->software.image);
    put(words, tr_task_format(task, "%llu", (unsigned long long)memory));
    put(words, bound_text(task, memory));
    put(words, tr_text_of("--interactive"));
    put_option(words, "--log-driver", tr_text_of("none"));
    put_option(words, "--security-opt", tr_text_of("label=disable"));
    put_option(words, "--label", tr_task_format(task, LABEL "%.*s", (int)folder.size, folder.data));
    put_option(words, "--workdir",
               tr_task_format(task, "%.*s/" TR_ATTEMPT_WORK, (int)folder.size, folder.data));
    put_mounts(task, words);
    put_variables(task, words);
    /* The image's own entrypoint would get the command as its arguments. */
    put_option(words, "--entrypoint", template->argv[0]);
    put(words, template->software.image);
    words->replaced = 1;
    return 0;
}

int tri_process_container_after(struct tr_task_context *task, struct tri_process_words *words)
{
    const struct tr_software *software = &tr_task_template(task)->software;
    *words = (struct tri_process_words){.items = tr_task_scratch(task, 8 * sizeof *words->items)};
    if (words->items == NULL) {
        return TR_MEMORY;
    }
    put(words, tr_text_of("/bin/sh"));
    put_option(words, "-c", tr_text_of(after_script));
    put(words, tr_text_of("sh"));
    put(words, software->runtime.size > 0 ? software->runtime : tr_text_of("podman docker"));
    put(words, name_of(task));
    return 0;
}
