/*
 * What the plugins that are linked in keep of an attempt. Only the plugin itself reads and writes
 * its own (law 6 of runtime/ARCHITECTURE.md); they are declared here because they reach the disk.
 * Ids from 200 on.
 */
#ifndef TR_SCHEMAS_ENGINE_STATE_PLUGIN_H
#define TR_SCHEMAS_ENGINE_STATE_PLUGIN_H

#include "schemas/codec/field.h"
#include "schemas/engine/webapi.h"

/* echo: whether its wait has begun. */
#define TR_ECHO_STATE_FIELDS(FIELD, ARRAY) FIELD(bool, is_waiting, 1, 0)

/* sleep: until when, on the wall clock; 0 before it has begun. */
#define TR_SLEEP_STATE_FIELDS(FIELD, ARRAY) FIELD(u64, until_ms, 1, 0)

/*
 * process: the calls that wait for the end, for a stop and for large documents, 0: none; whether no
 * log was written; the blob of inputs that are too large for a message, empty: they are not; the
 * same of inputs in Flyte's form; and the form of the large document that is being read or written.
 */
#define TR_PROCESS_BLOB_BYTES_MAX 192
#define TR_PROCESS_ATTEMPT_FIELDS(FIELD, ARRAY)                \
    FIELD(u64, run, 1, 0)                                      \
    FIELD(u64, stop, 1, 0)                                     \
    FIELD(bool, has_no_log, 1, 0)                              \
    FIELD(u64, make, 1, 0)                                     \
    FIELD(u64, read, 1, 0)                                     \
    ARRAY(text, inputs, TR_PROCESS_BLOB_BYTES_MAX, 1, 0)       \
    FIELD(u32, losses, 1, 0)                                   \
    FIELD(u64, lost, 1, 0)                                     \
    ARRAY(text, flyte_inputs, TR_PROCESS_BLOB_BYTES_MAX, 1, 0) \
    FIELD(u8, form, 1, 0)                                      \
    FIELD(u64, asked_ms, 1, 0)

/*
 * armada: whether the call under way reads outputs, else it looks for an error document; how often
 * the store of that document was asked without an answer; and the job set in which its job was
 * made, which carries the mark of the store that made it. Empty: it follows from this store.
 */
#define TR_ARMADA_ATTEMPT_FIELDS(FIELD, ARRAY) \
    TR_WEBAPI_ATTEMPT_FIELDS(FIELD, ARRAY)     \
    FIELD(bool, reads_outputs, 1, 0)           \
    FIELD(u32, reads, 1, 0)                    \
    ARRAY(text, job_set, TR_WEBAPI_JOB_SET_BYTES_MAX, 1, 0)

/*
 * kubernetes: as armada's; whether the call under way asks for a PodTemplate, and the path of the
 * file with its inputs meanwhile, empty: they travel with the pod; whether the call under way looks
 * for Flyte's futures.pb; and what becomes of its pod's finalizer (enum tri_kubernetes_finalizer of
 * plugins/kubernetes/).
 */
#define TR_KUBERNETES_INPUTS_BYTES_MAX 255
#define TR_KUBERNETES_ATTEMPT_FIELDS(FIELD, ARRAY)            \
    TR_ARMADA_ATTEMPT_FIELDS(FIELD, ARRAY)                    \
    FIELD(bool, asks_template, 2, 0)                          \
    ARRAY(text, inputs, TR_KUBERNETES_INPUTS_BYTES_MAX, 2, 0) \
    FIELD(bool, reads_futures, 3, 0)                          \
    FIELD(u8, finalizer, 4, 0)

/*
 * http: the request under way, how many were made, whether the outcome of one is unknown, and how
 * often something was said.
 */
#define TR_HTTP_ATTEMPT_FIELDS(FIELD, ARRAY) \
    FIELD(u64, call, 1, 0)                   \
    FIELD(u32, tries, 1, 0)                  \
    FIELD(bool, is_unknown, 1, 0)            \
    FIELD(u32, news, 1, 0)

#define TR_STATE_PLUGIN_SCHEMAS(S)                                     \
    S(echo_state, 200, TR_STATE, 1, 0, TR_ECHO_STATE_FIELDS)           \
    S(sleep_state, 201, TR_STATE, 1, 0, TR_SLEEP_STATE_FIELDS)         \
    S(process_attempt, 202, TR_STATE, 1, 0, TR_PROCESS_ATTEMPT_FIELDS) \
    S(armada_attempt, 203, TR_STATE, 1, 0, TR_ARMADA_ATTEMPT_FIELDS)   \
    S(http_attempt, 214, TR_STATE, 1, 0, TR_HTTP_ATTEMPT_FIELDS)       \
    S(kubernetes_attempt, 215, TR_STATE, 4, 0, TR_KUBERNETES_ATTEMPT_FIELDS)

TR_STATE_PLUGIN_SCHEMAS(TR_SCHEMA_DECLARE_ROW)

#endif
