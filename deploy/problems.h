/*
 * What is wrong with a definition or with inputs, as people read it and as programs do.
 */
#ifndef TR_DEPLOY_PROBLEMS_H
#define TR_DEPLOY_PROBLEMS_H

#include "actors/graph/report.h"
#include "deploy/document.h"

/* Prints each problem as a line; finishes the report. TR_MEMORY. */
TR_MUST_USE int tr_problems_print(struct tr_report *report, FILE *stream);

/* Writes each problem as a map into the list that the document is in; finishes the report. */
TR_MUST_USE int tr_problems_write(struct tr_report *report, struct tr_document *document);

#endif
