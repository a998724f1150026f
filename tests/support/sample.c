/*
 * The samples' functions and tables, made from the lists of sample.h.
 */
#include "tests/support/sample.h"

TR_SAMPLE_SCHEMAS(TR_SCHEMA_DEFINE)
TR_SAMPLE_OLD_SCHEMAS(TR_SCHEMA_DEFINE)
