/*
 * The table of known codes. The page of the language lists those of Troupe with what each means
 * (examples/README.md), and a test holds the two together and against the code that gives them.
 *
 * A code that is not in the table is nobody's mistake, as tasks make up their own. So only what is
 * nearly the same is suggested: one slip or, in a long name, two; or another case.
 */
#include "actors/graph/language/failure_codes.h"

#include <string.h>
#include <strings.h>

#include "schemas/codec/spelling.h"

/* From so many letters on a name may hold two slips. */
#define LONG_NAME_BYTES 10

#define USER TRI_CODE_OF_USER
#define SYSTEM TRI_CODE_OF_SYSTEM
#define FINAL TRI_CODE_FINAL

static const struct {
    const char *name;
    enum tri_failure_code_kind kind;
} codes[] = {
    {"BackendRefused", FINAL},
    {"BadTaskSpecification", FINAL},
    {"Cancelled", FINAL},
    {"ContainerNotStarted", USER},
    {"DynamicWorkflowBuildFailed", USER},
    {"EnvironmentNotMade", USER},
    {"ErrorDocumentMalformed", USER},
    {"ErrorDocumentTooLarge", USER},
    {"Evicted", SYSTEM},
    {"HostLost", SYSTEM},
    {"HttpStatus", USER},
    {"HttpUnavailable", SYSTEM},
    {"InputSizeExceeded", FINAL},
    {"InputsNotFoundError", USER},
    {"JobFailed", USER},
    {"JobTooLarge", FINAL},
    {"LeaseExpired", SYSTEM},
    {"MismatchingTypes", USER},
    {"NoEndpoint", FINAL},
    {"OOMKilled", USER},
    {"OutcomeUnknown", SYSTEM},
    {"OutputNotAllowed", USER},
    {"OutputSizeExceeded", USER},
    {"OutputsNotFound", USER},
    {"PluginFailed", SYSTEM},
    {"PluginQuarantined", FINAL},
    {"Preempted", SYSTEM},
    {"ProcessFailed", USER},
    {"ProcessNotStarted", USER},
    {"ProcessRefused", USER},
    {"ProcessSignalled", USER},
    {"Rejected", FINAL},
    {"ResourcesExceedLimits", FINAL},
    {"ResponseTooLarge", FINAL},
    {"SecretNotFound", USER},
    {"StorageDenied", FINAL},
    {"StorageError", SYSTEM},
    {"TaskFailed", USER},
    {"TimeoutExpired", USER},
    {"ToolNotFound", FINAL},
    {"UnknownError", USER},
    {"UnsupportedTaskType", FINAL},
    /* Exceptions of Python's that end a program. */
    {"ArithmeticError", USER},
    {"AssertionError", USER},
    {"AttributeError", USER},
    {"BlockingIOError", USER},
    {"BrokenPipeError", USER},
    {"BufferError", USER},
    {"ChildProcessError", USER},
    {"ConnectionAbortedError", USER},
    {"ConnectionError", USER},
    {"ConnectionRefusedError", USER},
    {"ConnectionResetError", USER},
    {"EOFError", USER},
    {"FileExistsError", USER},
    {"FileNotFoundError", USER},
    {"FloatingPointError", USER},
    {"ImportError", USER},
    {"IndentationError", USER},
    {"IndexError", USER},
    {"InterruptedError", USER},
    {"IsADirectoryError", USER},
    {"KeyError", USER},
    {"KeyboardInterrupt", USER},
    {"LookupError", USER},
    {"MemoryError", USER},
    {"ModuleNotFoundError", USER},
    {"NameError", USER},
    {"NotADirectoryError", USER},
    {"NotImplementedError", USER},
    {"OSError", USER},
    {"OverflowError", USER},
    {"PermissionError", USER},
    {"ProcessLookupError", USER},
    {"RecursionError", USER},
    {"ReferenceError", USER},
    {"RuntimeError", USER},
    {"StopIteration", USER},
    {"SyntaxError", USER},
    {"SystemError", USER},
    {"TabError", USER},
    {"TimeoutError", USER},
    {"TypeError", USER},
    {"UnboundLocalError", USER},
    {"UnicodeDecodeError", USER},
    {"UnicodeEncodeError", USER},
    {"UnicodeError", USER},
    {"ValueError", USER},
    {"ZeroDivisionError", USER},
};

enum tri_failure_code_kind tri_failure_code_kind(struct tr_text code)
{
    for (size_t i = 0; i < TR_COUNT_OF(codes); i++) {
        if (tr_text_equal(code, tr_text_of(codes[i].name))) {
            return codes[i].kind;
        }
    }
    return TRI_CODE_UNKNOWN;
}

static bool is_slip(struct tr_text code, struct tr_text known)
{
    bool is_other_case =
        code.size == known.size && strncasecmp(code.data, known.data, code.size) == 0;
    return is_other_case ||
           tr_spelling_distance(code, known) <= (known.size < LONG_NAME_BYTES ? 1U : 2U);
}

struct tr_text tri_failure_code_nearest(struct tr_text code)
{
    for (size_t i = 0; i < TR_COUNT_OF(codes); i++) {
        struct tr_text known = tr_text_of(codes[i].name);
        if (is_slip(code, known)) {
            return known;
        }
    }
    return tr_text_of("");
}
