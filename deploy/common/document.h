/*
 * What -o json and -o yaml print: one document, written from the beginning to the end, the same
 * calls for both forms. JSON takes one line; in a stream of documents that is a line each.
 *
 *     struct tr_document document;
 *     tr_document_init(&document, stdout, TR_OUTPUT_JSON);
 *     tr_document_begin_map(&document, NULL);
 *     tr_document_text(&document, "execution", tr_text_of("hello-x7k2p"));
 *     tr_document_end(&document);
 *     tr_document_fini(&document);
 *
 * In a map each part has a name; in a list the name is NULL.
 */
#ifndef TR_DEPLOY_COMMON_DOCUMENT_H
#define TR_DEPLOY_COMMON_DOCUMENT_H

#include <stdio.h>

#include "deploy/common/output.h"
#include "schemas/codec/base.h"

/* How deeply a document may nest; more is a mistake of the program. */
#define TR_DOCUMENT_DEPTH_MAX 16

struct tr_document {
    FILE *stream;
    bool is_yaml;
    uint32_t depth;
    struct {
        bool is_list;
        uint32_t count;
    } levels[TR_DOCUMENT_DEPTH_MAX];
};

/* Begins a document in the form of `output`, which is JSON or YAML. */
void tr_document_init(struct tr_document *document, FILE *stream, enum tr_output output);

/* Ends it with a line feed; all levels have to be ended. */
void tr_document_fini(struct tr_document *document);

void tr_document_begin_map(struct tr_document *document, const char *name);
void tr_document_begin_list(struct tr_document *document, const char *name);
void tr_document_end(struct tr_document *document);

void tr_document_text(struct tr_document *document, const char *name, struct tr_text text);
void tr_document_number(struct tr_document *document, const char *name, int64_t number);
void tr_document_bool(struct tr_document *document, const char *name, bool value);
void tr_document_null(struct tr_document *document, const char *name);

/* A text; null for NULL. */
void tr_document_text_or_null(struct tr_document *document, const char *name, const char *text);

/* A time in milliseconds since 1970 as RFC 3339 in UTC; null for 0. */
void tr_document_time(struct tr_document *document, const char *name, uint64_t time_ms);

/* One value that is JSON already, on one line (which is YAML, too). */
void tr_document_json(struct tr_document *document, const char *name, struct tr_text json);

/* The same for one that the caller writes to the stream, between these two. */
void tr_document_begin_json(struct tr_document *document, const char *name);
void tr_document_end_json(struct tr_document *document);

#endif
