/*
 * Answers to readers over the network: by a thread with a reader of its own, so that no question
 * holds the engine up. What it says is sent by the engine's thread, whose the endpoint is.
 */
#include <stdio.h>
#include <string.h>

#include "deploy/common/schemas.h"
#include "deploy/common/work_queue.h"
#include "deploy/entry/entry.h"
#include "deploy/history/executions.h"
#include "runtime/memory.h"
#include "runtime/remote/remote_answer.h"
#include "schemas/runtime/request.h"

/* Questions that wait, of all clients. */
#define WAITING_MAX 256

struct tri_entry_answers {
    struct tr_live *live;
    struct tr_work_queue queue;
    struct tr_reader *reader; /* of the thread */
};

struct question {
    struct tr_work work;
    struct tri_peer peer;
    struct tri_remote_question asked; /* its body is behind this */
    uint8_t body[];
};

/* An answer, while the engine's thread sends it. */
struct sending {
    const struct question *question;
    const struct tr_schema *schema;
    const void *body;
    int error;
};

static void send_here(struct tr_live *live, void *self)
{
    struct sending *sending = self;
    sending->error = tri_endpoint_answer(live->endpoint, &sending->question->peer, sending->schema,
                                         sending->body);
}

/* Of the thread. */
struct answering {
    struct tri_entry_answers *answers;
    const struct question *question;
};

static int send_there(void *self, const struct tr_schema *schema, const void *body)
{
    const struct answering *answering = self;
    struct sending sending = {.question = answering->question, .schema = schema, .body = body};
    int error = tr_live_call(answering->answers->live, send_here, &sending);
    return error != 0 ? error : sending.error;
}

/* ---- Whether it may be answered. ------------------------------------------------------------- */

static const char *copy(struct tr_text text, char *room, size_t size)
{
    (void)snprintf(room, size, "%.*s", (int)text.size, text.data);
    return text.size > 0 ? room : NULL;
}

/* Who may look only somewhere asks for one execution there, or by its project and domain. */
static bool may(struct tri_entry_answers *answers, const struct question *question)
{
    const char *who = question->peer.who;
    const struct tr_api_client *client = tri_entry_client(answers->live, who);
    const struct tr_api_place everywhere = {.project = NULL};
    char project[256];
    char domain[256];
    struct tri_remote_scope scope;
    struct tr_executions_row found;
    if (who[0] == '\0' || tri_entry_is_host(who)) {
        return true;
    }
    if (client == NULL || tr_api_client_may(client, TR_API_VIEW, &everywhere)) {
        return client != NULL;
    }
    struct tri_remote_query *room = tr_alloc(sizeof *room);
    int error = room == NULL ? TR_MEMORY : tri_remote_scope(&question->asked, room, &scope);
    struct tr_api_place place = {.is_anywhere = error == 0 && scope.is_of_all};
    if (error == 0) {
        place.project = copy(scope.project, project, sizeof project);
        place.domain = copy(scope.domain, domain, sizeof domain);
    }
    if (error == 0 && scope.execution != 0 &&
        tr_executions_get(answers->reader, scope.execution, &found) == 0) {
        place.project = copy(found.row.project, project, sizeof project);
        place.domain = copy(found.row.domain, domain, sizeof domain);
        tr_executions_row_fini(&found);
    }
    tr_free(room);
    return error == 0 && tr_api_client_may(client, TR_API_VIEW, &place);
}

/* ---- The thread. ----------------------------------------------------------------------------- */

static int take_moment(struct tri_entry_answers *answers, char *explain)
{
    int error = answers->reader == NULL
                    ? tr_history_open(answers->live->folder, explain, &answers->reader)
                    : tr_reader_refresh(answers->reader);
    if (error != 0 && answers->reader != NULL) {
        (void)snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "%s", tr_reader_explain(answers->reader));
        tr_reader_close(answers->reader);
        answers->reader = NULL;
    }
    return error;
}

static void refuse(const struct tri_remote_sender *sender, int error, const char *words)
{
    const struct tr_answered answered = {
        .error = error, .message = tr_text_of(words[0] != '\0' ? words : tr_error_text(error))};
    (void)!sender->send(sender->self, &tr_answered_schema, &answered);
}

static void answer(struct tri_entry_answers *answers, const struct question *question)
{
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    struct answering answering = {answers, question};
    const struct tri_remote_sender sender = {.send = send_there, .self = &answering};
    int error = take_moment(answers, explain);
    if (error != 0) {
        refuse(&sender, error, explain);
        return;
    }
    if (may(answers, question)) {
        /* What cannot be sent has nobody who waits for it. */
        (void)!tri_remote_answer(answers->reader, &question->asked, &sender);
    } else {
        refuse(&sender, TR_DENIED,
               "this needs the role view where it is; name an execution as /PROJECT/DOMAIN/NAME, "
               "or give --project and --domain");
    }
    if (answers->reader != NULL) {
        tr_reader_release(answers->reader);
    }
}

static void do_work(void *self, struct tr_work_list *taken, bool is_stopping)
{
    struct tr_work *work;
    while ((work = tr_work_list_take(taken)) != NULL) {
        if (!is_stopping) {
            answer(self, (const struct question *)work);
        }
        tr_free(work);
    }
}

int tri_entry_answers_new(struct tr_live *live, struct tri_entry_answers **out)
{
    struct tri_entry_answers *answers = tr_alloc_zero(1, sizeof *answers);
    if (answers == NULL) {
        return TR_MEMORY;
    }
    answers->live = live;
    tr_work_queue_init(&answers->queue,
                       &(struct tr_work_options){.do_work = do_work, .waiting_max = WAITING_MAX});
    int error = tr_work_queue_begin(&answers->queue, answers);
    if (error != 0) {
        tr_work_queue_fini(&answers->queue);
        tr_free(answers);
        return error;
    }
    *out = answers;
    return 0;
}

/* What it still wants to send is refused first, so that it does not wait for this thread. */
void tri_entry_answers_stop(struct tri_entry_answers *answers)
{
    if (answers != NULL) {
        tr_live_calls_close(answers->live->calls);
        tr_work_queue_stop(&answers->queue);
    }
}

void tri_entry_answers_free(struct tri_entry_answers *answers)
{
    if (answers != NULL) {
        tr_work_queue_fini(&answers->queue);
        tr_reader_close(answers->reader);
        tr_free(answers);
    }
}

int tri_entry_answers_add(struct tri_entry_answers *answers, const struct tri_peer *peer,
                          const struct tri_request *request)
{
    struct question *question = tr_alloc(sizeof *question + request->body.size);
    if (question == NULL) {
        return TR_MEMORY;
    }
    *question = (struct question){.peer = *peer,
                                  .asked = {.request = *request,
                                            .records = tr_program_records,
                                            .record_count = tr_program_record_count}};
    if (request->body.size > 0) {
        memcpy(question->body, request->body.data, request->body.size);
    }
    question->asked.request.body.data = question->body;
    if (tr_work_queue_add(&answers->queue, &question->work) != TR_WORK_TAKEN) {
        tr_free(question);
        return TR_BUSY;
    }
    return 0;
}
