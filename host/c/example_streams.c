/* Streams, events, preemption, and a kernel that never ends. Build it with warploom.c,
 * warploom_streams.c and the header of your core. */
#include "warploom_streams.h"

/* Two streams with an event between them, and an urgent kernel before which a low one makes way.
 *
 * `low` runs in stream 0; `next`, in stream 1, waits for it. `urgent` comes last and is the first to
 * end: `low` is stopped, and goes on by itself afterwards. */
int run_two_streams(const warploom_core *core, uint64_t code)
{
    static warploom_record kept[4];
    static warploom_streams streams = {.kept = kept, .size = 4};
    warploom_launch low = {
        .code = code, .stream = 0, .idempotent = 1, .mode = WARPLOOM_MODE_RESET,
        .gx = 64, .gy = 1, .gz = 1, .dx = 8, .dy = 1, .dz = 1, .warp_registers = 1,
    };
    warploom_launch next = low, urgent = low;
    warploom_record record;
    warploom_event done;
    uint32_t tickets[3], n;
    int error = warploom_identify(core);
    next.stream = 1;
    urgent.stream = 2;
    urgent.priority = (1u << WARPLOOM_PRIORITY_BITS) - 1;
    urgent.gx = 1;
    if (!error) error = warploom_streams_begin(core, &streams);
    if (!error) error = warploom_streams_launch(core, &streams, 0, &low, &tickets[1]);
    if (error) return error;
    error = warploom_event_record(&streams, low.stream, &done);
    if (!error) error = warploom_stream_wait(core, &streams, next.stream, &done);
    if (!error) error = warploom_streams_launch(core, &streams, 0, &next, &tickets[2]);
    if (!error) error = warploom_streams_launch(core, &streams, 0, &urgent, &tickets[0]);
    for (n = 0; n < 3 && !error; n++) {
        error = warploom_streams_wait_record(core, &streams, &record);
        if (error) break;
        /* An aborted launch has the code 0. */
        if (record.fate != WARPLOOM_FATE_FINISHED) return record.code ? (int)record.code : 255;
        /* The urgent one, the low one, which was stopped, and the one that waited for it. */
        if (record.ticket != tickets[n] || (n == 1) != (record.kills == 1)) return 255;
    }
    return error;
}

/* Take the next record. It must be of this ticket (0: of a PREEMPT), and have this fate. */
static int expect(const warploom_core *core, warploom_streams *streams, uint32_t ticket, uint32_t fate)
{
    warploom_record record;
    int error = warploom_streams_wait_record(core, streams, &record);
    if (!error && (record.ticket != ticket || record.fate != fate)) error = 255;
    return error;
}

/* A stream that is held and goes on, and one that hangs and is cleared, while another one works.
 *
 * `low` runs in stream 0 until a PREEMPT holds that stream; `other` runs in stream 1 meanwhile.
 * Then a kernel with the code `endless` hangs in stream 0. `other` runs beside it. Only what stream
 * 0 has is aborted, and the stream takes the next kernel. */
int run_held_and_hung(const warploom_core *core, uint64_t code, uint64_t endless)
{
    static warploom_record kept[4];
    static warploom_streams streams = {.kept = kept, .size = 4};
    warploom_launch low = {
        .code = code, .stream = 0, .idempotent = 1, .mode = WARPLOOM_MODE_RESET,
        .gx = 64, .gy = 1, .gz = 1, .dx = 8, .dy = 1, .dz = 1, .warp_registers = 1,
    };
    warploom_launch other = low, hung = low;
    uint32_t one, two, mask = 1u << low.stream;
    int error = warploom_identify(core);
    other.stream = 1;
    other.gx = hung.gx = 1;
    hung.code = endless;
    if (!error) error = warploom_streams_begin(core, &streams);
    /* Held, and resumed. */
    if (!error) error = warploom_streams_launch(core, &streams, 0, &low, &one);
    if (!error) error = warploom_preempt(core, 0, mask);
    if (!error) error = expect(core, &streams, 0, WARPLOOM_FATE_FINISHED);
    if (!error) error = warploom_streams_launch(core, &streams, 0, &other, &two);
    if (!error) error = expect(core, &streams, two, WARPLOOM_FATE_FINISHED);
    if (!error) error = warploom_resume(core, 0, mask);
    if (!error) error = expect(core, &streams, one, WARPLOOM_FATE_FINISHED);
    /* Hung, and cleared. */
    if (!error) error = warploom_streams_launch(core, &streams, 0, &hung, &one);
    if (!error) error = warploom_streams_launch(core, &streams, 0, &other, &two);
    if (!error) error = expect(core, &streams, two, WARPLOOM_FATE_FINISHED);
    if (!error) error = warploom_abort_streams(core, 0, mask);
    if (!error) error = expect(core, &streams, one, WARPLOOM_FATE_ABORTED);
    if (!error) error = warploom_streams_launch(core, &streams, 0, &low, &one);
    if (!error) error = expect(core, &streams, one, WARPLOOM_FATE_FINISHED);
    return error;
}
