/*
 * The limits of calls, beside those of the door that they come through (../door/door_limits.h).
 */
#ifndef TR_DEPLOY_API_WIRE_API_LIMITS_H
#define TR_DEPLOY_API_WIRE_API_LIMITS_H

/* Bytes of all requests together that have not come as a whole. */
#define TR_API_COLLECTED_BYTES_MAX (256ULL << 20)

/* Memory that one request may take when it is taken apart. */
#define TR_API_MESSAGE_BYTES_MAX (256ULL << 20)

/* Words of an error. */
#define TR_API_WORDS_BYTES 2048

/* Variables in one path. */
#define TR_API_VARIABLES_MAX 16

/* Conditions of a list, and bytes of all of them and of a token. */
#define TR_LIST_FILTERS_MAX 12
#define TR_LIST_FILTERS_BYTES_MAX 8192

/* How long a token is good, and bytes of the form that asks for one. */
#define TR_API_TOKEN_S 3600
#define TR_API_TOKEN_FORM_BYTES_MAX (16ULL << 10)

/* The longest time that a client may give a call; longer ones are as if none were given. */
#define TR_API_TIMEOUT_MS_MAX (365ULL * 24 * 3600 * 1000)

#endif
