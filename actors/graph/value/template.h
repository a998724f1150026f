/*
 * Flyte's container templating: `{{.inputs.x}}` and its kin in the command, the environment and the
 * strings of the configuration of a task.
 *
 * A template is {{ .NAME }} or {{ $NAME }}, blanks and case of NAME do not matter (input names are
 * exact), or {{ .NAME | quote }}, the same as one word of a shell, or {{`TEXT`}}, which is TEXT as
 * it stands, braces among it. Pure.
 */
#ifndef TR_ACTORS_GRAPH_VALUE_TEMPLATE_H
#define TR_ACTORS_GRAPH_VALUE_TEMPLATE_H

#include "schemas/codec/base.h"

/*
 * What templates may name, besides inputs. INPUT is the path of inputs.pb. TASK_DOCUMENT is
 * Flyte's, too, and is refused: the engine writes no task.pb, as the definition has what would
 * stand in it.
 */
#define TR_TEMPLATES(T)                            \
    T(INPUT, "input")                              \
    T(INPUT_PREFIX, "inputPrefix")                 \
    T(OUTPUT_PREFIX, "outputPrefix")               \
    T(RAW_OUTPUT_PREFIX, "rawOutputDataPrefix")    \
    T(UNIQUE_KEY, "perRetryUniqueKey")             \
    T(CHECKPOINT_PREFIX, "checkpointOutputPrefix") \
    T(PREVIOUS_CHECKPOINT, "prevCheckpointPrefix") \
    T(NAMESPACE, "namespace")                      \
    T(CODE_FOLDER, "codeFolder")                   \
    T(TASK_DOCUMENT, "taskTemplatePath")
#define TR_TEMPLATE_TASK_DOCUMENT_REMEDY "hand on what the task needs as inputs or in `env`"

enum tr_template_name {
#define TRI_TEMPLATE_ENUM(name, word) TR_TEMPLATE_##name,
    TR_TEMPLATES(TRI_TEMPLATE_ENUM)
#undef TRI_TEMPLATE_ENUM
        TR_TEMPLATE_COUNT
};

enum tr_template_kind {
    TR_TEMPLATE_IS_INPUT,   /* {{.inputs.NAME}}; there may be no such input */
    TR_TEMPLATE_IS_NAME,    /* one of TR_TEMPLATES */
    TR_TEMPLATE_IS_TEXT,    /* {{`TEXT`}} */
    TR_TEMPLATE_IS_UNKNOWN, /* means nothing */
    TR_TEMPLATE_IS_OPEN,    /* {{ without }} */
};

/* A template where it stands in a text. */
struct tr_template {
    enum tr_template_kind kind;
    struct tr_text whole;        /* with its braces; of an open one what stands before the next */
    struct tr_text name;         /* of the input; the text; of an unknown one what it says */
    enum tr_template_name which; /* of a name */
    struct tr_text function;     /* of an unknown one what stands behind its bar; or empty */
    bool is_quoted;
};

/* What a template may be handed to, behind a bar. */
#define TR_TEMPLATE_QUOTE "quote"

/*
 * Takes the next template and what stands `before` it from the beginning of a text. False without
 * one: `before` is all of the text.
 */
bool tr_template_next(struct tr_text *text, struct tr_text *before, struct tr_template *template);

/* The word of a name. */
const char *tr_template_name_text(enum tr_template_name name);

/* Whether there may be a template in a text, or in a packed value. */
bool tr_template_is_in(const void *bytes, size_t size);

/* The same of the command, the environment and the configuration of a task. */
struct tr_task_template;
uint32_t tr_template_names_of(const struct tr_task_template *task);

/*
 * What the templates of a notification may name, and nothing else: N(NAME, word). `labels.KEY` is
 * one label.
 */
#define TR_NOTIFY_NAMES(N)             \
    N(EXECUTION_NAME, "executionName") \
    N(PROJECT, "project")              \
    N(DOMAIN, "domain")                \
    N(WORKFLOW, "workflow")            \
    N(PLAN, "plan")                    \
    N(PHASE, "phase")                  \
    N(CAUSE, "cause")                  \
    N(ERROR, "error")                  \
    N(ERROR_CODE, "errorCode")         \
    N(ERROR_NODE, "errorNode")         \
    N(GATE, "gate")                    \
    N(LABELS, "labels")                \
    N(STARTED_AT, "startedAt")         \
    N(ENDED_AT, "endedAt")             \
    N(KEY, "notification")

enum tr_notify_name {
#define TRI_NOTIFY_NAME_ENUM(name, word) TR_NOTIFY_NAME_##name,
    TR_NOTIFY_NAMES(TRI_NOTIFY_NAME_ENUM)
#undef TRI_NOTIFY_NAME_ENUM
        TR_NOTIFY_NAME_COUNT
};

/* The word of such a name. */
const char *tr_notify_name_text(enum tr_notify_name name);

/*
 * Which of them the name of an unknown template is, with its mark in front; of `.labels.KEY` LABELS
 * and the `label`, which is else empty. False: none.
 */
TR_MUST_USE bool tr_notify_name_find(struct tr_text name, enum tr_notify_name *which,
                                     struct tr_text *label);

/* What is wrong with a template of INPUT where a task has no documents of Flyte's. */
#define TR_TEMPLATE_NO_DOCUMENT                                                                 \
    "the template {{.input}} asks for inputs.pb, which only tasks on this machine and pods of " \
    "Kubernetes have; hand on inputs one by one, as {{.inputs.x}}"

#endif
