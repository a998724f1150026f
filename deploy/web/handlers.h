/*
 * What answers the routes that are more than the document of one command.
 */
#ifndef TR_DEPLOY_WEB_HANDLERS_H
#define TR_DEPLOY_WEB_HANDLERS_H

struct tr_web_job;

/* answer_engine.c */
void tr_web_answer_health(struct tr_web_job *job);
void tr_web_answer_readiness(struct tr_web_job *job);
void tr_web_answer_metrics(struct tr_web_job *job);
void tr_web_answer_ping(struct tr_web_job *job);

/* follow.c */
void tr_web_follow_changes(struct tr_web_job *job);
void tr_web_follow_tap(struct tr_web_job *job);

/* file.c: a piece of one, on the queue's thread */
void tr_web_read_file(struct tr_web_job *job);

/* openapi.c */
void tr_web_answer_openapi(struct tr_web_job *job);

/* act.c */
void tr_web_abort(struct tr_web_job *job);
void tr_web_resume(struct tr_web_job *job);

/* act_begin.c */
void tr_web_begin(struct tr_web_job *job);
void tr_web_trigger(struct tr_web_job *job);
void tr_web_submit(struct tr_web_job *job);
void tr_web_apply(struct tr_web_job *job);

#endif
