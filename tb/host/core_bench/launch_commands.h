// Random commands for the launch path: launches with waits and modes, and commands for streams.
#ifndef LAUNCH_COMMANDS_H
#define LAUNCH_COMMANDS_H

#include <algorithm>

#include "launches.h"

enum Kind { NOP, RUN, LAUNCH, PREEMPT, RESUME, ABORT, ABORT_STREAMS, DISCONNECT, UNKNOWN };

struct Command {
    uint64_t id = 0;
    Kind kind = NOP;
    std::map<unsigned, uint32_t> words;
    // What it is answered with; of a launch that can be accepted 0.
    unsigned code = 0, argument = 0;
    // RUN: parts that hold something, and how they are split.
    uint32_t first = 0, parts = 0, larger = 0, small = 0, skip = 0;
    uint32_t started = 0;
    uint32_t ticket = 0;
    // ABORT: what it found as it was rung.
    std::string found;
    // LAUNCH: may be refused as WAIT_AHEAD.
    bool ahead = false;
    // LAUNCH: a LOOP launches it, once.
    bool loops = false;
    // Commands for streams: which; ABORT_STREAMS: launches that it meets.
    uint32_t mask = 0;
    std::vector<uint32_t> met;
    uint64_t rung_at = 0;
};

class LaunchCommands {
  public:
    LaunchCommands(Random& random, Launches& launches, unsigned section)
        : random_(random), launches_(launches), section_(section) {}

    // ABORT and PREEMPT look for launches that they meet.
    bool aims = false;

    Launch launch(Command& c) {
        Launch one;
        one.gx = random_.between(1, 9);
        one.gy = random_.between(1, 2);
        one.dx = random_.between(1, 2 * WARP_SIZE);
        one.index_address = 8 * random_.below(3);
        one.stream = random_.below(USED);
        one.warp_registers = random_.below(5);
        one.shared = random_.below(SHARED_UNITS / 2);
        one.barriers = random_.below(3);
        one.idempotent = random_.below(2);
        one.mode = random_.below(5);
        uint32_t gx = one.gx, gy = one.gy, dx = one.dx, stream = one.stream, mode = one.mode;
        uint32_t reserved = 0;
        switch (random_.below(20)) {
        case 0: gx = 0, c.code = WARPLOOM_ERROR_GRID_ZERO; break;
        case 1: gy = 1u << GRID_Y_BITS, c.code = WARPLOOM_ERROR_GRID_RANGE, c.argument = 1; break;
        case 2: dx = 0, c.code = WARPLOOM_ERROR_BLOCK_ZERO; break;
        case 3: stream = STREAMS, c.code = WARPLOOM_ERROR_FIELD_RANGE, c.argument = 5; break;
        case 4:
            mode = random_.between(5, 7), c.code = WARPLOOM_ERROR_FIELD_RANGE;
            c.argument = WARPLOOM_LAUNCH_MODE_WORD;
            break;
#ifndef WARPLOOM_LOOP_TEMPLATES
        case 5: reserved = 1, c.code = WARPLOOM_ERROR_FIELD_RANGE, c.argument = 5; break;
#endif
        default: break;
        }
        uint32_t flags = waits(c, one);
        // A stream keeps its priority.
        uint32_t order = stream << 16 | one.stream % PRIORITIES << 24 | one.idempotent << 29 |
                         reserved << 28;
        uint32_t sizes = one.warp_registers | one.shared << 10 | one.barriers << 24 | mode << 21;
        c.words.insert({{0, WARPLOOM_OPCODE_LAUNCH | flags << 8},
                        {1, static_cast<uint32_t>(c.id)}, {2, static_cast<uint32_t>(c.id >> 32)},
                        {5, order}, {6, gx}, {7, gy | 1u << 16}, {8, dx | 1u << 11 | 1u << 22},
                        {9, one.index_address}, {10, sizes}});
        // What nobody writes is another command's, or was there before the first reset.
        for (unsigned word : {3u, 4u}) c.words[word] = random_.word();
        for (unsigned k = 0; k < 2 * INLINE_ARGS; k++) c.words[INLINE_WORD + k] = random_.word();
        return one;
    }
    // Let an ABORT name a launch in some state, if there is one.
    void aim(Command& c) {
        if (random_.chance(0.2)) return;
        uint32_t ticket = suspended();
        if (!ticket) {
            static const std::vector<std::string> states = {"without a block", "runs",
                                                            "aborted before"};
            ticket = launches_.some(random_.one_of(states), random_);
        }
        if (ticket) c.ticket = ticket;
    }
    // A launch that is suspended; 0: the host knows of none.
    uint32_t suspended() {
        uint32_t drained = launches_.some("suspended, drained", random_);
        return drained ? drained : launches_.some("suspended, killed", random_);
    }
    void streams(Command& c) {
        c.mask = 1u << random_.below(USED);
        uint32_t runs = aims && c.kind == PREEMPT ? launches_.some("runs", random_) : 0;
        if (runs) c.mask = 1u << launches_.stream(runs);
        if (random_.chance(0.3)) c.mask |= random_.word() & ((1u << USED) - 1);
        if (c.kind == RESUME && random_.chance(0.5)) c.mask = (1u << USED) - 1;
        if (random_.chance(0.05)) {
            c.mask = STREAMS < 32 && random_.chance(0.5) ? c.mask | 1u << STREAMS : 0;
            c.code = WARPLOOM_ERROR_FIELD_RANGE;
            c.argument = 1;
        }
        uint32_t opcode = c.kind == PREEMPT  ? WARPLOOM_OPCODE_PREEMPT
                          : c.kind == RESUME ? WARPLOOM_OPCODE_RESUME
                                             : WARPLOOM_OPCODE_ABORT_STREAMS;
        c.words = {{0, opcode | random_.word() << 8}, {1, c.mask}};
    }
    // From now on the command can act.
    void rung(Command& c) {
        Streams& streams = launches_.streams;
        if (c.kind == PREEMPT) streams.preempt_rung(c.mask);
        if (c.kind == RESUME) streams.resume_rung(section_, c.mask);
        if (c.kind != ABORT_STREAMS) return;
        streams.abort_rung(section_, c.mask);
        c.met = launches_.unfinished(c.mask);
        c.rung_at = launches_.now();
    }
    // Return the code that a command for streams is to have: its own, if it may have it.
    unsigned answered(Command& c, unsigned code) {
        Streams& streams = launches_.streams;
        bool may = false;
        switch (c.kind) {
        case PREEMPT:
            streams.preempt_answered(!code);
            may = code == WARPLOOM_ERROR_PREEMPT_PENDING || code == WARPLOOM_ERROR_COMPLETION_FULL;
            break;
        case RESUME:
            may = code == WARPLOOM_ERROR_NOT_PREEMPTED;
            streams.resume_answered(section_, !code);
            break;
        default:
            launches_.streams_aborted(c.mask, streams.abort_answered(section_), c.met, c.rung_at);
            break;
        }
        return may ? code : 0;
    }

  private:
    // Streams that the commands use.
    static constexpr uint32_t USED = STREAMS < 8 ? STREAMS : 8;

    // Choose the pairs, and return their flags.
    uint32_t waits(Command& c, Launch& one) {
        uint32_t flags = 0;
        for (unsigned k = 0; k < WAIT_WORDS; k++) c.words[WAIT_WORD + k] = random_.word();
        for (unsigned k = 0; k < LAUNCH_WAITS; k++) {
            if (!random_.chance(0.2)) continue;
            flags |= 1u << k;
            uint32_t stream = random_.below(USED), known = launches_.known(stream);
            uint32_t count = known - std::min(known, random_.below(4));
            // What the host does not know may be there, or come later.
            bool ahead = random_.chance(0.05);
            if (ahead) count = known + random_.between(1, 2);
            c.ahead |= ahead;
            one.waits.push_back({stream, count});
            c.words[WAIT_WORD + k] = pair(stream, count);
        }
        return !c.code && random_.chance(0.05) ? wrong_waits(c, flags) : flags;
    }
    // A pair that is not there, a stream that is not, or a count far ahead.
    uint32_t wrong_waits(Command& c, uint32_t flags) {
        unsigned k = random_.below(WAIT_WORDS);
        c.code = WARPLOOM_ERROR_FIELD_RANGE;
        c.argument = WAIT_WORD + k;
        // Of pairs that are wrong the lowest one is named.
        uint32_t below = flags & ((1u << std::min(k, LAUNCH_WAITS)) - 1), own = 1u << k;
        if (k >= LAUNCH_WAITS) return below | own;
        if (random_.chance(0.5)) {
            c.words[WAIT_WORD + k] = pair(random_.between(STREAMS, 255), random_.below(3));
            return below | own;
        }
        uint32_t stream = random_.below(USED);
        c.words[WAIT_WORD + k] = pair(stream, launches_.known(stream) + 1000);
        c.code = WARPLOOM_ERROR_WAIT_AHEAD;
        return own;
    }
    uint32_t pair(uint32_t stream, uint32_t count) {
        return (random_.word() & 0xFF) | stream << 8 | count << 16;
    }

    Random& random_;
    Launches& launches_;
    unsigned section_;
};

#endif
