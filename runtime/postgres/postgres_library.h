/*
 * libpq, loaded when the first store in PostgreSQL is opened. It brings libraries of TLS, Kerberos
 * and LDAP with it, which take longer to load than the rest of a command that needs none of them.
 *
 * Only for the files that call libpq. Each function that they use is a row of the list.
 */
#ifndef TR_RUNTIME_POSTGRES_POSTGRES_LIBRARY_H
#define TR_RUNTIME_POSTGRES_POSTGRES_LIBRARY_H

#include <libpq-fe.h>

#include "schemas/codec/base.h"

#define TRI_LIBPQ_FUNCTIONS(F) \
    F(clear)                   \
    F(cmdTuples)               \
    F(connectdbParams)         \
    F(conninfoFree)            \
    F(conninfoParse)           \
    F(consumeInput)            \
    F(db)                      \
    F(enterPipelineMode)       \
    F(errorMessage)            \
    F(exec)                    \
    F(execParams)              \
    F(exitPipelineMode)        \
    F(finish)                  \
    F(freemem)                 \
    F(getResult)               \
    F(getisnull)               \
    F(getlength)               \
    F(getvalue)                \
    F(host)                    \
    F(isBusy)                  \
    F(nfields)                 \
    F(notifies)                \
    F(ntuples)                 \
    F(pipelineSync)            \
    F(prepare)                 \
    F(reset)                   \
    F(resultErrorField)        \
    F(resultErrorMessage)      \
    F(resultStatus)            \
    F(sendPrepare)             \
    F(sendQuery)               \
    F(sendQueryParams)         \
    F(sendQueryPrepared)       \
    F(serverVersion)           \
    F(setErrorVerbosity)       \
    F(setNoticeProcessor)      \
    F(socket)                  \
    F(status)                  \
    F(transactionStatus)       \
    F(user)

/* PQNAME of the library, as member NAME. */
struct tri_libpq {
#define TRI_LIBPQ_MEMBER(name) __typeof__ (&PQ##name)(name);
    TRI_LIBPQ_FUNCTIONS(TRI_LIBPQ_MEMBER)
#undef TRI_LIBPQ_MEMBER
};

/*
 * The library's functions; loaded at the first call and kept until the process ends. Any thread.
 * NULL: not installed, or older than version 14, the first with pipelines.
 */
const struct tri_libpq *tri_libpq_load(void);

#endif
