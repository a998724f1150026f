/*
 * How a blob is named: `blob:DIGEST` or `blob:DIGEST-NAME`, with the SHA-256 of its content in
 * hexadecimal and a name for people and for programs that look at extensions; what lies in a blob
 * that is a folder: `blob:DIGEST-NAME/PATH`. No machine is named, so the URI is the same wherever
 * the content is reached.
 *
 * Before, a blob's URI was its path, STORE/blobs/DIGEST-NAME. Such URIs are in stored states,
 * exports and caches, and are read for ever. Pure; any thread.
 */
#ifndef TR_SCHEMAS_RUNTIME_BLOB_URI_H
#define TR_SCHEMAS_RUNTIME_BLOB_URI_H

#include "schemas/codec/base.h"

#define TR_BLOB_SCHEME "blob:"

/* Digits of a digest. */
#define TR_BLOB_DIGITS 64

/*
 * Whether a text begins as the name of a blob, DIGEST, DIGEST-NAME, or such a name with a path
 * behind it. The path is any text.
 */
bool tr_blob_name_is(struct tr_text name);

/* The name behind `blob:`; empty: the text is no such URI. */
struct tr_text tr_blob_uri_name(struct tr_text uri);

/* The name behind the last "/blobs/" of a path or a file URI; empty: it is of no blob. */
struct tr_text tr_blob_path_name(struct tr_text path);

#endif
