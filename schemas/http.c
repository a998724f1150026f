/*
 * The functions of the http service's messages, made from their one definition in http.h.
 */
#include "schemas/http.h"

TR_HTTP_SCHEMAS(TR_SCHEMA_DEFINE)
