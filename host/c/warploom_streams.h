/* Orders between streams: events (docs/host/drivers.md). Beside warploom.h.
 *
 * Launches of one stream run in order. An order between streams is the program's wish, so its state
 * is the program's: `warploom_streams`.
 *
 * What hardware does not do: priorities are not inherited. An urgent launch that waits for a low
 * one lets the low one run, but launches of a priority between the two may delay it without bound. */
#ifndef WARPLOOM_STREAMS_H
#define WARPLOOM_STREAMS_H

#include "warploom_kept.h"

#define WARPLOOM_STREAMS (1u << WARPLOOM_STREAM_BITS)
/* Launches without a record that was taken, at most: the core keeps a record's place for each. */
#define WARPLOOM_OPEN WARPLOOM_RECORDS

/* The launches of a stream up to one: count 0 is none of them. `quiet` is the number of the latest
 * quiet one of them, or 0. */
typedef struct {
    uint32_t stream, epoch;
    uint64_t count, quiet;
} warploom_event;

/* A launch without a record that was taken; no quiet one stands here. */
typedef struct {
    uint32_t ticket, stream;
    uint64_t count;
} warploom_open;

/* The program sets `kept`, an array of `size` records, and calls warploom_streams_begin. Records
 * that the driver takes while it waits for a launch are kept there until the program takes them.
 * `words`, where it is not null, is an array with the kept words of each section: a launch then
 * writes only words that differ. */
typedef struct {
    warploom_record *kept;
    uint32_t size;
    warploom_kept *words;
    uint32_t used, opened, epoch;
    uint64_t count[WARPLOOM_STREAMS];   /* launches that were accepted */
    uint64_t quiet[WARPLOOM_STREAMS];   /* number of the latest quiet one; 0: none */
    uint64_t ended[WARPLOOM_STREAMS];   /* up to this one all have ended, as a record says */
    uint32_t looping[WARPLOOM_STREAMS]; /* loops that run with launches of the stream */
    uint32_t loops;                     /* sections whose loop's outcome was not read, a bit each */
    uint32_t pairs[WARPLOOM_STREAMS]; /* pairs of the next launch */
    warploom_event pair[WARPLOOM_STREAMS][WARPLOOM_LAUNCH_WAITS ? WARPLOOM_LAUNCH_WAITS : 1];
    warploom_open open[WARPLOOM_OPEN];
} warploom_streams;

/* Begin: no launch is known, no stream waits. */
int warploom_streams_begin(const warploom_core *core, warploom_streams *streams);
/* As warploom_launch_kernel; the launch waits for its stream's pairs, in the place of its own that
 * are not relative. A launch that is refused keeps them for the next one. WARPLOOM_BUSY while a loop
 * with launches of its stream, or of one that it waits for, runs, and in a loop's section. */
int warploom_streams_launch(const warploom_core *core, warploom_streams *streams, uint32_t section,
                            const warploom_launch *launch, uint32_t *ticket);
/* As the calls of warploom.h. Records that were kept come first. A soft reset ends every wait,
 * also one that is not over when the driver stops waiting for it (WARPLOOM_WAITED). */
int warploom_streams_take_record(const warploom_core *core, warploom_streams *streams,
                                 warploom_record *record);
int warploom_streams_wait_record(const warploom_core *core, warploom_streams *streams,
                                 warploom_record *record);
int warploom_streams_soft_reset(const warploom_core *core, warploom_streams *streams);

/* The launches that a stream has so far. Nothing is accessed. WARPLOOM_BUSY while a loop with
 * launches of the stream runs: who depends on a loop waits for its end. */
int warploom_event_record(const warploom_streams *streams, uint32_t stream, warploom_event *event);
/* Let the next launch of a stream wait for an event. Where it waits for as many as it can already,
 * the driver itself waits for the oldest: WARPLOOM_FULL if `kept` is too small for that. A quiet
 * launch leaves no record to wait for: the driver waits for a later record of its stream, or gives
 * WARPLOOM_QUIET if none will come. */
int warploom_stream_wait(const warploom_core *core, warploom_streams *streams, uint32_t stream,
                         const warploom_event *event);

#endif
