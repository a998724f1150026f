/*
 * Which Python runs flytekit's tasks, and whether it can.
 */
#ifndef TR_DEPLOY_FLYTE_PYTHON_H
#define TR_DEPLOY_FLYTE_PYTHON_H

#include "actors/graph/compiled/graph.h"
#include "actors/graph/document/report.h"

/* The program of flytekit's that runs a task. */
#define TR_PYTHON_EXECUTE "pyflyte-execute"

/*
 * Asks each Python that tasks of a graph are run by whether it has flytekit and can import their
 * modules, before anything begins; of the same Python, code and modules once (a file in the store's
 * folder of code notes it). What is missing is in the report with words that say what to install:
 * TR_INVALID. TR_SYSTEM (errno), TR_MEMORY. A module that fails in another way than by what is not
 * there, or is not imported in TR_PYTHON_CHECK_MS, is left to its tasks.
 */
TR_MUST_USE int tr_python_check(const struct tr_graph *graph, const char *store,
                                struct tr_report *report);
#define TR_PYTHON_CHECK_MS 60000

#endif
