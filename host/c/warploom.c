#include "warploom.h"
#include "warploom_fields.h"

#define RECORD_WORDS 8
#define TASK_WORDS 32 /* of the task register */

/* All bits of IRQ_ENABLE. */
#define IRQ_BITS                                                              \
    (WARPLOOM_IRQ_ENABLE_RECORDS_MASK | WARPLOOM_IRQ_ENABLE_ERROR_MASK |      \
     WARPLOOM_IRQ_ENABLE_SM_LOST_MASK | WARPLOOM_IRQ_ENABLE_RESET_DONE_MASK | \
     WARPLOOM_IRQ_ENABLE_RESET_FORCED_MASK |                                  \
     WARPLOOM_IRQ_ENABLE_COMMAND_DONE_MASK)

static int read_word(const warploom_core *core, uint32_t address, uint32_t *value)
{
    return core->read32(core->context, address, value) ? WARPLOOM_BUS_ERROR : WARPLOOM_OK;
}

static int write_word(const warploom_core *core, uint32_t address, uint32_t value)
{
    return core->write32(core->context, address, value) ? WARPLOOM_BUS_ERROR : WARPLOOM_OK;
}

/* Wait until every write has had its response. */
static int settle(const warploom_core *core)
{
    return core->barrier && core->barrier(core->context) ? WARPLOOM_BUS_ERROR : WARPLOOM_OK;
}

/* The last write of a call: no read that follows it passes the writes of the call. */
static int write_last(const warploom_core *core, uint32_t address, uint32_t value)
{
    int error = write_word(core, address, value);
    return error ? error : settle(core);
}

int warploom_read_register(const warploom_core *core, uint32_t address, uint32_t *value)
{
    return read_word(core, address, value);
}

int warploom_write_register(const warploom_core *core, uint32_t address, uint32_t value)
{
    return write_last(core, address, value);
}

/* Count a turn of waiting: WARPLOOM_WAITED when there were too many. */
static int wait_turn(const warploom_core *core, uint32_t *turns)
{
    *turns += 1;
    return core->patience != 0 && *turns >= core->patience ? WARPLOOM_WAITED : WARPLOOM_OK;
}

int warploom_identify(const warploom_core *core)
{
    uint32_t id, version, crc;
    int error = read_word(core, WARPLOOM_ID_ADDRESS, &id);
    if (error) return error;
    if (id != WARPLOOM_ID) return WARPLOOM_NOT_THERE;
    error = read_word(core, WARPLOOM_VERSION_ADDRESS, &version);
    if (error) return error;
    if (GET(version, WARPLOOM_VERSION_MAJOR) != GET(WARPLOOM_VERSION, WARPLOOM_VERSION_MAJOR))
        return WARPLOOM_OTHER_MAP;
    error = read_word(core, WARPLOOM_CONFIG_CRC_ADDRESS, &crc);
    if (error) return error;
    return crc == WARPLOOM_CONFIG_CRC ? WARPLOOM_OK : WARPLOOM_OTHER_CONFIG;
}

int warploom_submit_words(const warploom_core *core, uint32_t section, const uint32_t *words,
                          uint32_t count)
{
    if (count > TASK_WORDS) return WARPLOOM_RANGE;
    return warploom_submit_chosen(core, section, words,
                                  count ? UINT32_MAX >> (TASK_WORDS - count) : 0);
}

/* Write the chosen words and ring, unless the section is busy. Where another master resets the core
 * a word may be refused: a bus that posts writes tells of it before half a command is rung. */
int warploom_submit_chosen(const warploom_core *core, uint32_t section, const uint32_t *words,
                           uint32_t chosen)
{
    uint32_t doorbell, address = warploom_section(section, WARPLOOM_SECTION_T0_OFFSET);
    uint32_t bell = warploom_section(section, WARPLOOM_SECTION_DOORBELL_OFFSET);
    int error;
    if (section >= WARPLOOM_SECTIONS) return WARPLOOM_RANGE;
    error = read_word(core, bell, &doorbell);
    if (error) return error;
    if (doorbell) return WARPLOOM_BUSY;
    for (; chosen; chosen >>= 1, words++, address += 4) {
        if (!(chosen & 1)) continue;
        error = write_word(core, address, *words);
        if (error) return error;
    }
    error = settle(core);
    return error ? error : write_last(core, bell, 1);
}

static int pairs_fit(const warploom_wait_pair *pairs, uint32_t waits)
{
    uint32_t k;
    if (waits > WARPLOOM_LAUNCH_WAITS) return 0;
    for (k = 0; k < waits; k++)
        if (!FITS(pairs[k].stream, WARPLOOM_LAUNCH_WAIT0_STREAM) || pairs[k].relative > LOOPS)
            return 0;
    return 1;
}

static int launch_fits(const warploom_launch *launch)
{
    /* One branch: a small core spends as long on the checks as on the words. */
    return !(EXCESS(launch->address_space, WARPLOOM_LAUNCH_ADDRESS_SPACE) |
             EXCESS(launch->stream, WARPLOOM_LAUNCH_STREAM) |
             EXCESS(launch->priority, WARPLOOM_LAUNCH_PRIORITY) |
             EXCESS(launch->idempotent, WARPLOOM_LAUNCH_IDEMPOTENT) |
             EXCESS(launch->quiet, WARPLOOM_LAUNCH_QUIET) |
             EXCESS(launch->mode, WARPLOOM_LAUNCH_MODE) | EXCESS(launch->gy, WARPLOOM_LAUNCH_GY) |
             EXCESS(launch->gz, WARPLOOM_LAUNCH_GZ) | EXCESS(launch->dx, WARPLOOM_LAUNCH_DX) |
             EXCESS(launch->dy, WARPLOOM_LAUNCH_DY) | EXCESS(launch->dz, WARPLOOM_LAUNCH_DZ) |
             EXCESS(launch->index_address, WARPLOOM_LAUNCH_INDEX_ADDRESS) |
             EXCESS(launch->table, WARPLOOM_LAUNCH_TABLE) |
             EXCESS(launch->warp_registers, WARPLOOM_LAUNCH_WARP_REGISTERS) |
             EXCESS(launch->shared, WARPLOOM_LAUNCH_SHARED) |
             EXCESS(launch->barriers, WARPLOOM_LAUNCH_BARRIERS));
}

int warploom_pack_waiting(const warploom_launch *launch, const warploom_wait_pair *pairs,
                          uint32_t waits, uint32_t *words, uint32_t *changed)
{
    uint32_t n, c = 0, flags = (1u << waits) - 1;
    if (!pairs_fit(pairs, waits) || !launch_fits(launch)) return WARPLOOM_RANGE;
    for (n = 0; n < waits; n++) {
        flags |= pairs[n].relative << (WARPLOOM_FLAG_RELATIVE + n);
        c |= put_word(words, WARPLOOM_LAUNCH_WAIT0_STREAM_WORD + n,
                      PUT(pairs[n].stream, WARPLOOM_LAUNCH_WAIT0_STREAM) |
                          PUT(CUT(pairs[n].count, WARPLOOM_LAUNCH_WAIT0_COUNT),
                              WARPLOOM_LAUNCH_WAIT0_COUNT));
    }
    c |= put_word(words, WARPLOOM_LAUNCH_OPCODE_WORD,
                  PUT(WARPLOOM_OPCODE_LAUNCH, WARPLOOM_LAUNCH_OPCODE) |
                      PUT(flags, WARPLOOM_LAUNCH_FLAGS));
    c |= put_pair(words, WARPLOOM_LAUNCH_CODE_LOW_WORD, launch->code);
    c |= put_pair(words, WARPLOOM_LAUNCH_ARGUMENTS_LOW_WORD, launch->arguments);
    c |= put_word(words, WARPLOOM_LAUNCH_STREAM_WORD,
                  PUT(launch->address_space, WARPLOOM_LAUNCH_ADDRESS_SPACE) |
                      PUT(launch->stream, WARPLOOM_LAUNCH_STREAM) |
                      PUT(launch->priority, WARPLOOM_LAUNCH_PRIORITY) |
                      PUT(launch->quiet, WARPLOOM_LAUNCH_QUIET) |
                      PUT(launch->idempotent, WARPLOOM_LAUNCH_IDEMPOTENT));
    c |= put_word(words, WARPLOOM_LAUNCH_GX_WORD, launch->gx);
    c |= put_word(words, WARPLOOM_LAUNCH_GY_WORD,
                  PUT(launch->gy, WARPLOOM_LAUNCH_GY) | PUT(launch->gz, WARPLOOM_LAUNCH_GZ));
    c |= put_word(words, WARPLOOM_LAUNCH_DX_WORD,
                  PUT(launch->dx, WARPLOOM_LAUNCH_DX) | PUT(launch->dy, WARPLOOM_LAUNCH_DY) |
                      PUT(launch->dz, WARPLOOM_LAUNCH_DZ));
    c |= put_word(words, WARPLOOM_LAUNCH_INDEX_ADDRESS_WORD,
                  PUT(launch->index_address, WARPLOOM_LAUNCH_INDEX_ADDRESS) |
                      PUT(launch->table, WARPLOOM_LAUNCH_TABLE));
    c |= put_word(words, WARPLOOM_LAUNCH_SHARED_WORD,
                  PUT(launch->warp_registers, WARPLOOM_LAUNCH_WARP_REGISTERS) |
                      PUT(launch->shared, WARPLOOM_LAUNCH_SHARED) |
                      PUT(launch->barriers, WARPLOOM_LAUNCH_BARRIERS) |
                      PUT(launch->mode, WARPLOOM_LAUNCH_MODE));
    for (n = 0; n + 1 < WARPLOOM_INLINE_ARGS + 1; n++)
        c |= put_pair(words, INLINE_WORD + 2 * n, launch->inline_args[n]);
    *changed = c;
    return WARPLOOM_OK;
}

int warploom_pack_launch(const warploom_launch *launch, uint32_t *words)
{
    uint32_t n, changed;
    for (n = 0; n < WARPLOOM_LAUNCH_WORDS; n++) words[n] = 0;
    return warploom_pack_waiting(launch, launch->wait, launch->waits, words, &changed);
}

int warploom_submit_launch(const warploom_core *core, uint32_t section, const warploom_launch *launch)
{
    uint32_t words[WARPLOOM_LAUNCH_WORDS];
    int error = warploom_pack_launch(launch, words);
    if (error) return error;
    return warploom_submit_words(core, section, words, warploom_launch_length(launch->waits));
}

int warploom_submit_task(const warploom_core *core, uint32_t section, const warploom_task *task)
{
    uint32_t words[WARPLOOM_RUN_ARGUMENTS_HIGH_WORD + 1];
    uint32_t flags = task->skip_primary ? WARPLOOM_FLAG_SKIP_PRIMARY : 0;
    if (!FITS(task->parts, WARPLOOM_RUN_PARTS) || !FITS(task->larger, WARPLOOM_RUN_LARGER))
        return WARPLOOM_RANGE;
    words[WARPLOOM_RUN_OPCODE_WORD] =
        PUT(WARPLOOM_OPCODE_RUN, WARPLOOM_RUN_OPCODE) | PUT(flags, WARPLOOM_RUN_FLAGS);
    words[WARPLOOM_RUN_FIRST_WORD] = task->first;
    words[WARPLOOM_RUN_PARTS_WORD] =
        PUT(task->parts, WARPLOOM_RUN_PARTS) | PUT(task->larger, WARPLOOM_RUN_LARGER);
    words[WARPLOOM_RUN_SMALL_WORD] = task->small;
    words[WARPLOOM_RUN_CODE_LOW_WORD] = LOW(task->code);
    words[WARPLOOM_RUN_CODE_HIGH_WORD] = HIGH(task->code);
    words[WARPLOOM_RUN_ARGUMENTS_LOW_WORD] = LOW(task->arguments);
    words[WARPLOOM_RUN_ARGUMENTS_HIGH_WORD] = HIGH(task->arguments);
    return warploom_submit_words(core, section, words, WARPLOOM_RUN_ARGUMENTS_HIGH_WORD + 1);
}

int warploom_submit_abort(const warploom_core *core, uint32_t section, uint32_t ticket)
{
    uint32_t words[WARPLOOM_ABORT_TICKET_WORD + 1] = {0};
    words[WARPLOOM_ABORT_OPCODE_WORD] = PUT(WARPLOOM_OPCODE_ABORT, WARPLOOM_ABORT_OPCODE);
    words[WARPLOOM_ABORT_TICKET_WORD] = ticket;
    return warploom_submit_words(core, section, words, WARPLOOM_ABORT_TICKET_WORD + 1);
}

/* Submit a command for a mask of streams; `head` is its word 0. */
static int submit_mask(const warploom_core *core, uint32_t section, uint32_t head, uint32_t streams)
{
    uint32_t words[WARPLOOM_MASK_MASK_WORD + 1] = {0};
    words[WARPLOOM_MASK_OPCODE_WORD] = head;
    words[WARPLOOM_MASK_MASK_WORD] = streams;
    return warploom_submit_words(core, section, words, WARPLOOM_MASK_MASK_WORD + 1);
}

int warploom_submit_preempt(const warploom_core *core, uint32_t section, uint32_t streams)
{
    return submit_mask(core, section, PUT(WARPLOOM_OPCODE_PREEMPT, WARPLOOM_MASK_OPCODE), streams);
}

int warploom_submit_resume(const warploom_core *core, uint32_t section, uint32_t streams)
{
    return submit_mask(core, section, PUT(WARPLOOM_OPCODE_RESUME, WARPLOOM_MASK_OPCODE), streams);
}

int warploom_submit_abort_streams(const warploom_core *core, uint32_t section, uint32_t streams)
{
    uint32_t head = PUT(WARPLOOM_OPCODE_ABORT_STREAMS, WARPLOOM_MASK_OPCODE);
    return submit_mask(core, section, head, streams);
}

int warploom_submit_disconnect(const warploom_core *core, uint32_t section)
{
    uint32_t word = PUT(WARPLOOM_OPCODE_DISCONNECT, WARPLOOM_ABORT_OPCODE);
    return warploom_submit_words(core, section, &word, 1);
}

int warploom_poll(const warploom_core *core, uint32_t section, warploom_outcome *outcome)
{
    uint32_t doorbell, error_word, task, base = warploom_section(section, 0);
    int error;
    if (section >= WARPLOOM_SECTIONS) return WARPLOOM_RANGE;
    error = read_word(core, base + WARPLOOM_SECTION_DOORBELL_OFFSET, &doorbell);
    if (error) return error;
    if (doorbell) return WARPLOOM_BUSY;
    error = read_word(core, base + WARPLOOM_SECTION_ERROR_OFFSET, &error_word);
    if (!error) error = read_word(core, base + WARPLOOM_SECTION_RESULT0_OFFSET, &outcome->ticket);
    if (!error) error = read_word(core, base + WARPLOOM_SECTION_STATUS_OFFSET, &outcome->succeeded);
    if (!error) error = read_word(core, base + WARPLOOM_SECTION_ASSIGNED_OFFSET, &outcome->parts);
    if (!error) error = read_word(core, base + WARPLOOM_SECTION_RESULT1_OFFSET, &task);
    if (error) return error;
    outcome->code = GET(error_word, WARPLOOM_SECTION_ERROR_CODE);
    outcome->core = GET(error_word, WARPLOOM_SECTION_ERROR_CORE);
    outcome->argument = GET(error_word, WARPLOOM_SECTION_ERROR_ARGUMENT);
    outcome->task = GET(task, WARPLOOM_SECTION_RESULT1_TASK);
    outcome->number = GET(task, WARPLOOM_SECTION_RESULT1_COUNT);
    return WARPLOOM_OK;
}

int warploom_wait(const warploom_core *core, uint32_t section, warploom_outcome *outcome)
{
    uint32_t turns = 0;
    for (;;) {
        int state = warploom_poll(core, section, outcome);
        if (state == WARPLOOM_OK) return (int)outcome->code;
        if (state != WARPLOOM_BUSY) return state;
        state = wait_turn(core, &turns);
        if (state) return state;
    }
}

int warploom_launch_kernel(const warploom_core *core, uint32_t section, const warploom_launch *launch,
                           uint32_t *ticket)
{
    warploom_outcome outcome;
    int error = warploom_launch_kept(core, section, launch, 0, &outcome);
    *ticket = 0;
    if (!error) *ticket = outcome.ticket;
    return error;
}

int warploom_run(const warploom_core *core, uint32_t section, const warploom_task *task,
                 warploom_outcome *outcome)
{
    int error = warploom_submit_task(core, section, task);
    return error ? error : warploom_wait(core, section, outcome);
}

/* The code of a command that was submitted, unless that failed. */
static int finished(const warploom_core *core, uint32_t section, int error)
{
    warploom_outcome outcome;
    return error ? error : warploom_wait(core, section, &outcome);
}

int warploom_abort(const warploom_core *core, uint32_t section, uint32_t ticket)
{
    return finished(core, section, warploom_submit_abort(core, section, ticket));
}

int warploom_preempt(const warploom_core *core, uint32_t section, uint32_t streams)
{
    return finished(core, section, warploom_submit_preempt(core, section, streams));
}

int warploom_resume(const warploom_core *core, uint32_t section, uint32_t streams)
{
    return finished(core, section, warploom_submit_resume(core, section, streams));
}

int warploom_abort_streams(const warploom_core *core, uint32_t section, uint32_t streams)
{
    return finished(core, section, warploom_submit_abort_streams(core, section, streams));
}

int warploom_results(const warploom_core *core, uint32_t section, uint32_t count, uint32_t *words)
{
    uint32_t n;
    if (section >= WARPLOOM_SECTIONS || count > 8) return WARPLOOM_RANGE;
    for (n = 0; n < count; n++) {
        uint32_t offset = WARPLOOM_SECTION_RESULT8_OFFSET + 4 * n;
        int error = read_word(core, warploom_section(section, offset), &words[n]);
        if (error) return error;
    }
    return WARPLOOM_OK;
}

int warploom_take_record(const warploom_core *core, warploom_record *record)
{
    uint32_t waiting, n, words[RECORD_WORDS];
    int preempt, error = read_word(core, WARPLOOM_RECORDS_ADDRESS, &waiting);
    if (error) return error;
    if (!waiting) return WARPLOOM_EMPTY;
    for (n = 0; n < RECORD_WORDS; n++) {
        error = read_word(core, WARPLOOM_RECORD0_ADDRESS + 4 * n, &words[n]);
        if (error) return error;
    }
    record->ticket = words[0];
    record->fate = GET(words[1], WARPLOOM_RECORD_FATE);
    record->code = GET(words[1], WARPLOOM_RECORD_CODE);
    record->kind = GET(words[1], WARPLOOM_RECORD_KIND);
    record->kills = GET(words[1], WARPLOOM_RECORD_KILLS);
    record->drained = GET(words[1], WARPLOOM_RECORD_RESET_AS_DRAIN);
    record->stream = GET(words[1], WARPLOOM_RECORD_STREAM);
    record->offered = GET(words[1], WARPLOOM_RECORD_OFFERED);
    preempt = record->kind == WARPLOOM_KIND_PREEMPT;
    record->cycles = preempt ? 0 : words[2];
    record->met_finished = preempt ? words[2] : 0;
    record->met_killed = preempt ? words[3] & 0xFFFF : 0;
    record->met_drained = preempt ? words[3] >> 16 : 0;
    record->met_skipped = preempt ? words[4] : 0;
    record->number = LOOPS && !preempt ? words[3] & 0xFFFF : 0;
    record->accepted = words[5];
    record->first_offer = words[6];
    record->made = words[7];
    return write_last(core, WARPLOOM_RECORD_POP_ADDRESS, WARPLOOM_RECORD_POP_POP_MASK);
}

int warploom_wait_record(const warploom_core *core, warploom_record *record)
{
    uint32_t turns = 0;
    for (;;) {
        int state = warploom_take_record(core, record);
        if (state != WARPLOOM_EMPTY) return state;
        if (core->wait_irq && core->wait_irq(core->context)) return WARPLOOM_BUS_ERROR;
        state = wait_turn(core, &turns);
        if (state) return state;
    }
}

int warploom_enable_irq(const warploom_core *core, uint32_t bits, uint32_t threshold)
{
    int error;
    if (!FITS(threshold, WARPLOOM_IRQ_THRESHOLD_VALUE) || (bits & ~IRQ_BITS)) return WARPLOOM_RANGE;
    error = write_word(core, WARPLOOM_IRQ_THRESHOLD_ADDRESS, threshold);
    return error ? error : write_last(core, WARPLOOM_IRQ_ENABLE_ADDRESS, bits);
}

int warploom_acknowledge_irq(const warploom_core *core, uint32_t *bits)
{
    int error = read_word(core, WARPLOOM_IRQ_STATUS_ADDRESS, bits);
    return error ? error : write_last(core, WARPLOOM_IRQ_STATUS_ADDRESS, *bits);
}

int warploom_set_launch_timeout(const warploom_core *core, uint32_t cycles)
{
    return write_last(core, WARPLOOM_LAUNCH_TIMEOUT_ADDRESS, cycles);
}

int warploom_set_irq_timeout(const warploom_core *core, uint32_t cycles)
{
    return write_last(core, WARPLOOM_IRQ_TIMEOUT_ADDRESS, cycles);
}

int warploom_clock(const warploom_core *core, uint64_t *clock)
{
    uint32_t before, low, high;
    int error = read_word(core, WARPLOOM_CLOCK_HIGH_ADDRESS, &high);
    do {
        before = high;
        if (!error) error = read_word(core, WARPLOOM_CLOCK_LOW_ADDRESS, &low);
        if (!error) error = read_word(core, WARPLOOM_CLOCK_HIGH_ADDRESS, &high);
        if (error) return error;
    } while (high != before);
    *clock = (uint64_t)high << 32 | low;
    return WARPLOOM_OK;
}

int warploom_clear_stream(const warploom_core *core, uint32_t stream)
{
    if (!FITS(stream, WARPLOOM_CLEAR_STREAM_STREAM)) return WARPLOOM_RANGE;
    return write_last(core, WARPLOOM_CLEAR_STREAM_ADDRESS, stream);
}

int warploom_reset_units(const warploom_core *core, uint32_t units)
{
    if (!FITS(units, WARPLOOM_UNIT_RESET_UNITS)) return WARPLOOM_RANGE;
    return write_last(core, WARPLOOM_UNIT_RESET_ADDRESS, units);
}

int warploom_enable_sms(const warploom_core *core, uint32_t word, uint32_t sms)
{
    uint32_t left = WARPLOOM_SMS - 32 * word;
    if (word >= (WARPLOOM_SMS + 31) / 32) return WARPLOOM_RANGE;
    if (left < 32 && sms >> left) return WARPLOOM_RANGE;
    return write_last(core, WARPLOOM_SM_ENABLE0_ADDRESS + 4 * word, sms);
}

int warploom_soft_reset(const warploom_core *core)
{
    uint32_t turns = 0;
    int error = write_last(core, WARPLOOM_CONTROL_ADDRESS, WARPLOOM_CONTROL_SOFT_RESET_MASK);
    while (!error) {
        uint32_t state;
        error = read_word(core, WARPLOOM_STATE_ADDRESS, &state);
        if (error || !GET(state, WARPLOOM_STATE_RESETTING)) break;
        error = wait_turn(core, &turns);
    }
    return error;
}
