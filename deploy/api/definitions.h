/*
 * The definitions of what is served, as protobuf describes them: the files of schemas/flyteidl/,
 * which are part of the program, and a file for each service, which is made of the table of RPCs.
 * Pure.
 */
#ifndef TR_DEPLOY_API_DEFINITIONS_H
#define TR_DEPLOY_API_DEFINITIONS_H

#include <flyteidl/grpc_descriptor.pb-c.h>

#include "deploy/api/call.h"

/* A google.protobuf.FileDescriptorSet of schemas/flyteidl/; the build makes it (CMakeLists.txt). */
extern const uint8_t tri_flyteidl_definitions[];
extern const size_t tri_flyteidl_definitions_size;

struct tr_definition {
    const Troupe__Descriptor__File *file;
    struct tr_bytes bytes; /* all of it */
};

struct tr_definitions {
    struct tr_arena arena;
    struct tr_definition *items;
    size_t count;
};

/* Reads them for a table of RPCs. Errors, also of memory, are the arena's. */
TR_MUST_USE int tr_definitions_init(struct tr_definitions *definitions,
                                    const struct tr_api_method *methods, size_t method_count);
void tr_definitions_fini(struct tr_definitions *definitions);

/* The file of a name, and that which declares a message, an enum, a service or an RPC; or NULL. */
const struct tr_definition *tr_definitions_file(const struct tr_definitions *definitions,
                                                struct tr_text name);
const struct tr_definition *tr_definitions_declaring(const struct tr_definitions *definitions,
                                                     struct tr_text symbol);

/* Whether a symbol is that of a message. */
bool tr_definitions_has_message(const struct tr_definitions *definitions, struct tr_text symbol);

/*
 * A file and all files that it needs, each once, the first one first; how many these are. There is
 * room for `definitions->count`.
 */
size_t tr_definitions_needed(const struct tr_definitions *definitions,
                             const struct tr_definition *first,
                             const struct tr_definition **needed);

#endif
