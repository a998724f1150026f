/*
 * The inside of the process plugin: how an attempt's process is asked for (process_request.c), and
 * what its end means (process_outcome.c). process.c is the plugin itself.
 */
#ifndef TR_PLUGINS_PROCESS_PROCESS_H
#define TR_PLUGINS_PROCESS_PROCESS_H

#include "plugins/sdk/plugin.h"
#include "schemas/engine/state_plugin.h"
#include "schemas/runtime/process.h"

extern const struct tr_plugin tr_process_plugin;

/*
 * One document of a task that travels in a message: inputs, outputs, errors. Larger inputs and
 * outputs, up to TR_OUTPUTS_BYTES_MAX, are written and read by the files service.
 */
#define TR_PROCESS_DOCUMENT_BYTES_MAX (512U << 10)

/* Names below an attempt's folder; more of them stand in schemas/runtime/process.h. */
#define TR_PROCESS_INPUTS "inputs.json"
#define TR_PROCESS_OUTPUTS "outputs.json"
#define TR_PROCESS_ERROR "error.json"

/*
 * What is read when it has ended, in this order: the logs only for their presence, Flyte's
 * documents only if a template asks for them.
 */
enum tri_process_result {
    TRI_PROCESS_RESULT_OUTPUTS,
    TRI_PROCESS_RESULT_ERROR,
    TRI_PROCESS_RESULT_STDOUT,
    TRI_PROCESS_RESULT_STDERR,
    TRI_PROCESS_RESULT_FLYTE_OUTPUTS,
    TRI_PROCESS_RESULT_FLYTE_ERROR,
    TRI_PROCESS_RESULT_FLYTE_FUTURES,
    TRI_PROCESS_RESULT_FLYTE_DECK,
    TRI_PROCESS_RESULT_COUNT,
};

/* What stands before the command of a task that names what it runs in (process_software.c). */
#define TRI_PROCESS_SETUP "setup.sh"
#define TRI_PROCESS_REQUIREMENTS "requirements.txt"
#define TRI_PROCESS_SETUP_FILES 2

/* The code of a failure that somebody has to install something against. */
#define TRI_PROCESS_NO_TOOL "ToolNotFound"

/*
 * Lines of /bin/sh: a failure is told by an error document, which takes no words but printable
 * ones; what happens is told to people who read the attempt's progress, and its logs.
 */
#define TRI_PROCESS_TELLS                                                     \
    "fail() {\n"                                                              \
    "  words=$(printf %s \"$3\" | LC_ALL=C tr -cd '\\40-\\176' |"             \
    " sed 's/[\\\\\"]/\\\\&/g')\n"                                            \
    "  printf '{\"code\": \"%s\", \"recoverable\": %s, \"message\": \"%s\"}'" \
    " \"$1\" \"$2\" \"$words\" >\"$TROUPE_ERROR\"\n"                          \
    "  exit 1\n"                                                              \
    "}\n"                                                                     \
    "say() { echo \"troupe: $1\" >&2; echo \"$1\" >>\"$TROUPE_PROGRESS\"; }\n"

/* Words before a command, in the task's scratch memory. */
struct tri_process_words {
    struct tr_text *items;
    uint32_t count;
    uint32_t replaced; /* words of the command that are among them */
};

/* The forms of documents that a process may be given: JSON, and Flyte's. */
#define TRI_PROCESS_FORMS 2

/* Where the process finds its inputs in one form. */
struct tri_process_inputs {
    bool is_asked;            /* for this form */
    struct tr_bytes document; /* to be written beside it */
    struct tr_text path;      /* or the file that holds them already; empty: none does */
};

/*
 * The inputs as one document. TR_LIMIT: it is larger than `size_max`; TR_INVALID: this form cannot
 * hold them; TR_MEMORY.
 */
TR_MUST_USE int tri_process_inputs(struct tr_task_context *task, enum tr_document_form form,
                                   size_t size_max, struct tr_bytes *document);

/*
 * Everything that the process service needs to know, in the task's scratch memory. TR_INVALID: the
 * configuration, in words in `problem`; TR_MEMORY.
 */
TR_MUST_USE int tri_process_request(struct tr_task_context *task,
                                    const struct tri_process_inputs inputs[TRI_PROCESS_FORMS],
                                    struct tr_process_run *run, struct tr_text *problem);

/* The words before its command, none without software. TR_MEMORY. */
TR_MUST_USE int tri_process_software_words(struct tr_task_context *task,
                                           struct tri_process_words *words);

/* Adds the files that those take, at most TRI_PROCESS_SETUP_FILES. TR_MEMORY. */
TR_MUST_USE int tri_process_software_files(struct tr_task_context *task,
                                           struct tr_process_file *files, size_t *count);

/*
 * The names of the variables in which a warm worker may begin that is forked for it; none if it is
 * not to be forked, process_warm.c.
 */
TR_MUST_USE int tri_process_warm_names(struct tr_task_context *task,
                                       struct tri_process_words *names);

/* The same of a container, process_container.c. */
TR_MUST_USE int tri_process_container_words(struct tr_task_context *task,
                                            struct tri_process_words *words);
struct tr_text tri_process_container_script(void);

/* The command behind the end of an attempt, which removes its container. TR_MEMORY. */
TR_MUST_USE int tri_process_container_after(struct tr_task_context *task,
                                            struct tri_process_words *words);

/* The engine's variables that the runtime's client is handed, at most so many; and how many. */
#define TRI_PROCESS_CLIENT_WORDS 16
uint32_t tri_process_container_words_of_client(struct tr_text *words);

/* A size as people write bounds: 256 MiB. */
struct tr_text tri_process_size_text(struct tr_task_context *task, uint64_t bytes);

/* Whether an attempt may be repeated when it is not known what it has done. */
bool tri_process_may_repeat(struct tr_task_context *task);

/* Checks `config`, {limits: {open_files: 1024}, in_doubt: fail|repeat}, as tr_plugin's check. */
TR_MUST_USE int tri_process_check(const struct tr_task_template *task, char *problem,
                                  size_t problem_size);

/* Whether its limits may be why it could not be started. */
bool tri_process_has_limits(struct tr_task_context *task);

/* Whether a process was not started since the machine had too little for it. */
bool tri_process_was_short(struct tr_task_context *task, const struct tr_process_over *over);

/* Outputs that only the files service can read. */
struct tri_process_large {
    bool is_one;
    enum tr_document_form form;
};

/* Notes of a process that was asked to end what it has used and written. TR_MALFORMED. */
TR_MUST_USE int tri_process_stopped(struct tr_task_context *task,
                                    const struct tr_process_over *over,
                                    struct tr_transition *transition);

/*
 * What the end of a process means for its attempt. `large`: it is a success if the file of its
 * outputs, which no message carries, is what it should be; its phase is untouched.
 */
TR_MUST_USE int tri_process_outcome(struct tr_task_context *task,
                                    const struct tr_process_over *over,
                                    struct tri_process_large *large,
                                    struct tr_transition *transition);

/* Its store was put back from a backup, without what the process has left: outcome unknown. */
TR_MUST_USE int tri_process_restored(struct tr_task_context *task,
                                     struct tr_transition *transition);

/* Large documents, process_large.c: asks for inputs to be written, or for outputs to be read. */
TR_MUST_USE int tri_process_make_inputs(struct tr_task_context *task, enum tr_document_form form,
                                        uint64_t *call, struct tr_transition *transition);
TR_MUST_USE int tri_process_read_outputs(struct tr_task_context *task, enum tr_document_form form,
                                         uint64_t *call, struct tr_transition *transition);

/* The inputs are written, which the state knows now, or why not: the transition is a failure. */
TR_MUST_USE int tri_process_made(struct tr_task_context *task, const struct tr_task_event *event,
                                 struct tr_process_attempt *state,
                                 struct tr_transition *transition);

/* The path of inputs that are written; empty: there are none. */
struct tr_text tri_process_blob(struct tr_task_context *task,
                                const struct tr_process_attempt *state, enum tr_document_form form);

/* The outputs are read, or why not. */
TR_MUST_USE int tri_process_given(struct tr_task_context *task, const struct tr_task_event *event,
                                  struct tr_transition *transition);

#endif
