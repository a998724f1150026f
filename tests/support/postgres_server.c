/*
 * The server and the process that guards it; see the header. The guard makes the database, starts
 * the server, says where it is, and does what single bytes tell it until the pipe is closed.
 */
#include "tests/support/postgres_server.h"

#include <fcntl.h>
#include <glob.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/commits/commit_log.h"
#include "runtime/postgres/postgres_internal.h"

#define FOLDER_BYTES 64
#define PATH_BYTES 256

/* What the guard is told, and how it answers. */
#define RESTART 'r'
#define DONE 'd'

static struct {
    pid_t guard;
    int orders;
    int answers;
    bool is_synced;
    char folder[FOLDER_BYTES];
} server;

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "postgres_server: %s: %s\n", what, why);
    exit(1);
}

/* --- The guard. --- */

/* The path of one of the server's programs, of the newest version that is installed. */
static void find_program(const char *name, char *path, size_t size)
{
    char pattern[PATH_BYTES];
    glob_t found = {0};
    (void)snprintf(path, size, "%s", name);
    (void)snprintf(pattern, sizeof pattern, "/usr/lib/postgresql/*/bin/%s", name);
    if (glob(pattern, 0, NULL, &found) == 0) {
        (void)snprintf(path, size, "%s", found.gl_pathv[found.gl_pathc - 1]);
    }
    globfree(&found);
}

static void give_up_root(void)
{
    const struct passwd *user = getpwnam("postgres");
    user = user != NULL ? user : getpwnam("nobody");
    if (geteuid() != 0) {
        return;
    }
    if (user == NULL || setgroups(0, NULL) != 0 || setgid(user->pw_gid) != 0 ||
        setuid(user->pw_uid) != 0) {
        fail("a user for the server", "cannot be become");
    }
}

/* Runs a program to its end, with what it says in the folder's log; returns whether it was well. */
static bool run(const char *folder, const char *const *words)
{
    char path[PATH_BYTES];
    char log[PATH_BYTES];
    find_program(words[0], path, sizeof path);
    (void)snprintf(log, sizeof log, "%s/log", folder);
    pid_t child = fork();
    if (child == 0) {
        int file = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        int none = open("/dev/null", O_RDONLY | O_CLOEXEC);
        char *arguments[16] = {path};
        for (size_t i = 1; words[i] != NULL; i++) {
            arguments[i] = strdup(words[i]);
        }
        if (file >= 0 && none >= 0 && dup2(none, 0) == 0 && dup2(file, 1) == 1 &&
            dup2(file, 2) == 2) {
            (void)execvp(path, arguments);
        }
        _exit(127);
    }
    int status = 0;
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}

static bool make(const char *folder, const char *data)
{
    const char *const words[] = {"initdb", "-D",   data,       "-U", "postgres",  "-A", "trust",
                                 "-E",     "UTF8", "--locale", "C",  "--no-sync", NULL};
    return run(folder, words);
}

/* `verb` is start or restart. */
static bool start(const char *folder, const char *data, const char *verb)
{
    char options[PATH_BYTES];
    (void)snprintf(options, sizeof options,
                   "-k %s -c listen_addresses='' -c fsync=%s -c max_connections=40", folder,
                   server.is_synced ? "on" : "off");
    const char *const words[] = {"pg_ctl",    "-D", data,    "-w", "-t",        "300", "-m",
                                 "immediate", "-o", options, "-l", "/dev/null", verb,  NULL};
    return run(folder, words);
}

static void say(int file, const char *text)
{
    if (write(file, text, strlen(text) + 1) < 0) {
        _exit(1);
    }
}

static void guard(int orders, int answers)
{
    char folder[FOLDER_BYTES] = "/tmp/troupe_postgres_XXXXXX";
    char data[PATH_BYTES];
    give_up_root();
    (void)signal(SIGINT, SIG_IGN); /* of a terminal: the pipe tells when it is over */
    if (chdir("/") != 0 || mkdtemp(folder) == NULL) {
        _exit(1);
    }
    (void)snprintf(data, sizeof data, "%s/data", folder);
    if (!make(folder, data) || !start(folder, data, "start")) {
        _exit(1); /* its log stays for people */
    }
    say(answers, folder);
    char order = 0;
    while (read(orders, &order, 1) == 1) {
        char answer[2] = {start(folder, data, "restart") ? DONE : RESTART, '\0'};
        say(answers, answer);
    }
    const char *const stop[] = {"pg_ctl", "-D", data, "-w", "-m", "immediate", "stop", NULL};
    const char *const removal[] = {"rm", "-rf", folder, NULL};
    (void)run(folder, stop);
    (void)run(folder, removal);
    _exit(0);
}

/* --- The test's side. --- */

static void read_answer(char *text, size_t size)
{
    size_t at = 0;
    do {
        if (at == size || read(server.answers, text + at, 1) != 1) {
            fail("the server does not start",
                 "is the package postgresql installed? its log was /tmp/troupe_postgres_*/log");
        }
    } while (text[at++] != '\0');
}

/* A child of the program that was forked after the start has no say in it. */
static pid_t owner;

static void stop(void)
{
    if (getpid() == owner) {
        close(server.orders);
        (void)waitpid(server.guard, NULL, 0);
    }
}

static void begin(void)
{
    int orders[2];
    int answers[2];
    if (pipe2(orders, O_CLOEXEC) != 0 || pipe2(answers, O_CLOEXEC) != 0) {
        fail("a pipe", "cannot be made");
    }
    server.guard = fork();
    if (server.guard == 0) {
        close(orders[1]);
        close(answers[0]);
        guard(orders[0], answers[1]);
    }
    close(orders[0]);
    close(answers[1]);
    server.orders = orders[1];
    server.answers = answers[0];
    owner = getpid();
    (void)atexit(stop);
    read_answer(server.folder, sizeof server.folder);
}

void postgres_server_keep_synced(void)
{
    server.is_synced = true;
}

const char *postgres_server_folder(void)
{
    if (server.guard == 0) {
        begin();
    }
    return server.folder;
}

void postgres_server_locator(const char *user, const char *schema, char *locator)
{
    (void)snprintf(locator, POSTGRES_LOCATOR_BYTES,
                   "postgresql:///postgres?host=%s&user=%s&options=-csearch_path%%3D%s",
                   postgres_server_folder(), user, schema);
}

void postgres_server_schema(char *name, size_t size)
{
    static unsigned count;
    (void)snprintf(name, size, "stand_%d_%u", (int)getpid(), ++count);
}

void postgres_server_restart(void)
{
    char answer[2];
    char order = RESTART;
    if (write(server.orders, &order, 1) != 1) {
        fail("the server", "has no guard");
    }
    read_answer(answer, sizeof answer);
    if (answer[0] != DONE) {
        fail("the server", "does not start again");
    }
}

static void print_rows(const struct tri_libpq *library, const PGresult *result, int columns,
                       char *text, size_t size)
{
    size_t at = 0;
    text[0] = '\0';
    for (int i = 0; i < library->ntuples(result) * columns; i++) {
        int row = i / columns;
        int column = i % columns;
        bool is_null = library->getisnull(result, row, column) != 0;
        int length = snprintf(text + at, size - at, "%s%s",
                              is_null ? "-" : library->getvalue(result, row, column),
                              column + 1 < columns ? "|" : "\n");
        if (length < 0 || (size_t)length >= size - at) {
            fail("rows", "are too many for their room");
        }
        at += (size_t)length;
    }
}

/* Runs SQL, and prints one column, or with 0 all of them. */
static void run_sql(const char *sql, int columns, char *text, size_t size)
{
    const struct tri_libpq *library = tri_libpq_load();
    const char *keywords[] = {"host", "user", "dbname", "options", NULL};
    const char *values[] = {postgres_server_folder(), "postgres", "postgres",
                            "-cclient_min_messages=warning", NULL};
    if (library == NULL) {
        fail("libpq", "is not installed");
    }
    PGconn *connection = library->connectdbParams(keywords, values, 0);
    PGresult *result = library->exec(connection, sql);
    ExecStatusType status = library->resultStatus(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
        fail(sql, library->errorMessage(connection));
    }
    if (text != NULL) {
        print_rows(library, result, columns > 0 ? columns : library->nfields(result), text, size);
    }
    library->clear(result);
    library->finish(connection);
}

void postgres_server_run(const char *sql, char *text, size_t size)
{
    run_sql(sql, 1, text, size);
}

void postgres_server_ask(const char *sql, char *text, size_t size)
{
    run_sql(sql, 0, text, size);
}

void postgres_server_explain(struct tr_reader *reader, const struct tr_reader_query *query,
                             bool counts, char *text, size_t size)
{
    static char sql[TRI_SQL_BYTES + 64];
    static struct tri_record_query built;
    static struct tri_postgres_values values;
    struct tri_postgres *self = tri_reader_postgres(reader);
    PGresult *rows = NULL;
    int error = counts
                    ? tri_record_query_count(&built, &self->records, &tri_postgres_dialect, query)
                    : tri_record_query_rows(&built, &self->records, &tri_postgres_dialect, query);
    if (error == 0) {
        error = tri_postgres_values_init(&values, &built);
    }
    (void)snprintf(sql, sizeof sql, "EXPLAIN %s", built.buffer);
    if (error != 0 ||
        tri_postgres_run(self, sql, &values.parameters, 0, "explaining", &rows) != 0) {
        fail(sql, error != 0 ? built.words : tr_reader_explain(reader));
    }
    print_rows(self->library, rows, 1, text, size);
    self->library->clear(rows);
    tri_postgres_values_fini(&values);
}

void postgres_server_run_as(struct tri_store *store, const char *sql)
{
    struct tri_commit_log_mark mark;
    if (tri_commit_log_mark(store, &mark) != 0) { /* a log's thread stands still now */
        fail(sql, tri_store_explain(store));
    }
    if (tri_postgres_execute(tri_postgres_of(tri_commit_log_below(store)), sql,
                             "a test's statement") != 0) {
        fail(sql, tri_store_explain(store));
    }
}
