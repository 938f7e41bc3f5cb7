#include "warploom_streams.h"
#include "warploom_fields.h"

/* An event that is so many launches behind is reached. */
#define FAR_BEHIND UINT32_C(0x8000)

/* Know no launch and no pair; read the epoch, which rises when a soft reset is over. */
static int forget(const warploom_core *core, warploom_streams *streams)
{
    uint32_t stream, section, state;
    int error = warploom_read_register(core, WARPLOOM_STATE_ADDRESS, &state);
    if (error) return error;
    if (state & WARPLOOM_STATE_RESETTING_MASK) state += UINT32_C(1) << WARPLOOM_STATE_EPOCH_SHIFT;
    streams->epoch = (state & WARPLOOM_STATE_EPOCH_MASK) >> WARPLOOM_STATE_EPOCH_SHIFT;
    streams->opened = 0;
    streams->loops = 0;
    for (stream = 0; stream < WARPLOOM_STREAMS; stream++) {
        streams->count[stream] = streams->quiet[stream] = streams->ended[stream] = 0;
        streams->looping[stream] = streams->pairs[stream] = 0;
    }
    for (section = 0; streams->words && section < WARPLOOM_SECTIONS; section++)
        warploom_forget_words(&streams->words[section]);
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

/* A struct is copied field by field: a compiler calls memcpy for a whole one, and a core without a
 * library has none. */
static void copy_event(warploom_event *to, const warploom_event *from)
{
    to->stream = from->stream;
    to->epoch = from->epoch;
    to->count = from->count;
    to->quiet = from->quiet;
}

static void copy_open(warploom_open *to, const warploom_open *from)
{
    to->ticket = from->ticket;
    to->stream = from->stream;
    to->count = from->count;
}

static void copy_record(warploom_record *to, const warploom_record *from)
{
    to->ticket = from->ticket;
    to->fate = from->fate;
    to->code = from->code;
    to->kind = from->kind;
    to->kills = from->kills;
    to->drained = from->drained;
    to->cycles = from->cycles;
    to->stream = from->stream;
    to->offered = from->offered;
    to->number = from->number;
    to->accepted = from->accepted;
    to->first_offer = from->first_offer;
    to->made = from->made;
    to->met_finished = from->met_finished;
    to->met_killed = from->met_killed;
    to->met_drained = from->met_drained;
    to->met_skipped = from->met_skipped;
}

/* Remove pair k of a stream's next launch. */
static void drop_pair(warploom_streams *streams, uint32_t stream, uint32_t k)
{
    warploom_event *pairs = streams->pair[stream];
    for (streams->pairs[stream]--; k < streams->pairs[stream]; k++)
        copy_event(&pairs[k], &pairs[k + 1]);
}

/* The pairs that a launch waits for, WARPLOOM_WAIT_WORDS at most: its own relative ones, and behind
 * them its stream's. */
static int put_pairs(warploom_streams *streams, const warploom_launch *launch,
                     warploom_wait_pair *pairs, uint32_t *waits)
{
    uint32_t stream = launch->stream, used = 0, k;
    for (k = 0; k < launch->waits && k < WARPLOOM_WAIT_WORDS; k++) {
        if (!launch->wait[k].relative) continue;
        pairs[used].stream = launch->wait[k].stream;
        pairs[used].count = launch->wait[k].count;
        pairs[used++].relative = launch->wait[k].relative;
    }
    for (k = 0; k < streams->pairs[stream];) {
        const warploom_event *event = &streams->pair[stream][k];
        if (is_reached(streams, event)) {
            drop_pair(streams, stream, k);
            continue;
        }
        if (streams->looping[event->stream]) return WARPLOOM_BUSY;
        if (used == WARPLOOM_LAUNCH_WAITS) return WARPLOOM_RANGE;
        pairs[used].stream = event->stream;
        pairs[used].relative = 0;
        pairs[used++].count = (uint32_t)event->count;
        k++;
    }
    *waits = used;
    return WARPLOOM_OK;
}

/* Note that a launch was accepted; its answer has the low 16 bits of its number. */
static void note_launch(warploom_streams *streams, const warploom_launch *launch,
                        const warploom_outcome *outcome)
{
    uint64_t *count = &streams->count[launch->stream];
    *count += (outcome->number - *count) & 0xFFFF;
    streams->pairs[launch->stream] = 0;
    if (launch->quiet) {
        streams->quiet[launch->stream] = *count;
    } else {
        warploom_open *open = &streams->open[streams->opened++];
        open->ticket = outcome->ticket;
        open->stream = launch->stream;
        open->count = *count;
    }
}

int warploom_streams_launch(const warploom_core *core, warploom_streams *streams, uint32_t section,
                            const warploom_launch *launch, uint32_t *ticket)
{
    warploom_wait_pair pairs[WARPLOOM_WAIT_WORDS];
    warploom_outcome outcome;
    uint32_t waits = 0;
    int error;
    *ticket = 0;
    if (launch->stream >= WARPLOOM_STREAMS || section >= WARPLOOM_SECTIONS) return WARPLOOM_RANGE;
    if (!launch->quiet && streams->opened == WARPLOOM_OPEN) return WARPLOOM_FULL;
    if (streams->looping[launch->stream] || (LOOPS && streams->loops >> section & 1)) return WARPLOOM_BUSY;
    error = put_pairs(streams, launch, pairs, &waits);
    if (!error)
        error = warploom_launch_waiting(core, section, launch, pairs, waits,
                                        streams->words ? &streams->words[section] : 0, &outcome);
    if (error) return error;
    note_launch(streams, launch, &outcome);
    *ticket = outcome.ticket;
    return WARPLOOM_OK;
}

/* Note that a launch's record was taken. */
static void note_record(warploom_streams *streams, const warploom_record *record)
{
    uint32_t n;
    for (n = 0; n < streams->opened; n++) {
        const warploom_open *open = &streams->open[n];
        if (record->kind == WARPLOOM_KIND_LAUNCH && open->ticket == record->ticket) {
            /* It began, so all before it have ended; one that waited may be aborted earlier. */
            if (record->offered && streams->ended[open->stream] < open->count)
                streams->ended[open->stream] = open->count;
            copy_open(&streams->open[n], &streams->open[--streams->opened]);
            return;
        }
    }
}

/* Give the oldest record that was kept: WARPLOOM_EMPTY if there is none. */
static int take_kept(warploom_streams *streams, warploom_record *record)
{
    uint32_t n;
    if (!streams->used) return WARPLOOM_EMPTY;
    copy_record(record, &streams->kept[0]);
    for (n = 1; n < streams->used; n++) copy_record(&streams->kept[n - 1], &streams->kept[n]);
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

int warploom_event_record(const warploom_streams *streams, uint32_t stream, warploom_event *event)
{
    if (stream >= WARPLOOM_STREAMS) return WARPLOOM_RANGE;
    if (streams->looping[stream]) return WARPLOOM_BUSY;
    event->stream = stream;
    event->epoch = streams->epoch;
    event->count = streams->count[stream];
    event->quiet = streams->quiet[stream];
    return WARPLOOM_OK;
}

/* Whether a launch of a stream from one number to another has no record that was taken. */
static int is_open(const warploom_streams *streams, uint32_t stream, uint64_t from, uint64_t to)
{
    uint32_t n;
    for (n = 0; n < streams->opened; n++) {
        const warploom_open *open = &streams->open[n];
        if (open->stream == stream && open->count >= from && open->count <= to) return 1;
    }
    return 0;
}

/* Take records until an event is reached; keep them. */
static int wait_for(const warploom_core *core, warploom_streams *streams, const warploom_event *event)
{
    uint32_t stream = event->stream;
    for (;;) {
        int error, quiet = event->quiet > streams->ended[stream];
        if (!quiet && !is_open(streams, stream, 0, event->count)) return WARPLOOM_OK;
        if (quiet && !is_open(streams, stream, event->quiet, UINT64_MAX)) return WARPLOOM_QUIET;
        if (streams->used == streams->size) return WARPLOOM_FULL;
        error = warploom_wait_record(core, &streams->kept[streams->used]);
        if (error) return error;
        note_record(streams, &streams->kept[streams->used++]);
    }
}

int warploom_stream_wait(const warploom_core *core, warploom_streams *streams, uint32_t stream,
                         const warploom_event *event)
{
    uint32_t k;
    int error;
    if (stream >= WARPLOOM_STREAMS || event->stream >= WARPLOOM_STREAMS) return WARPLOOM_RANGE;
    if (is_reached(streams, event)) return WARPLOOM_OK;
    if (streams->looping[event->stream]) return WARPLOOM_BUSY;
    for (k = 0; k < streams->pairs[stream]; k++) {
        warploom_event *pair = &streams->pair[stream][k];
        if (pair->stream != event->stream) continue;
        /* The later launch's end implies the earlier one's. */
        if (pair->count < event->count) copy_event(pair, event);
        return WARPLOOM_OK;
    }
    if (!WARPLOOM_LAUNCH_WAITS) return wait_for(core, streams, event);
    if (streams->pairs[stream] == WARPLOOM_LAUNCH_WAITS) {
        error = wait_for(core, streams, &streams->pair[stream][0]);
        if (error) return error;
        drop_pair(streams, stream, 0);
    }
    copy_event(&streams->pair[stream][streams->pairs[stream]++], event);
    return WARPLOOM_OK;
}
