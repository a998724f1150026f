/*
 * What a task's command runs in, where it names something: lines of /bin/sh before the command, in
 * the attempt's folder, which make it the first time and become the command then.
 *
 * An environment is kept in the store by what it is made of: the interpreter and the text of its
 * requirements. It is made at its final place, since the programs in it name that, and used from
 * the moment on at which it is marked as ready. Who makes it holds its lock alone, who uses it
 * shares it for as long as the command runs: so it is made once, and not removed while it is used.
 * The lock is a file beside it that somebody may remove with it, which is seen behind each wait.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "plugins/process/process.h"

/* Of a failure whose cause is the text of the requirements, or what serves them. */
#define NOT_MADE "EnvironmentNotMade"

/* Which program makes it, and what of that program the environment depends on. */
#define FINDS                                                                                    \
    "kind=$1 root=$2 file=$3 python=$4\n"                                                        \
    "shift 4\n"                                                                                  \
    "umask 077\n"                                                                                \
    "for tool in flock sha256sum; do\n"                                                          \
    "  command -v $tool >/dev/null || fail " TRI_PROCESS_NO_TOOL                                 \
    " false \"an environment takes $tool, which"                                                 \
    " is not in the PATH ($PATH); install it\"\n"                                                \
    "done\n"                                                                                     \
    "[ -r \"$file\" ] || fail " NOT_MADE " false \"$file, which says what the environment has,"  \
    " cannot be read\"\n"                                                                        \
    "if [ $kind = venv ]; then\n"                                                                \
    "  tool=$(command -v \"$python\") || fail " TRI_PROCESS_NO_TOOL                              \
    " false \"there is no $python in the"                                                        \
    " PATH ($PATH); install it, or name another one by python: in venv\"\n"                      \
    "  about=$(\"$tool\" -c 'import sys; print(sys.executable, sys.version)') ||"                \
    " fail " NOT_MADE " false \"$tool does not run\"\n"                                          \
    "else\n"                                                                                     \
    "  for tool in micromamba mamba conda none; do command -v $tool >/dev/null && break; done\n" \
    "  [ $tool != none ] || fail " TRI_PROCESS_NO_TOOL                                           \
    " false \"there is no micromamba, mamba or conda in"                                         \
    " the PATH ($PATH); install one, or put it into the PATH of the engine\"\n"                  \
    "  about=$(uname -sm)\n"                                                                     \
    "fi\n"                                                                                       \
    "sum=$({ printf '%s\\n' \"$about\"; cat \"$file\"; } | sha256sum)\n"                         \
    "name=$kind-$(printf %.32s \"$sum\")\n"                                                      \
    "place=$root/$name\n"

#define MAKES                                                                                \
    "make_venv() {\n"                                                                        \
    "  \"$tool\" -m venv \"$place/env\" || return 1\n"                                       \
    "  grep -q '^[[:space:]]*[^#[:space:]]' \"$file\" || return 0\n"                         \
    "  cd \"$TROUPE_FOLDER\" && \"$place/env/bin/python\" -m pip install --no-input"         \
    " --disable-pip-version-check -r \"$file\"\n"                                            \
    "}\n"                                                                                    \
    "make_conda() {\n"                                                                       \
    "  [ $tool = micromamba ] || set -- env\n"                                               \
    "  CONDA_ALWAYS_YES=true MAMBA_ALWAYS_YES=true $tool \"$@\" create -q -p \"$place/env\"" \
    " -f \"$file\"\n"                                                                        \
    "}\n"                                                                                    \
    "make() {\n"                                                                             \
    "  say \"making the environment $name, with its log in $place/log\"\n"                   \
    "  rm -rf \"$place\"\n"                                                                  \
    "  mkdir \"$place\" && cp \"$file\" \"$place/made-of\" ||"                               \
    " fail " NOT_MADE " true \"$place cannot be made\"\n"                                    \
    "  if ! (make_$kind) >\"$place/log\" 2>&1; then\n"                                       \
    "    tail -n 40 \"$place/log\" >&2\n"                                                    \
    "    fail " NOT_MADE " true \"the environment could not be made:"                        \
    " $(grep . \"$place/log\" | tail -n 1)\"\n"                                              \
    "  fi\n"                                                                                 \
    "  cmp -s \"$file\" \"$place/made-of\" ||"                                               \
    " fail " NOT_MADE " true \"$file has changed while the environment was made\"\n"         \
    "  sync -f \"$place\"\n"                                                                 \
    "  : >\"$place/ready\"\n"                                                                \
    "  say \"made the environment $name\"\n"                                                 \
    "}\n"

/* Descriptor 9 has the lock for as long as the command has not closed it. */
#define ENTERS                                                                               \
    "enter() {\n"                                                                            \
    "  while :; do\n"                                                                        \
    "    exec 9>>\"$place.lock\" || fail " NOT_MADE " true \"$place.lock cannot be made\"\n" \
    "    flock -n $1 9 || {\n"                                                               \
    "      say \"waiting until another attempt has made the environment $name\"\n"           \
    "      flock $1 9\n"                                                                     \
    "    }\n"                                                                                \
    "    [ \"$place.lock\" -ef /proc/self/fd/9 ] && return\n"                                \
    "  done\n"                                                                               \
    "}\n"                                                                                    \
    "mkdir -p \"$root\"\n"                                                                   \
    "enter -s\n"                                                                             \
    "until [ -e \"$place/ready\" ]; do\n"                                                    \
    "  enter -x\n"                                                                           \
    "  [ -e \"$place/ready\" ] || make\n"                                                    \
    "  enter -s\n"                                                                           \
    "done\n"                                                                                 \
    ": >\"$place/used\"\n"

#define BECOMES                                                                             \
    "PATH=$place/env/bin:$PATH\n"                                                           \
    "export PATH\n"                                                                         \
    "if [ $kind = venv ]; then\n"                                                           \
    "  export VIRTUAL_ENV=\"$place/env\"\n"                                                 \
    "  unset PYTHONHOME\n"                                                                  \
    "else\n"                                                                                \
    "  export CONDA_PREFIX=\"$place/env\" CONDA_DEFAULT_ENV=\"$place/env\" CONDA_SHLVL=1\n" \
    "  for script in \"$place\"/env/etc/conda/activate.d/*.sh; do\n"                        \
    "    [ ! -r \"$script\" ] || . \"$script\"\n"                                           \
    "  done\n"                                                                              \
    "fi\n"                                                                                  \
    "umask 022\n"                                                                           \
    "exec \"$@\"\n"

static const char environment_script[] = TRI_PROCESS_TELLS FINDS MAKES ENTERS BECOMES;

/* ---- What is asked for. --------------------------------------------------------------------- */

/* The file that says what is in it: the task's own, or the one that is made of its lines. */
static struct tr_text file_of(struct tr_task_context *task)
{
    const struct tr_task_template *template = tr_task_template(task);
    const struct tr_software *software = &template->software;
    struct tr_text folder = template->folder;
    if (software->file.size == 0) {
        folder = tr_task_attempt_folder(task);
        return tr_task_format(task, "%.*s/" TRI_PROCESS_REQUIREMENTS, (int)folder.size,
                              folder.data);
    }
    return software->file.data[0] == '/'
               ? software->file
               : tr_task_format(task, "%.*s/%.*s", (int)folder.size, folder.data,
                                (int)software->file.size, software->file.data);
}

static int environment_words(struct tr_task_context *task, struct tri_process_words *words)
{
    const struct tr_software *software = &tr_task_template(task)->software;
    struct tr_text folder = tr_task_attempt_folder(task);
    struct tr_text store = tr_task_store_folder(task);
    const struct tr_text all[] = {
        tr_text_of("/bin/sh"),
        tr_task_format(task, "%.*s/" TRI_PROCESS_SETUP, (int)folder.size, folder.data),
        tr_text_of(tr_software_key(software->kind)),
        tr_task_format(task, "%.*s/" TR_STORE_ENVIRONMENTS, (int)store.size, store.data),
        file_of(task),
        software->python.size > 0 ? software->python : tr_text_of("python3"),
    };
    *words = (struct tri_process_words){.items = tr_task_scratch(task, sizeof all)};
    if (words->items == NULL) {
        return TR_MEMORY;
    }
    memcpy(words->items, all, sizeof all);
    words->count = TR_COUNT_OF(all);
    return 0;
}

int tri_process_software_words(struct tr_task_context *task, struct tri_process_words *words)
{
    switch (tr_task_template(task)->software.kind) {
    case TR_SOFTWARE_NONE:
        *words = (struct tri_process_words){.count = 0};
        return 0;
    case TR_SOFTWARE_CONTAINER:
        return tri_process_container_words(task, words);
    default:
        return environment_words(task, words);
    }
}

/* The lines of requirements as a file. */
static int write_lines(struct tr_task_context *task, struct tr_bytes *bytes)
{
    const struct tr_software *software = &tr_task_template(task)->software;
    size_t size = 0;
    for (uint32_t i = 0; i < software->requirement_count; i++) {
        size += software->requirements[i].size + 1;
    }
    char *text = tr_task_scratch(task, size + 1);
    if (text == NULL) {
        return TR_MEMORY;
    }
    *bytes = (struct tr_bytes){.data = (const uint8_t *)text, .size = size};
    for (uint32_t i = 0; i < software->requirement_count; i++) {
        struct tr_text line = software->requirements[i];
        memcpy(text, line.data, line.size);
        text[line.size] = '\n';
        text += line.size + 1;
    }
    return 0;
}

int tri_process_software_files(struct tr_task_context *task, struct tr_process_file *files,
                               size_t *count)
{
    const struct tr_software *software = &tr_task_template(task)->software;
    struct tr_bytes lines = {0};
    if (software->kind == TR_SOFTWARE_NONE) {
        return 0;
    }
    bool is_container = software->kind == TR_SOFTWARE_CONTAINER;
    struct tr_text script = is_container ? tri_process_container_script()
                                         : (struct tr_text){.data = environment_script,
                                                            .size = sizeof environment_script - 1};
    files[(*count)++] = (struct tr_process_file){
        .name = tr_text_of(TRI_PROCESS_SETUP),
        .bytes = {.data = (const uint8_t *)script.data, .size = script.size},
        .mode = 0400};
    if (is_container || software->file.size > 0) {
        return 0;
    }
    int error = write_lines(task, &lines);
    if (error == 0) {
        files[(*count)++] = (struct tr_process_file){
            .name = tr_text_of(TRI_PROCESS_REQUIREMENTS), .bytes = lines, .mode = 0400};
    }
    return error;
}
