/*
 * What is wrong with a definition or with inputs, as people read it and as programs do.
 */
#ifndef TR_DEPLOY_COMMON_PROBLEMS_H
#define TR_DEPLOY_COMMON_PROBLEMS_H

#include "actors/graph/document/report.h"
#include "deploy/common/document.h"

/* Prints the errors, each as a line, behind the report's head; finishes the report. TR_MEMORY. */
TR_MUST_USE int tr_problems_print(struct tr_report *report, FILE *stream);

/* The same of each warning. */
TR_MUST_USE int tr_warnings_print(struct tr_report *report, FILE *stream);

/*
 * Writes each error, then each warning, as a map into the list that the document is in; finishes
 * the report.
 */
void tr_problems_write(struct tr_report *report, struct tr_document *document);

#endif
