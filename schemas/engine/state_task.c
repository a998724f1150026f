/*
 * The functions of a task's state, made from its one definition in state_task.h, and its words.
 */
#include "schemas/engine/state_task.h"

TR_STATE_TASK_SCHEMAS(TR_SCHEMA_DEFINE)

#define WORDS(name, number, words) [number] = words,
static const char *const step_words[] = {TR_TASK_STEPS(WORDS)};
static const char *const intent_words[] = {TR_TASK_INTENTS(WORDS)};
#undef WORDS

const char *tr_task_step_words(uint8_t step)
{
    return step < TR_STEP_COUNT ? step_words[step] : "?";
}

const char *tr_task_intent_words(uint8_t intent)
{
    return intent < TR_INTENT_COUNT ? intent_words[intent] : "?";
}
