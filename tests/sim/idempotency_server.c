/*
 * The job server at its door: who calls, in which words, and all that goes wrong between a request
 * and its answer. What a caller has to keep to is checked here: batches that are not too large and
 * name nobody twice, no empty ones, no two calls at once that make the same job, and no more calls
 * than the endpoint's settings allow.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/idempotency_jobs.h"

#define MS 1000000ULL
#define DELAY_NS_MOST (700 * MS)
#define ANSWER_DELAY_NS_MOST (300 * MS)
#define AWAY_NS_MOST (3000 * MS)

/* How often what goes wrong with a request that has come, of 24; the rest goes well. */
enum mishap { WELL, THROTTLED, BROKEN, NONSENSE, SILENT, DELAYED, PROXIED, SLOW };
static const uint8_t mishaps[24] = {THROTTLED, BROKEN,  NONSENSE, SILENT, DELAYED,
                                    DELAYED,   PROXIED, PROXIED,  SLOW,   SLOW};

/* A request, taken apart. */
struct visit {
    struct sim_jobs *jobs;
    uint64_t number;
    uint64_t received_ns;
    uint32_t back_end;
    char verb[16];
    char group[SIM_JOB_GROUP_BYTES];
    char cursor[24];
    struct tr_bytes body;
    struct tr_buffer answer;
    uint32_t status;
    bool is_proxied;
};

struct item {
    struct tr_text identity;
    struct tr_text handle;
    struct tr_bytes job;
};

static struct sim_random *chance_of(const struct sim_jobs *jobs)
{
    return &jobs->world->chance.environment;
}

/* "http://SHOP/VERB/GROUP/CURSOR" */
static bool read_url(struct tr_text url, struct visit *visit)
{
    char text[256];
    char back_end[16];
    (void)snprintf(text, sizeof text, "%.*s", (int)url.size, url.data);
    visit->cursor[0] = '\0';
    visit->group[0] = '\0';
    if (sscanf(text, "http://%15[a-z]/%15[a-z-]/%128[^/]/%23s", back_end, visit->verb, visit->group,
               visit->cursor) < 2) {
        return false;
    }
    for (visit->back_end = 0; visit->back_end < SIM_BACK_END_COUNT; visit->back_end++) {
        if (strcmp(sim_back_ends[visit->back_end].name, back_end) == 0) {
            return true;
        }
    }
    return false;
}

static struct visit visit_of(struct sim_jobs *jobs, uint64_t number, struct tr_text url,
                             struct tr_bytes body)
{
    struct visit visit = {.jobs = jobs, .number = number, .body = body, .status = 200};
    visit.received_ns = jobs->world->now_ns;
    if (!read_url(url, &visit)) {
        sim_fail("jobs: what is %.*s?", (int)url.size, url.data);
    }
    return visit;
}

static bool is_verb(const struct visit *visit, const char *verb)
{
    return strcmp(visit->verb, verb) == 0;
}

/* Reads the next item of a body. */
static struct item next_item(struct tr_cursor *cursor)
{
    uint32_t parts = tr_read_array(cursor);
    struct item item = {.identity = tr_read_text(cursor), .handle = tr_read_text(cursor)};
    item.job = parts > 2 ? tr_read_any(cursor) : item.job;
    TR_ASSERT(cursor->error == 0);
    return item;
}

/* Calls a function with each item of a request. */
typedef void each(struct visit *visit, const struct item *item);

static uint32_t each_item(struct visit *visit, each *call)
{
    struct tr_cursor cursor = tr_cursor_of(visit->body);
    uint32_t count = visit->body.size == 0 ? 0 : tr_read_array(&cursor);
    for (uint32_t i = 0; i < count; i++) {
        struct item item = next_item(&cursor);
        call(visit, &item);
    }
    return count;
}

/* --------------------------------------------------------------------------------------- checks */

static void begin_call(struct visit *visit, const struct item *item)
{
    struct sim_wanted *wanted = sim_wanted_of(visit->jobs, visit->back_end, item->identity);
    if (wanted->is_called_for) {
        sim_fail("jobs: %s is asked to make %s in two calls at once, or twice in one",
                 sim_back_ends[visit->back_end].name, wanted->identity);
    }
    wanted->is_called_for = true;
}

static void end_call(struct visit *visit, const struct item *item)
{
    sim_wanted_of(visit->jobs, visit->back_end, item->identity)->is_called_for = false;
}

static void make_unknown(struct visit *visit, const struct item *item)
{
    sim_wanted_of(visit->jobs, visit->back_end, item->identity)->was_unknown = true;
    if (sim_back_ends[visit->back_end].idempotency < TR_WEBAPI_IDEMPOTENCY_RECONCILABLE) {
        visit->jobs->stage->has_lost_answers = true; /* the model cannot know what comes of it */
    }
}

/* What the answer was to say of it is not in it. */
static void unsay_item(struct visit *visit, const struct item *item)
{
    sim_wanted_of(visit->jobs, visit->back_end, item->identity)->told_in = 0;
}

static void pass(struct visit *visit, const struct item *item)
{
    (void)visit;
    (void)item;
}

/*
 * More may have been on their way when a host went down, and leave together after a full disk or an
 * outage of the database.
 */
static void check_rate(struct sim_jobs *jobs, const struct sim_host *host,
                       const struct visit *visit)
{
    const struct tr_webapi_endpoint *endpoint = &jobs->setup->endpoint;
    uint64_t seconds = jobs->world->now_ns / (1000 * MS) + 2;
    uint64_t most = (seconds + host->starts) * endpoint->calls_per_second;
    if (jobs->heard[visit->back_end] > most) {
        sim_fail("jobs: %s has had %u calls in %llu seconds, and %u a second are allowed",
                 sim_back_ends[visit->back_end].name, jobs->heard[visit->back_end],
                 (unsigned long long)seconds, endpoint->calls_per_second);
    }
    if (jobs->calls[visit->back_end] > endpoint->calls_at_once) {
        sim_fail("jobs: %u calls at once of %s, and %u are allowed", jobs->calls[visit->back_end],
                 sim_back_ends[visit->back_end].name, endpoint->calls_at_once);
    }
}

static void check_call(struct sim_jobs *jobs, const struct sim_host *host,
                       const struct tr_http_request *request)
{
    struct visit visit = visit_of(jobs, 0, request->url, request->body);
    bool is_stream = is_verb(&visit, "stream");
    bool is_empty = is_stream || is_verb(&visit, "so-far");
    bool is_create = is_verb(&visit, "create");
    bool is_all = is_verb(&visit, "cancel-all");
    uint32_t count = each_item(&visit, is_create ? begin_call : pass);
    bool is_fine = is_empty ? count == 0 : count > 0 && (is_all || count <= SIM_BACK_END_ITEMS_MAX);
    if (!is_fine) {
        sim_fail("jobs: %s %s has %u items", sim_back_ends[visit.back_end].name, visit.verb, count);
    }
    jobs->heard[visit.back_end]++;
    jobs->calls[visit.back_end] += is_stream ? 0 : 1;
    sim_idempotency_seen.batches += count > 1 ? 1 : 0;
    check_rate(jobs, host, &visit);
}

/* ---------------------------------------------------------------------------------------- verbs */

static void say(struct visit *visit, const struct sim_line *line)
{
    sim_line_write(line, &visit->answer);
    tr_buffer_add_string(&visit->answer, "\n");
    if (visit->number != 0 && (line->handle.size > 0 || line->news == TR_WEBAPI_REFUSED)) {
        sim_wanted_of(visit->jobs, visit->back_end, line->identity)->told_in = visit->number;
    }
}

static void note_refused(struct visit *visit, const struct item *item)
{
    visit->status = sim_job_is_refused(visit->jobs, item->job) ? 400 : visit->status;
}

/* "Later" says that a job was certainly not made, which a proxy's second request would belie. */
static bool is_put_off(const struct visit *visit)
{
    const struct sim_jobs *jobs = visit->jobs;
    return !jobs->world->is_calm && !visit->is_proxied && sim_below(chance_of(jobs), 16) == 0;
}

static void create(struct visit *visit, const struct item *item)
{
    struct sim_jobs *jobs = visit->jobs;
    struct sim_line line = {.identity = item->identity, .news = TR_WEBAPI_LATER};
    if (sim_job_is_refused(jobs, item->job)) {
        line.news = TR_WEBAPI_REFUSED;
        sim_idempotency_seen.refused++;
    } else if (is_put_off(visit)) {
        sim_idempotency_seen.later++;
    } else {
        sim_job_make(jobs, visit->back_end, tr_text_of(visit->group), item->job, visit->received_ns,
                     visit->is_proxied, &line);
    }
    say(visit, &line);
}

static void create_all(struct visit *visit)
{
    if (sim_back_ends[visit->back_end].refuses_batches) {
        (void)each_item(visit, note_refused);
    }
    if (visit->status == 200) {
        (void)each_item(visit, create);
    } else {
        sim_idempotency_seen.refused_batches++;
    }
}

/* The job that is meant, if anybody is told of it; the first that was made. */
static struct sim_made *meant(const struct visit *visit, const struct item *item, bool sees_all)
{
    struct sim_made *found = NULL;
    for (struct sim_made *job = visit->jobs->made; job != NULL; job = job->next) {
        if (sim_job_is(job, visit->back_end, item->identity, item->handle) &&
            (sees_all || !sim_job_is_hidden(visit->jobs, job))) {
            found = job;
        }
    }
    return found;
}

static void status(struct visit *visit, const struct item *item)
{
    const struct sim_made *job = meant(visit, item, false);
    struct sim_line line = {.identity = item->identity, .news = TR_WEBAPI_ABSENT};
    if (job != NULL) {
        line = sim_job_line(visit->jobs, job, sim_job_step(visit->jobs, job));
    }
    say(visit, &line);
}

static void cancel(struct visit *visit, const struct item *item)
{
    struct sim_made *job = meant(visit, item, true);
    if (job != NULL) {
        sim_job_cancel(visit->jobs, job);
    }
}

static void cancel_all(struct visit *visit)
{
    sim_idempotency_seen.cancelled_groups++;
    for (struct sim_made *job = visit->jobs->made; job != NULL; job = job->next) {
        if (job->wanted->back_end == visit->back_end && strcmp(job->group, visit->group) == 0) {
            sim_job_cancel(visit->jobs, job);
        }
    }
}

static void find(struct visit *visit, const struct item *item)
{
    for (struct sim_made *job = visit->jobs->made; job != NULL; job = job->next) {
        bool is_one = sim_job_is(job, visit->back_end, item->identity, tr_text_of(""));
        if (is_one && !sim_job_is_hidden(visit->jobs, job)) {
            struct sim_line line = sim_job_line(visit->jobs, job, sim_job_step(visit->jobs, job));
            job->shown_in = visit->number;
            sim_idempotency_seen.found++;
            say(visit, &line);
        }
    }
}

static void failures(struct visit *visit, const struct item *item)
{
    const struct sim_made *job = meant(visit, item, false);
    if (job != NULL && sim_job_step(visit->jobs, job) == SIM_STEP_ENDED) {
        struct sim_line line = sim_job_line(visit->jobs, job, SIM_STEP_ENDED);
        line.message = tr_text_of("it-failed-because");
        sim_idempotency_seen.explained++;
        say(visit, &line);
    }
}

static void tell_so_far(struct visit *visit)
{
    visit->status = sim_log_so_far(visit->jobs, visit->number, visit->back_end,
                                   tr_text_of(visit->group), visit->cursor, &visit->answer);
}

/* Does what a request asks for. */
static void work(struct visit *visit)
{
    static const struct {
        const char *verb;
        void (*all)(struct visit *visit);
        each *one;
    } verbs[] = {
        {"create", create_all, NULL},     {"status", NULL, status}, {"cancel", NULL, cancel},
        {"cancel-all", cancel_all, NULL}, {"find", NULL, find},     {"failures", NULL, failures},
        {"so-far", tell_so_far, NULL},
    };
    for (size_t i = 0; i < TR_COUNT_OF(verbs); i++) {
        if (is_verb(visit, verbs[i].verb) && verbs[i].all != NULL) {
            verbs[i].all(visit);
            return;
        }
        if (is_verb(visit, verbs[i].verb)) {
            (void)each_item(visit, verbs[i].one);
            return;
        }
    }
    sim_fail("jobs: what is %s?", visit->verb);
}

/* ------------------------------------------------------------------------------- late and never */

static void put_off(struct sim_jobs *jobs, const struct sim_later *head, struct tr_bytes body)
{
    struct sim_later *later = sim_must(malloc(sizeof *later + body.size));
    *later = *head;
    later->next = jobs->later;
    later->size = body.size;
    if (body.size > 0) {
        memcpy(later->body, body.data, body.size);
    }
    jobs->later = later;
}

static void put_off_work(struct visit *visit, struct tr_text url, bool is_proxied)
{
    struct sim_later later = {.due_ns = visit->jobs->world->now_ns + 1 +
                                        sim_below(chance_of(visit->jobs), DELAY_NS_MOST),
                              .number = is_proxied ? 0 : visit->number,
                              .received_ns = visit->received_ns};
    (void)snprintf(later.url, sizeof later.url, "%.*s", (int)url.size, url.data);
    put_off(visit->jobs, &later, visit->body);
}

static void answer(struct visit *visit, uint32_t status, uint64_t delay_ns)
{
    struct sim_later later = {.due_ns = visit->jobs->world->now_ns + delay_ns,
                              .number = visit->number,
                              .is_answer = true,
                              .status = status};
    struct tr_bytes body = tr_buffer_bytes(&visit->answer);
    if (delay_ns == 0) {
        sim_web_answer(visit->jobs->web, visit->number, status, body);
    } else {
        put_off(visit->jobs, &later, body);
    }
}

static enum mishap draw_mishap(const struct visit *visit)
{
    const struct sim_jobs *jobs = visit->jobs;
    if (jobs->world->is_calm) {
        return WELL;
    }
    if (jobs->world->now_ns >= jobs->away_from_ns && jobs->world->now_ns < jobs->away_until_ns) {
        sim_idempotency_seen.away++;
        return SILENT;
    }
    enum mishap mishap = (enum mishap)mishaps[sim_below(chance_of(jobs), TR_COUNT_OF(mishaps))];
    bool may_be_proxied =
        jobs->setup->is_doubled && is_verb(visit, "create") &&
        (sim_back_ends[visit->back_end].idempotency == TR_WEBAPI_IDEMPOTENCY_EXACT ||
         sim_back_ends[visit->back_end].has_stream);
    return mishap == PROXIED && !may_be_proxied ? WELL : mishap;
}

static void answer_with(struct visit *visit, enum mishap mishap)
{
    switch (mishap) {
    case BROKEN:
        sim_idempotency_seen.broken++;
        visit->answer.size = 0;
        answer(visit, 500, 0);
        return;
    case NONSENSE:
        sim_idempotency_seen.nonsense++;
        visit->answer.size = 0;
        tr_buffer_add_string(&visit->answer, "well, well\n");
        (void)each_item(visit, unsay_item);
        (void)each_item(visit, is_verb(visit, "create") ? make_unknown : pass);
        answer(visit, 200, 0);
        return;
    case SILENT:
        return;
    case SLOW:
        answer(visit, visit->status, 1 + sim_below(chance_of(visit->jobs), ANSWER_DELAY_NS_MOST));
        return;
    default:
        answer(visit, visit->status, 0);
    }
}

/* A request is taken up. */
static void take_up(struct visit *visit, struct tr_text url, enum mishap mishap)
{
    if (mishap == THROTTLED) {
        sim_idempotency_seen.throttled++;
        answer(visit, 429, 0);
        return;
    }
    if (mishap == DELAYED) {
        sim_idempotency_seen.made_late++;
        put_off_work(visit, url, false);
        return;
    }
    if (mishap == PROXIED) {
        sim_idempotency_seen.proxied++;
        put_off_work(visit, url, true);
        visit->is_proxied = true;
    }
    work(visit);
    sim_say("jobs: %s %s of %s is served as %llu, mishap %u", sim_back_ends[visit->back_end].name,
            visit->verb, visit->group, (unsigned long long)visit->number, mishap);
    answer_with(visit, mishap);
}

static void serve(void *self, struct sim_web *web, uint64_t number,
                  const struct tr_http_request *request)
{
    struct sim_jobs *jobs = self;
    struct visit visit = visit_of(jobs, number, request->url, request->body);
    (void)web;
    if (is_verb(&visit, "stream")) {
        sim_log_follow(jobs, number, visit.back_end, tr_text_of(visit.group), visit.cursor);
        return;
    }
    tr_buffer_init(&visit.answer, 0);
    take_up(&visit, request->url, draw_mishap(&visit));
    tr_buffer_fini(&visit.answer);
}

static void do_later(struct sim_jobs *jobs, const struct sim_later *later)
{
    struct tr_bytes body = {.data = later->body, .size = later->size};
    if (later->is_answer) {
        sim_web_answer(jobs->web, later->number, later->status, body);
        return;
    }
    struct visit visit = visit_of(jobs, later->number, tr_text_of(later->url), body);
    visit.received_ns = later->received_ns;
    visit.is_proxied = later->number == 0;
    tr_buffer_init(&visit.answer, 0);
    work(&visit);
    if (later->number != 0) {
        answer(&visit, visit.status, 0);
    }
    tr_buffer_fini(&visit.answer);
}

/* The caller has his answer, or will never have one. */
static void ended(void *self, uint64_t number, const struct tr_http_request *request,
                  uint32_t status, const char *fault)
{
    struct sim_jobs *jobs = self;
    struct visit visit = visit_of(jobs, number, request->url, request->body);
    bool is_certain = status == 200 || (status >= 400 && status < 500) ||
                      (status == 0 && strcmp(fault, "connect") == 0);
    if (is_verb(&visit, "stream")) {
        return;
    }
    jobs->calls[visit.back_end]--;
    if (is_verb(&visit, "create")) {
        (void)each_item(&visit, end_call);
        (void)each_item(&visit, is_certain ? pass : make_unknown);
    }
    for (struct sim_made *job = jobs->made; job != NULL && status == 200; job = job->next) {
        job->was_shown = job->was_shown || job->shown_in == number;
    }
    for (struct sim_wanted *wanted = jobs->wanted; wanted != NULL; wanted = wanted->next) {
        wanted->is_told = wanted->is_told || (status == 200 && wanted->told_in == number);
    }
}

/* ----------------------------------------------------------------------------- as a play's part */

struct sim_jobs *sim_jobs_new(struct sim_world *world)
{
    struct sim_jobs *jobs = sim_must(calloc(1, sizeof *jobs));
    struct sim_web_server server = {.self = jobs, .serve = serve, .ended = ended};
    struct sim_random random = sim_random_of(world->plan.seed, 71);
    jobs->world = world;
    jobs->stage = sim_stage_of(world);
    jobs->setup = sim_idempotency_of(world);
    jobs->web = sim_web_new(world, &server);
    if (sim_below(&random, 4) == 0) {
        jobs->away_from_ns = sim_below(&random, world->plan.faults_ns);
        jobs->away_until_ns = jobs->away_from_ns + sim_below(&random, AWAY_NS_MOST);
    }
    return jobs;
}

void sim_jobs_free(struct sim_jobs *jobs)
{
    while (jobs->later != NULL) {
        struct sim_later *later = jobs->later;
        jobs->later = later->next;
        free(later);
    }
    sim_log_drop(jobs);
    sim_jobs_drop(jobs);
    sim_web_free(jobs->web);
    free(jobs);
}

void sim_jobs_hear(struct sim_jobs *jobs, struct sim_host *host, const struct tr_envelope *envelope,
                   struct tr_bytes body)
{
    struct tr_http_request request;
    if (envelope->type == tr_http_request_schema.id && envelope->kind == TR_KIND_CALL &&
        tr_http_request_unpack(body, envelope->version, &request) == 0 &&
        !sim_web_is_too_late(host, envelope)) {
        check_call(jobs, host, &request);
    }
    sim_web_hear(jobs->web, host, envelope, body);
}

static bool do_what_is_due(struct sim_jobs *jobs)
{
    struct sim_later **place = &jobs->later;
    bool did = false;
    while (*place != NULL) {
        struct sim_later *later = *place;
        if (later->due_ns > jobs->world->now_ns) {
            place = &later->next;
            continue;
        }
        *place = later->next;
        do_later(jobs, later);
        free(later);
        did = true;
        place = &jobs->later; /* it may have put off something itself */
    }
    return did;
}

bool sim_jobs_elapse(struct sim_jobs *jobs, struct sim_host *host)
{
    bool did = do_what_is_due(jobs);
    did = sim_log_elapse(jobs) || did;
    return sim_web_elapse(jobs->web, host) || did;
}

uint64_t sim_jobs_due_ns(const struct sim_jobs *jobs, const struct sim_host *host)
{
    uint64_t due_ns = sim_web_due_ns(jobs->web, host);
    uint64_t log_ns = sim_log_due_ns(jobs);
    due_ns = log_ns < due_ns ? log_ns : due_ns;
    for (const struct sim_later *later = jobs->later; later != NULL; later = later->next) {
        due_ns = later->due_ns < due_ns ? later->due_ns : due_ns;
    }
    return due_ns;
}

/*
 * What was answered may not have been written down, and what was written down may not have left:
 * so the outcome of what was begun before may be unknown.
 */
void sim_jobs_forget(struct sim_jobs *jobs, const struct sim_host *host)
{
    sim_web_forget(jobs->web, host);
    jobs->has_fallen = true;
    jobs->fell_ns = jobs->world->now_ns;
    for (uint32_t i = 0; i < SIM_BACK_END_COUNT; i++) {
        jobs->stage->has_lost_answers =
            jobs->stage->has_lost_answers ||
            (jobs->setup->is_used[i] &&
             sim_back_ends[i].idempotency < TR_WEBAPI_IDEMPOTENCY_RECONCILABLE);
    }
    for (struct sim_wanted *wanted = jobs->wanted; wanted != NULL; wanted = wanted->next) {
        wanted->is_told = false;
        wanted->heard_phase = TR_TASK_PHASE_UNDEFINED;
    }
}

bool sim_jobs_is_busy(const struct sim_jobs *jobs, const struct sim_host *host)
{
    return jobs->later != NULL || sim_web_is_busy(jobs->web, host);
}
