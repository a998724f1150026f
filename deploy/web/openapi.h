/*
 * The page that describes the API to programs (OpenAPI 3.1), made of the table of routes and of the
 * schemas of documents.
 */
#ifndef TR_DEPLOY_WEB_OPENAPI_H
#define TR_DEPLOY_WEB_OPENAPI_H

#include <stdio.h>

#include "schemas/codec/base.h"

/* schemas/documents.schema.json as the build has made it a part of the program. */
extern const char tr_documents_schema[];
extern const size_t tr_documents_schema_size;

/* Writes the page. */
void tr_web_openapi_write(FILE *stream);

#endif
