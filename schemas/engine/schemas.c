/*
 * The functions and tables of what workflows say, remember and record, and the words of their
 * steps: made from the definitions of those headers that need no other code.
 */
#include "schemas/engine/entity.h"
#include "schemas/engine/flow.h"
#include "schemas/engine/history.h"
#include "schemas/engine/notify.h"
#include "schemas/engine/recovery.h"
#include "schemas/engine/refresh.h"
#include "schemas/engine/retention.h"
#include "schemas/engine/schedule.h"
#include "schemas/engine/state_array.h"
#include "schemas/engine/state_launch.h"
#include "schemas/engine/state_plugin.h"
#include "schemas/engine/state_refresh.h"
#include "schemas/engine/state_service.h"
#include "schemas/engine/state_signals.h"
#include "schemas/engine/state_task.h"
#include "schemas/engine/state_workflow.h"

TR_ENTITY_SCHEMAS(TR_SCHEMA_DEFINE)
TR_FLOW_SCHEMAS(TR_SCHEMA_DEFINE)
TR_HISTORY_SCHEMAS(TR_SCHEMA_DEFINE)
TR_NOTIFY_SCHEMAS(TR_SCHEMA_DEFINE)
TR_RECOVERY_SCHEMAS(TR_SCHEMA_DEFINE)
TR_REFRESH_SCHEMAS(TR_SCHEMA_DEFINE)
TR_RETENTION_SCHEMAS(TR_SCHEMA_DEFINE)
TR_SCHEDULE_SCHEMAS(TR_SCHEMA_DEFINE)
TR_STATE_ARRAY_SCHEMAS(TR_SCHEMA_DEFINE)
TR_STATE_LAUNCH_SCHEMAS(TR_SCHEMA_DEFINE)
TR_STATE_PLUGIN_SCHEMAS(TR_SCHEMA_DEFINE)
TR_STATE_REFRESH_SCHEMAS(TR_SCHEMA_DEFINE)
TR_STATE_SERVICE_SCHEMAS(TR_SCHEMA_DEFINE)
TR_STATE_SIGNALS_SCHEMAS(TR_SCHEMA_DEFINE)
TR_STATE_TASK_SCHEMAS(TR_SCHEMA_DEFINE)
TR_STATE_WORKFLOW_SCHEMAS(TR_SCHEMA_DEFINE)

const struct tr_schema *const tr_history_schemas[] = {TR_HISTORY_SCHEMAS(TR_SCHEMA_POINTER_ROW)};
const size_t tr_history_schema_count = TR_COUNT_OF(tr_history_schemas);

/* ---- The words of steps and their like, by number; "?" for a number that is none. ------------ */

#define WORD_ROW(name, number, text) [number] = (text),

/* Defines NAME(number), which finds the word in one of the lists. */
#define WORD_FUNCTION(name, list)                                 \
    const char *name(uint8_t number)                              \
    {                                                             \
        static const char *const words[] = {list(WORD_ROW)};      \
        return number < TR_COUNT_OF(words) ? words[number] : "?"; \
    }

WORD_FUNCTION(tr_circuit_word, TR_CIRCUITS)
WORD_FUNCTION(tr_entity_kind_word, TR_ENTITY_KINDS)
WORD_FUNCTION(tr_launch_step_words, TR_LAUNCH_STEPS)
WORD_FUNCTION(tr_notification_status_word, TR_NOTIFICATION_STATES)
WORD_FUNCTION(tr_notify_kind_word, TR_NOTIFY_KINDS)
WORD_FUNCTION(tr_notify_phase_word, TR_NOTIFY_PHASES)
WORD_FUNCTION(tr_schedule_change_word, TR_SCHEDULE_CHANGES)
WORD_FUNCTION(tr_schedule_outcome_word, TR_SCHEDULE_OUTCOMES)
WORD_FUNCTION(tr_schedule_step_words, TR_SCHEDULE_STEPS)
WORD_FUNCTION(tr_task_intent_words, TR_TASK_INTENTS)
WORD_FUNCTION(tr_task_step_words, TR_TASK_STEPS)
