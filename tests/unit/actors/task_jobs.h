/*
 * What the tests of a task share whose work is outside: a table of jobs by the identity they were
 * asked for with, and the fake actor's functions that ask for them.
 *
 * Asking again for a job that is there makes no second one; that nobody asks under another name is
 * what is tested.
 */
#ifndef TR_TESTS_UNIT_ACTORS_TASK_JOBS_H
#define TR_TESTS_UNIT_ACTORS_TASK_JOBS_H

#include "schemas/engine/state_service.h"
#include "tests/unit/actors/task_stand.h"

enum { JOB_SUBMIT, JOB_CANCEL };
enum { JOB_RUNNING, JOB_SUCCEEDED, JOB_FAILED, JOB_CANCELLED };

struct job {
    char key[64];
    uint64_t status;
};

struct task_jobs {
    struct job jobs[64];
    size_t count;
    bool fails_first;    /* the first one fails */
    bool is_silent;      /* the outside does not answer */
    int last_error;      /* of a FAILED event */
    uint32_t lost_count; /* FAILED events of a state that was lost */
};

extern struct task_jobs task_jobs;
extern const char task_jobs_flow[];

/* Starts a node of the flow above. */
#define JOB_START(name) (&(struct stand_start){.node = (name), .inputs = "{\"a\": 7}"})

/* A stand with the flow above, its store, and the fake actor as the plugin of jobs. */
void task_jobs_begin(void);

size_t task_jobs_live(void);

/* Answers what is asked of the outside; the second one ends each job, too. */
stand_service task_jobs_serve;
stand_service task_jobs_serve_and_end;

/* Ends all jobs that run, and says so. */
void task_jobs_end(uint64_t status);

task_stand_function task_jobs_handle;

/* Asks the outside for (or to end) the job of this attempt. */
int task_jobs_ask(struct tr_task_context *task, struct tr_fake_actor_state *state, uint64_t what);

void assert_text(struct tr_text text, const char *wanted);

/* It ended so, once, and nothing is left, inside or outside. */
void assert_ended(uint8_t phase);

const struct tr_resources_state *task_jobs_resources(void);

#endif
