/*
 * The child, its door, and what /proc says of it.
 */
#include "tests/bench/support/service.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

/* How long it may take to open its door, and how often it is looked for. */
#define START_NS_MAX 600e9
#define LOOK_MS 2

/* How long it may take to answer, and an execution to end. */
#define ANSWER_MS 60000

/* The one that runs: a benchmark that ends with words takes it along. */
static pid_t running;

static void kill_running(void)
{
    if (running != 0) {
        (void)kill(running, SIGKILL);
    }
}

static char *const *words_of(const char *folder)
{
    static char serve[] = "serve";
    static char store[] = "--store";
    static char folder_word[BENCH_FOLDER_BYTES];
    static char *words[5];
    static char program[4096];
    snprintf(program, sizeof program, "%s", bench_troupe());
    snprintf(folder_word, sizeof folder_word, "%s", folder);
    memcpy(words, (char *[]){program, serve, store, folder_word, NULL}, sizeof words);
    return words;
}

/* Whether it opens; then how many executions it found unfinished. */
static bool knock(struct bench_service *service, uint64_t *executions)
{
    struct tri_request answer;
    struct tr_welcome welcome;
    struct tr_hello hello = {.program = tr_text_of("bench")};
    if (tri_client_open(service->folder, &service->door) != 0) {
        return false;
    }
    int error = tr_client_call(service->door, &tr_hello_schema, &hello, &tr_welcome_schema,
                               ANSWER_MS, NULL, NULL, &answer);
    if (error == 0 && answer.type == tr_welcome_schema.id) {
        bench_must(tr_welcome_unpack(answer.body, answer.version, &welcome), "welcome");
        *executions = welcome.executions;
        return true;
    }
    tri_client_close(service->door);
    return false;
}

uint64_t bench_service_start(struct bench_service *service, const char *folder)
{
    uint64_t executions = 0;
    char *const *words = words_of(folder);
    double begin = bench_now_ns();
    *service = (struct bench_service){.folder = folder};
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int error = posix_spawn(&service->pid, words[0], &files, NULL, words, environ);
    posix_spawn_file_actions_destroy(&files);
    bench_must(error == 0 ? 0 : TR_SYSTEM, words[0]);
    running = service->pid;
    bench_must(atexit(kill_running) == 0 ? 0 : TR_SYSTEM, "atexit");
    while (!knock(service, &executions)) {
        bench_must(waitpid(service->pid, NULL, WNOHANG) == 0 ? 0 : TR_CLOSED, "troupe serve");
        bench_must(bench_now_ns() - begin < START_NS_MAX ? 0 : TR_TIMEOUT, "troupe serve");
        (void)poll(NULL, 0, LOOK_MS);
    }
    return executions;
}

void bench_service_kill(struct bench_service *service)
{
    tri_client_close(service->door);
    bench_must(kill(service->pid, SIGKILL) == 0 ? 0 : TR_SYSTEM, "kill");
    bench_must(waitpid(service->pid, NULL, 0) > 0 ? 0 : TR_SYSTEM, "wait");
    running = 0;
}

/* ------------------------------------------------------------------------ /proc */

uint64_t bench_service_bytes(const struct bench_service *service, const char *label)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/status", (int)service->pid);
    return bench_status_bytes(path, label);
}

/* The first number of a thread's schedstat. */
static double thread_ns(const char *folder, const char *thread)
{
    char path[128];
    unsigned long long ns = 0;
    snprintf(path, sizeof path, "%.60s/%.40s/schedstat", folder, thread);
    FILE *file = fopen(path, "r");
    if (file != NULL) {
        bench_must(fscanf(file, "%llu", &ns) == 1 ? 0 : TR_MALFORMED, path);
        fclose(file);
    }
    return (double)ns;
}

double bench_service_cpu_ns(const struct bench_service *service)
{
    char path[64];
    double ns = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)service->pid);
    DIR *folder = opendir(path);
    bench_must(folder != NULL ? 0 : TR_SYSTEM, path);
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        ns += entry->d_name[0] == '.' ? 0 : thread_ns(path, entry->d_name);
    }
    closedir(folder);
    return ns;
}

/* --------------------------------------------------------------------- requests */

/* An answer that is none of those wanted says why. */
static void must_answered(const struct tri_request *answer)
{
    struct tr_answered answered;
    if (answer->type == tr_answered_schema.id) {
        char words[256];
        bench_must(tr_answered_unpack(answer->body, answer->version, &answered), "answered");
        snprintf(words, sizeof words, "%.*s", (int)answered.message.size, answered.message.data);
        bench_must((int)answered.error, words);
    }
}

void bench_service_ask(struct bench_service *service, const struct tr_schema *schema,
                       const void *body, const struct tr_schema *last)
{
    struct tri_request answer;
    bench_must(tr_client_call(service->door, schema, body, last, ANSWER_MS, NULL, NULL, &answer),
               schema->name);
    must_answered(&answer);
}

const struct tr_bytes bench_no_inputs = {.data = (const uint8_t[]){0x90}, .size = 1};

void bench_numbers(struct tr_buffer *inputs, uint64_t count)
{
    tr_buffer_array(inputs, 1);
    tr_buffer_array(inputs, (uint32_t)count);
    for (uint64_t i = 0; i < count; i++) {
        tr_buffer_u64(inputs, i);
    }
    bench_must(inputs->error, "numbers");
}

uint64_t bench_service_submit(struct bench_service *service, struct tr_bytes graph,
                              const char *name, struct tr_bytes inputs)
{
    struct tri_request answer;
    struct tr_submitted submitted = {.execution = 0};
    struct tr_submit submit = {.name = tr_text_of(name),
                               .graph = graph,
                               .plan = UINT32_MAX,
                               .inputs = inputs,
                               .cause = tr_text_of("bench")};
    bench_must(tr_client_call(service->door, &tr_submit_schema, &submit, &tr_submitted_schema,
                              ANSWER_MS, NULL, NULL, &answer),
               "submit");
    must_answered(&answer);
    bench_must(tr_submitted_unpack(answer.body, answer.version, &submitted), "submitted");
    bench_must((int)submitted.error, name);
    return submitted.execution;
}

uint32_t bench_service_follow(struct bench_service *service, uint64_t execution)
{
    uint32_t number;
    struct tr_follow follow = {.execution = execution};
    bench_must(tri_client_ask(service->door, &tr_follow_schema, &follow, &number), "follow");
    return number;
}

void bench_service_await(struct bench_service *service, uint32_t follow)
{
    struct tri_request answer = {.number = 0};
    while (answer.number != follow || answer.type != tr_answered_schema.id) {
        bench_must(tri_client_next(service->door, -1, ANSWER_MS, &answer), "the end");
    }
    must_answered(&answer);
}
