/*
 * Where two messages of one kind differ, for people. Only what speaks protobuf includes this.
 */
#ifndef TR_ACTORS_GRAPH_FLYTE_FLYTE_DIFFERENCE_H
#define TR_ACTORS_GRAPH_FLYTE_FLYTE_DIFFERENCE_H

#include <protobuf-c/protobuf-c.h>

#include "actors/graph/document/buffer.h"

/* So many places are told, and what else differs is counted. */
#define TR_FLYTE_DIFFERENCES_MAX 8

/* How much of a value is shown. */
#define TR_FLYTE_DIFFERENCE_SHOWN_BYTES 100

/*
 * Appends a line for each place where they differ, `\t- PATH: OLD -> NEW`, and returns how many
 * there are. Entries of maps have to be in the order of their keys. Errors stay in the buffer.
 */
uint32_t tr_flyte_difference(const ProtobufCMessage *before, const ProtobufCMessage *after,
                             struct tr_buffer *lines);

#endif
