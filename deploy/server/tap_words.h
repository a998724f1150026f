/*
 * What passes in the engine, in the words of executions, nodes, elements and phases: a line for
 * each message that says something of those.
 */
#ifndef TR_DEPLOY_SERVER_TAP_WORDS_H
#define TR_DEPLOY_SERVER_TAP_WORDS_H

#include "runtime/tap/tap.h"

/*
 * Words of a filter that shows all messages that have such a line, and enough of them. They go
 * before those that a person gives.
 */
#define TR_TAP_WORDS_FILTER                                                                  \
    "point=handled,send",                                                                    \
        "type=node_start,node_news,node_ended,execution_ended,node_abort,node_pause,launch," \
        "signal_wait",                                                                       \
        "payload=65536"

/*
 * Prints a line without its end; false: this message says nothing of that kind, or another one says
 * it.
 */
bool tr_tap_words_print(const struct tr_tap_event *event, struct tr_sink *sink);

#endif
