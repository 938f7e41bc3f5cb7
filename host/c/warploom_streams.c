#include "warploom_streams.h"

/* An event that is so many launches behind is reached. */
#define FAR_BEHIND UINT32_C(0x8000)

/* Know no launch and no pair; read the epoch, which rises when a soft reset is over. */
static int forget(const warploom_core *core, warploom_streams *streams)
{
    uint32_t stream, state;
    int error = warploom_read_register(core, WARPLOOM_STATE_ADDRESS, &state);
    if (error) return error;
    if (state & WARPLOOM_STATE_RESETTING_MASK) state += UINT32_C(1) << WARPLOOM_STATE_EPOCH_SHIFT;
    streams->epoch = (state & WARPLOOM_STATE_EPOCH_MASK) >> WARPLOOM_STATE_EPOCH_SHIFT;
    streams->opened = 0;
    for (stream = 0; stream < WARPLOOM_STREAMS; stream++) {
        streams->count[stream] = 0;
        streams->pairs[stream] = 0;
    }
    return WARPLOOM_OK;
}

int warploom_streams_begin(const warploom_core *core, warploom_streams *streams)
{
    streams->used = 0;
    return forget(core, streams);
}

/* Whether an event is over for certain, so that no launch needs to wait for it. */
static int is_reached(const warploom_streams *streams, const warploom_event *event)
{
    return !event->count || event->epoch != streams->epoch ||
           streams->count[event->stream] - event->count >= FAR_BEHIND;
}

/* Remove pair k of a stream's next launch. */
static void drop_pair(warploom_streams *streams, uint32_t stream, uint32_t k)
{
    for (streams->pairs[stream]--; k < streams->pairs[stream]; k++)
        streams->pair[stream][k] = streams->pair[stream][k + 1];
}

/* Let a launch wait for its stream's pairs. */
static void put_pairs(warploom_streams *streams, warploom_launch *launch)
{
    uint32_t stream = launch->stream, k = 0;
    while (k < streams->pairs[stream]) {
        const warploom_event *event = &streams->pair[stream][k];
        if (is_reached(streams, event)) {
            drop_pair(streams, stream, k);
            continue;
        }
        launch->wait[k].stream = event->stream;
        launch->wait[k++].count = (uint32_t)event->count;
    }
    launch->waits = k;
}

int warploom_streams_launch(const warploom_core *core, warploom_streams *streams, uint32_t section,
                            const warploom_launch *launch, uint32_t *ticket)
{
    warploom_launch waiting = *launch;
    warploom_outcome outcome;
    uint32_t turns = core->patience, stream = launch->stream;
    int error;
    *ticket = 0;
    if (stream >= WARPLOOM_STREAMS) return WARPLOOM_RANGE;
    if (streams->opened == WARPLOOM_OPEN) return WARPLOOM_FULL;
    put_pairs(streams, &waiting);
    do {
        error = warploom_submit_launch(core, section, &waiting);
        if (!error) error = warploom_wait(core, section, &outcome);
        if (!error) {
            warploom_open *open = &streams->open[streams->opened++];
            /* The answer has the low 16 bits. */
            streams->count[stream] += (outcome.number - streams->count[stream]) & 0xFFFF;
            streams->pairs[stream] = 0;
            *ticket = open->ticket = outcome.ticket;
            open->stream = stream;
            open->count = streams->count[stream];
        }
    } while (error == (int)WARPLOOM_ERROR_QUEUE_FULL && (!core->patience || --turns));
    return error == (int)WARPLOOM_ERROR_QUEUE_FULL ? WARPLOOM_WAITED : error;
}

/* Note that a launch's record was taken. */
static void note_record(warploom_streams *streams, const warploom_record *record)
{
    uint32_t n;
    for (n = 0; n < streams->opened; n++) {
        if (record->kind == WARPLOOM_KIND_LAUNCH && streams->open[n].ticket == record->ticket) {
            streams->open[n] = streams->open[--streams->opened];
            return;
        }
    }
}

/* Give the oldest record that was kept: WARPLOOM_EMPTY if there is none. */
static int take_kept(warploom_streams *streams, warploom_record *record)
{
    uint32_t n;
    if (!streams->used) return WARPLOOM_EMPTY;
    *record = streams->kept[0];
    for (n = 1; n < streams->used; n++) streams->kept[n - 1] = streams->kept[n];
    streams->used--;
    return WARPLOOM_OK;
}

int warploom_streams_take_record(const warploom_core *core, warploom_streams *streams,
                                 warploom_record *record)
{
    int error = take_kept(streams, record);
    if (error != WARPLOOM_EMPTY) return error;
    error = warploom_take_record(core, record);
    if (!error) note_record(streams, record);
    return error;
}

int warploom_streams_wait_record(const warploom_core *core, warploom_streams *streams,
                                 warploom_record *record)
{
    int error = take_kept(streams, record);
    if (error != WARPLOOM_EMPTY) return error;
    error = warploom_wait_record(core, record);
    if (!error) note_record(streams, record);
    return error;
}

int warploom_streams_soft_reset(const warploom_core *core, warploom_streams *streams)
{
    int forgot, error = warploom_soft_reset(core);
    /* A reset that is not over yet ends all launches, too. */
    if (error && error != WARPLOOM_WAITED) return error;
    forgot = forget(core, streams);
    return error ? error : forgot;
}

warploom_event warploom_event_record(const warploom_streams *streams, uint32_t stream)
{
    warploom_event event = {stream, streams->epoch, 0};
    if (stream < WARPLOOM_STREAMS) event.count = streams->count[stream];
    return event;
}

/* Whether a launch of an event's has no record that was taken. */
static int is_open(const warploom_streams *streams, const warploom_event *event)
{
    uint32_t n;
    for (n = 0; n < streams->opened; n++) {
        const warploom_open *open = &streams->open[n];
        if (open->stream == event->stream && open->count <= event->count) return 1;
    }
    return 0;
}

/* Take records until an event is reached; keep them. */
static int wait_for(const warploom_core *core, warploom_streams *streams, const warploom_event *event)
{
    while (is_open(streams, event)) {
        int error;
        if (streams->used == streams->size) return WARPLOOM_FULL;
        error = warploom_wait_record(core, &streams->kept[streams->used]);
        if (error) return error;
        note_record(streams, &streams->kept[streams->used++]);
    }
    return WARPLOOM_OK;
}

int warploom_stream_wait(const warploom_core *core, warploom_streams *streams, uint32_t stream,
                         const warploom_event *event)
{
    uint32_t k;
    int error;
    if (stream >= WARPLOOM_STREAMS || event->stream >= WARPLOOM_STREAMS) return WARPLOOM_RANGE;
    if (is_reached(streams, event)) return WARPLOOM_OK;
    for (k = 0; k < streams->pairs[stream]; k++) {
        warploom_event *pair = &streams->pair[stream][k];
        if (pair->stream != event->stream) continue;
        /* The later launch's end implies the earlier one's. */
        if (pair->count < event->count) pair->count = event->count;
        return WARPLOOM_OK;
    }
    if (!WARPLOOM_LAUNCH_WAITS) return wait_for(core, streams, event);
    if (streams->pairs[stream] == WARPLOOM_LAUNCH_WAITS) {
        error = wait_for(core, streams, &streams->pair[stream][0]);
        if (error) return error;
        drop_pair(streams, stream, 0);
    }
    streams->pair[stream][streams->pairs[stream]++] = *event;
    return WARPLOOM_OK;
}
