/*
 * The inside of the process plugin: how an attempt's process is asked for (process_request.c), and
 * what its end means (process_outcome.c). process.c is the plugin itself.
 */
#ifndef TR_PLUGINS_PROCESS_H
#define TR_PLUGINS_PROCESS_H

#include "plugins/plugin.h"
#include "schemas/process.h"

/* One JSON document of a task: inputs, outputs, errors. It travels in one message. */
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

/* The folder of this attempt, absolute. NULL data: no memory. */
struct tr_text tri_process_folder(struct tr_task_context *task);

/* The folder that all attempts of the task or element share. */
struct tr_text tri_process_checkpoints(struct tr_task_context *task);

/*
 * Everything that the process service needs to know, in the task's scratch memory. TR_LIMIT: the
 * inputs are larger than one document; TR_INVALID: the configuration; TR_MEMORY. Then `problem`
 * has words, as far as it is a person's matter.
 */
TR_MUST_USE int tri_process_request(struct tr_task_context *task, struct tr_process_run *run,
                                    struct tr_text *problem);

/* Checks `config`: {limits: {open_files: 1024, ...}}. As tr_plugin's check. */
TR_MUST_USE int tri_process_check(const struct tr_task_template *task, char *problem,
                                  size_t problem_size);

/* What the end of a process means for its attempt. */
TR_MUST_USE int tri_process_outcome(struct tr_task_context *task,
                                    const struct tr_process_over *over,
                                    struct tr_transition *transition);

/* Words in the task's scratch memory; empty when there is none left. */
struct tr_text tri_process_words(struct tr_task_context *task, const char *format, ...)
    TR_PRINTF(2, 3);

#endif
