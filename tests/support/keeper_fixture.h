/*
 * A store's folder with a keeper and a client, for tests: asks in one line, waits for the answer,
 * and takes everything away in the end.
 */
#ifndef TR_TESTS_SUPPORT_KEEPER_FIXTURE_H
#define TR_TESTS_SUPPORT_KEEPER_FIXTURE_H

#include "runtime/keeper_client/keeper_client.h"

enum { RECEIVED_MAX = 4096, WAIT_MS_MAX = 20000 };

/* A message as it came, its numbers and words copied. */
struct received {
    uint16_t type; /* 0: taken */
    char key[64];
    char reason[512];
    int64_t error; /* of process_refused */
    uint8_t phase; /* of process_state */
    uint32_t pid;
    uint64_t start_time;           /* of process_started */
    struct tr_process_ended ended; /* its texts are those above */
};

struct keeper_fixture {
    char folder[4096];
    char work[4200];
    uint32_t running_max; /* of clients to come */
    struct tri_keeper_client *client;
    struct tr_keeper_hello hello;
    int down_error;
    char down_words[512];
    struct received received[RECEIVED_MAX];
    size_t received_count;
};

/* What a test asks to be run; everything left out has a sensible value. */
struct job {
    const char *key;
    const char *argv[8]; /* NULL first: this program as a helper with what `act` holds */
    const char *act[6];
    const char *environment[4];
    const char *folder;
    const char *stdin_path;
    const char *stdout_path;
    const char *stderr_path;
    uint32_t grace_ms;
    uint64_t timeout_ms;
    uint16_t umask;
    struct tr_process_limit limit;
    const char *after[5]; /* a command behind its end */
};

/* Makes the folders; no keeper yet. `parent` NULL: a temporary one. */
struct keeper_fixture *fixture_new(const char *parent);

/* Ends the keeper if one lives, and removes the folders. */
void fixture_free(struct keeper_fixture *fixture);

/* One for each test, with folders of its own. */
int fixture_set_up(void **state);
int fixture_take_down(void **state);

/* A client of this fixture's keeper, with words for the keeper's command (ended by NULL). */
struct tri_keeper_client *fixture_client(struct keeper_fixture *fixture, bool is_passive,
                                         const char *const *words);

/* Makes the fixture's own client if there is none, and connects; fails the test otherwise. */
void fixture_connect(struct keeper_fixture *fixture);
void fixture_connect_with(struct keeper_fixture *fixture, const char *const *words);

/* Connects, and returns the error with which that fails (0: it does not). */
int fixture_try(struct keeper_fixture *fixture, const char *const *words);

/* Disconnects, as an engine that is killed does. */
void fixture_disconnect(struct keeper_fixture *fixture);

/* Asks the keeper to end and waits until it has. */
void fixture_stop_keeper(struct keeper_fixture *fixture);

/* Kills the keeper with SIGKILL and waits until it is gone. */
void fixture_kill_keeper(struct keeper_fixture *fixture);

/* Waits until no keeper holds the folder's lock; false when that takes too long. */
bool fixture_await_gone(struct keeper_fixture *fixture, int wait_ms);

void fixture_start(struct keeper_fixture *fixture, const struct job *job);
void fixture_stop(struct keeper_fixture *fixture, const char *key, uint32_t grace_ms);
void fixture_query(struct keeper_fixture *fixture, const char *key);
void fixture_forget(struct keeper_fixture *fixture, const char *key);

/* Waits for a message of this type about this key; fails the test when none comes. */
struct received fixture_await(struct keeper_fixture *fixture, const struct tr_schema *schema,
                              const char *key);

/* Takes in what comes within this time. */
void fixture_listen(struct keeper_fixture *fixture, int wait_ms);

/* How many messages of this type have come and not been taken. */
size_t fixture_count(const struct keeper_fixture *fixture, const struct tr_schema *schema);

/* Waits until the client is down. */
void fixture_await_down(struct keeper_fixture *fixture);

/* Starts a job and waits for its end. */
struct received fixture_run(struct keeper_fixture *fixture, const struct job *job);

/* How a job has ended. */
void fixture_expect_end(const struct received *end, uint8_t outcome, uint32_t status);

/* A file in the work folder: its name (static, a few at once), and its bytes (static). */
const char *fixture_file(struct keeper_fixture *fixture, const char *name);
const char *fixture_read(struct keeper_fixture *fixture, const char *name);

/* Waits until the file holds at least `count` lines with pids, and gives them. */
void fixture_await_pids(struct keeper_fixture *fixture, const char *name, size_t count,
                        uint32_t *pids);

/* Whether the process runs (a zombie does not); waits up to `wait_ms` for its end. */
bool fixture_is_running(uint32_t pid, int wait_ms);

#endif
