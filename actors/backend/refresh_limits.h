/*
 * The bounds and times of the refresh actor: what it does so often, for so long, for so many.
 */
#ifndef TR_ACTORS_BACKEND_REFRESH_LIMITS_H
#define TR_ACTORS_BACKEND_REFRESH_LIMITS_H

/*
 * Rows of one endpoint: jobs that were admitted, groups and lists; jobs too many are taken up to
 * half as many again. Of jobs that wait to be made there are about 32,000 at most, since the body
 * of each takes a page or more. Beyond them so many wait for room, whose rows have no body; so many
 * at once are told that there is some.
 */
#define TR_REFRESH_ROWS_MAX 150000
#define TR_REFRESH_WAITING_MAX 50000
#define TR_REFRESH_INVITED_MAX 256

/* Tasks that are watched at once (actors/store/watch.h): at each commit they cost 20 bytes each. */
#define TR_REFRESH_WATCHES_MAX 1000

/*
 * A partial batch leaves when nothing came for so long, and somewhat more for each job in it up to
 * a bound, which is also the time behind a full batch; at the latest so long after its first, and
 * somewhat more for each job: a hundred a second fill it.
 */
#define TR_REFRESH_QUIET_MS 10
#define TR_REFRESH_QUIET_JOB_MS 2
#define TR_REFRESH_QUIET_WIDE_MS 200
#define TR_REFRESH_QUIET_MS_MAX 500
#define TR_REFRESH_QUIET_JOB_MS_MAX 10

/* What has ended is removed by full calls, of which the last waits so long if there may be more. */
#define TR_REFRESH_REMOVE_MS 5000

/* Where there is no room for more of a scope one is tried after so long, doubled up to a bound. */
#define TR_REFRESH_GATE_MS 2000
#define TR_REFRESH_GATE_MS_MAX 20000

/* While jobs of its group are looked for, one that makes jobs waits so long for those not made. */
#define TR_REFRESH_GATHER_MS 1000

/*
 * What a group's stream has shown so far, asked for once for many jobs of unknown outcome, may
 * take.
 */
#define TR_REFRESH_BACKLOG_BYTES_MAX (1U << 20)

/* Of a call that left longer ago a stream may show nothing any more. */
#define TR_REFRESH_UNHEARD_MS 86400000

/* Jobs that one call for a whole group ends or looks for; bodies that one call makes jobs of. */
#define TR_REFRESH_WHOLE_MAX 5000
#define TR_REFRESH_BATCH_BYTES_MAX (640U << 10)

/* How often jobs are asked about whose group has a stream. */
#define TR_REFRESH_SWEEP_MS 60000

/* A job that was to be ended and has not: it is asked for again. */
#define TR_REFRESH_CANCEL_AGAIN_MS 300000

/* An actor that does what was due so much later has not heard all that was said to it. */
#define TR_REFRESH_LATE_MS 100

/* A circuit opens at so many failures in a row, for so long, doubled up to a bound. */
#define TR_REFRESH_FAILURES_MAX 5
#define TR_REFRESH_CIRCUIT_MS 1000
#define TR_REFRESH_CIRCUIT_MS_MAX 60000

/*
 * A back end that wants fewer calls and does not say when is left alone for so long, twice that
 * when it says so again, up to a bound; at the fourth time in a row calls have half their items,
 * twice as many again each second that it is content, and soon all.
 */
#define TR_REFRESH_HOLD_MS 250
#define TR_REFRESH_HOLD_MS_MAX 8000
#define TR_REFRESH_THROTTLES_MAX 4
#define TR_REFRESH_FEWER_MS 5000
#define TR_REFRESH_ITEMS_MIN 10 /* of so few it was not too much */

/* While other calls wait, one in so many looks for jobs of unknown outcome. */
#define TR_REFRESH_FIND_SHARE 4

/*
 * Where each takes a call, more unknown outcomes of a group than this are looked for when the lag
 * is over.
 */
#define TR_REFRESH_FINDS_FEW 8

/*
 * Of unknown outcomes: how often is asked at most and at least. Of tries that are certain: the
 * first wait.
 */
#define TR_REFRESH_FIND_MS_MIN 1000
#define TR_REFRESH_FIND_MS_MAX 10000
#define TR_REFRESH_AGAIN_MS 1000
#define TR_REFRESH_AGAIN_MS_MAX 60000

/* Streams are asked for again after so long, doubled up to a bound. */
#define TR_REFRESH_STREAM_MS 1000
#define TR_REFRESH_STREAM_MS_MAX 30000

/*
 * A scope whose last list is older lists anew when its watch ends in order: a back end that was
 * restored from a backup, and has passed our cursor since, does not show what happened meanwhile.
 * Each waits for up to a quarter longer, so that many do not list at once.
 */
#define TR_REFRESH_LIST_MS 600000

/*
 * A stream of jobs that says nothing for so long may be dead: it is opened anew, and that after
 * twice the time where it says nothing again. Where the back end did not answer meanwhile it has
 * the shorter time from when that does again.
 */
#define TR_REFRESH_IDLE_MS 20000
#define TR_REFRESH_IDLE_MS_MAX 160000
#define TR_REFRESH_IDLE_RECOVERED_MS 2000

/* Where all streams are taken, a group gets that of one with far less need of it, if it is old. */
#define TR_REFRESH_STREAM_SHARE 4
#define TR_REFRESH_STREAM_HELD_MS 10000

/* A group without jobs keeps its stream and its place for a while; so many do, the latest ones. */
#define TR_REFRESH_REST_MS 60000
#define TR_REFRESH_RESTING_MAX 256

/* How often the record for people is written at most. */
#define TR_REFRESH_RECORD_MS 1000

#endif
