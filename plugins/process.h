/*
 * The inside of the process plugin: how an attempt's process is asked for (process_request.c), and
 * what its end means (process_outcome.c). process.c is the plugin itself.
 */
#ifndef TR_PLUGINS_PROCESS_H
#define TR_PLUGINS_PROCESS_H

#include "plugins/plugin.h"
#include "schemas/process.h"
#include "schemas/state_plugin.h"

/*
 * One JSON document of a task that travels in a message: inputs, outputs, errors. Larger inputs and
 * outputs, up to TR_VALUES_BYTES_MAX, are written and read by the files service.
 */
#define TR_PROCESS_DOCUMENT_BYTES_MAX (512U << 10)

/* Names below an attempt's folder. */
#define TR_PROCESS_WORK "work"
#define TR_PROCESS_TMP "tmp"
#define TR_PROCESS_INPUTS "inputs.json"
#define TR_PROCESS_OUTPUTS "outputs.json"
#define TR_PROCESS_ERROR "error.json"
#define TR_PROCESS_STDOUT "stdout"
#define TR_PROCESS_STDERR "stderr"

/* What is read when it has ended, in this order. The logs only for their presence. */
enum tri_process_result {
    TRI_PROCESS_RESULT_OUTPUTS,
    TRI_PROCESS_RESULT_ERROR,
    TRI_PROCESS_RESULT_STDOUT,
    TRI_PROCESS_RESULT_STDERR,
    TRI_PROCESS_RESULT_COUNT,
};

/* Where the process finds its inputs. */
struct tri_process_inputs {
    struct tr_text json; /* to be written beside it */
    struct tr_text path; /* or the file that holds them already; empty: none does */
};

/* The inputs as one document. TR_LIMIT: it is larger than one that travels; TR_MEMORY. */
TR_MUST_USE int tri_process_inputs(struct tr_task_context *task, struct tri_process_inputs *inputs);

/*
 * Everything that the process service needs to know, in the task's scratch memory. TR_INVALID: the
 * configuration, in words in `problem`; TR_MEMORY.
 */
TR_MUST_USE int tri_process_request(struct tr_task_context *task,
                                    const struct tri_process_inputs *inputs,
                                    struct tr_process_run *run, struct tr_text *problem);

/* Checks `config`: {limits: {open_files: 1024, ...}}. As tr_plugin's check. */
TR_MUST_USE int tri_process_check(const struct tr_task_template *task, char *problem,
                                  size_t problem_size);

/*
 * What the end of a process means for its attempt. `is_large`: it is a success if the file of its
 * outputs, which is too large for a message, is what it should be; the transition is untouched.
 */
TR_MUST_USE int tri_process_outcome(struct tr_task_context *task,
                                    const struct tr_process_over *over, bool *is_large,
                                    struct tr_transition *transition);

/* Large documents, process_large.c: asks for inputs to be written, or for outputs to be read. */
TR_MUST_USE int tri_process_make_inputs(struct tr_task_context *task, uint64_t *call,
                                        struct tr_transition *transition);
TR_MUST_USE int tri_process_read_outputs(struct tr_task_context *task, uint64_t *call,
                                         struct tr_transition *transition);

/* The inputs are written, which the state knows now, or why not: the transition is a failure. */
TR_MUST_USE int tri_process_made(struct tr_task_context *task, const struct tr_task_event *event,
                                 struct tr_process_attempt *state,
                                 struct tr_transition *transition);

/* The path of inputs that are written; empty: there are none. */
struct tr_text tri_process_blob(struct tr_task_context *task,
                                const struct tr_process_attempt *state);

/* The outputs are read, or why not. */
TR_MUST_USE int tri_process_given(struct tr_task_context *task, const struct tr_task_event *event,
                                  struct tr_transition *transition);

#endif
