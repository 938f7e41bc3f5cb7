// A worker on one section: it writes a command, rings, waits, and checks every word of the outcome.
#ifndef WORKER_H
#define WORKER_H

#include "command_loops.h"
#include "launch_commands.h"
#include "master.h"
#include "units.h"

inline uint32_t section_word(unsigned section, uint32_t offset) {
    return warploom_section(section, offset);
}

// The name of a count.
inline std::string launches_of(uint32_t priority, unsigned section) {
    return "launches of priority " + std::to_string(priority) + ", section " +
           std::to_string(section);
}

class Worker : public Agent {
  public:
    Worker(Core& core, Random& random, Master& master, Launches& launches, Counts& counts,
           unsigned section, Unit* unit)
        : core_(core), random_(random), master_(master), launches_(launches), counts_(counts),
          section_(section), unit_(unit), launch_commands_(random, launches, section),
          loops_(section) {
        if (unit_) {
            unit_->on_part = [this](unsigned c, uint32_t f, uint32_t n) { part(c, f, n); };
            unit_->result_of = [this](const Run& run) {
                return static_cast<uint32_t>(run.code << 8 | random_.below(256));
            };
        }
        core.add(this);
    }

    bool stops = false;
    // Once it stops: a last RESUME, so that every launch ends.
    bool releases = false;
    // ABORT and PREEMPT look for launches that they meet.
    void aim() { launch_commands_.aims = true; }
    bool idle() const { return state_ == IDLE && !releases; }

    void drive() override {
        switch (state_) {
        case IDLE:
            if (stops ? releases : !wait_--) begin();
            break;
        case POLLING:
            // Others let a loop's stream go on and take records: until they stop it may last.
            if (command_.loops && !stops) rung_at_ = core_.now;
            core_.demand(core_.now - rung_at_ < SILENT, "a command is lost: its doorbell stays 1");
            if (!asked_ && random_.chance(0.3)) poll();
            break;
        case RESTING:
            if (!wait_--) look_again();
            break;
        default:
            break;
        }
    }
    void see() override {}

  private:
    enum State { IDLE, RINGING, POLLING, READING, RESTING, LOOKING, MENDING };
    // RESULT2 and RESULT3 of a LOOP.
    static constexpr uint32_t FINISHED_OFFSET = 0x18, ACCEPTED_OFFSET = 0x1C;

    uint32_t at(uint32_t offset) const { return section_word(section_, offset); }

    // ---- the commands

    void begin() {
        static uint64_t next_id = 1;
        command_ = Command();
        command_.id = next_id++;
        counts_["commands"]++;
        counts_["commands in section " + std::to_string(section_)]++;
        uint32_t kind = random_.below(100);
        if (stops) return release();
        if (disconnected_) choose(random_.one_of<Kind>({RUN, LAUNCH, NOP, UNKNOWN}));
        else if (launch_commands_.aims && random_.chance(0.2) && launch_commands_.suspended())
            choose(ABORT);
        else if (kind < (unit_ ? 55u : 5u)) choose(RUN);
        else if (kind < 78) choose(LAUNCH);
        else if (kind < 81) choose(launches_.streams.preempts ? RESUME : PREEMPT);
        else if (kind < 86) choose(RESUME);
        else if (kind < 87) choose(ABORT_STREAMS);
        else if (kind < (launch_commands_.aims ? 93u : 90u)) choose(ABORT);
        else if (kind < 94) choose(NOP);
        else if (kind < 98) choose(UNKNOWN);
        else choose(DISCONNECT);
        if (disconnected_) {
            command_.code = WARPLOOM_ERROR_DISCONNECTED;
            command_.argument = 0;
        }
        if (command_.kind == RUN && !command_.code && command_.parts) {
            if (tasks_.size() > 4) tasks_.erase(tasks_.begin());
            tasks_[static_cast<uint32_t>(command_.id)] = command_;
        }
        begun_at_ = core_.now;
        send();
    }
    void choose(Kind kind) {
        command_.kind = kind;
        switch (kind) {
        case RUN:
            choose_run();
            break;
        case LAUNCH:
            choose_launch();
            break;
        case ABORT: {
            uint32_t back = random_.below(3);
            uint32_t newest = launches_.newest;
            command_.ticket = back > newest || random_.chance(0.1) ? newest + 1000 : newest - back;
            if (launch_commands_.aims) launch_commands_.aim(command_);
            command_.found = launches_.state(command_.ticket);
            command_.words = {{0, WARPLOOM_OPCODE_ABORT}, {1, command_.ticket}};
            break;
        }
        case DISCONNECT:
            command_.words = {{0, WARPLOOM_OPCODE_DISCONNECT}};
            if (!unit_) command_.code = WARPLOOM_ERROR_NO_UNIT;
            break;
        case PREEMPT:
        case RESUME:
        case ABORT_STREAMS:
            launch_commands_.streams(command_);
            if (!command_.code && !disconnected_) launch_commands_.rung(command_);
            break;
        case UNKNOWN:
            command_.words = {{0, random_.one_of(loops_.unknown_opcodes())}};
            command_.code = WARPLOOM_ERROR_BAD_OPCODE;
            break;
        case NOP:
            command_.words = {{0, WARPLOOM_OPCODE_NOP | random_.word() << 8}};
            break;
        }
    }
    void choose_run() {
        Command& c = command_;
        uint32_t most = CORES_PER_UNIT;
        uint32_t parts = random_.chance(0.1) ? random_.below(256) : random_.between(0, most + 1);
        c.larger = random_.chance(0.1) ? random_.below(256) : random_.between(0, parts);
        c.small = random_.chance(0.2) ? 0 : random_.chance(0.5) ? random_.below(9) : random_.word();
        c.first = random_.word();
        c.skip = random_.below(2);
        c.parts = c.small ? parts : std::min(parts, c.larger);
        auto id = static_cast<uint32_t>(c.id);
        c.words = {{0, WARPLOOM_OPCODE_RUN | c.skip << 8 | (random_.word() & 0xFFFFFE00u)},
                   {1, c.first}, {2, parts | c.larger << 8 | random_.word() << 16}, {3, c.small},
                   {4, id}, {5, ~id}, {6, id * 2654435761u}, {7, id ^ 0x5A5A5A5Au}};
        if (!unit_) c.code = WARPLOOM_ERROR_NO_UNIT;
        else if (c.parts > most - c.skip) c.code = WARPLOOM_ERROR_BAD_SPLIT;
        if (c.code) c.parts = 0;
    }
    void choose_launch() {
        Launch one = launch_commands_.launch(command_);
        if (loops_.chooses(random_, launches_)) {
            for (auto [address, data] : loops_.turn(command_, random_))
                write(address, data, 15, OKAY);
            launches_.loops++;
        }
        if (!command_.code && !disconnected_) launches_.rung(command_.id, one);
    }
    // Let every stream go on.
    void release() {
        releases = false;
        Command& c = command_;
        c.kind = RESUME;
        c.mask = STREAMS < 32 ? (1u << STREAMS) - 1 : ~0u;
        c.words = {{0, WARPLOOM_OPCODE_RESUME}, {1, c.mask}};
        if (disconnected_) c.code = WARPLOOM_ERROR_DISCONNECTED;
        else launch_commands_.rung(c);
        begun_at_ = core_.now;
        send();
    }

    // ---- writing and ringing

    void send() {
        state_ = RINGING;
        const auto& all = command_.words;
        std::vector<std::pair<unsigned, uint32_t>> words(all.begin(), all.end());
        for (size_t k = words.size(); k > 1; k--)
            std::swap(words[k - 1], words[random_.below(static_cast<uint32_t>(k))]);
        for (auto [number, data] : words) {
            uint32_t address = at(WARPLOOM_SECTION_T0_OFFSET + 4 * number);
            unsigned strobes = random_.chance(0.7) ? 15 : random_.below(16);
            if (random_.chance(0.1)) write(address, random_.word(), random_.below(16), OKAY);
            if (strobes != 15) write(address, garbled(data, ~strobes & 15), ~strobes & 15, OKAY);
            write(address, garbled(data, strobes), strobes, OKAY);
        }
        uint32_t bell = at(WARPLOOM_SECTION_DOORBELL_OFFSET);
        switch (random_.below(12)) {
        case 0: write(bell, 0, 15, OKAY); break;
        case 1: write(bell, 1, 0, OKAY); break;
        case 2: write(bell, 2 + random_.below(1000), 15, SLVERR); break;
        case 3: write(bell, 1, random_.between(1, 14), SLVERR); break;
        case 4: write(at(WARPLOOM_SECTION_ERROR_OFFSET), 1, 15, SLVERR); break;
        case 5: write(at(0x100) + 4 * random_.below(64), 1, 15, SLVERR); break;
        default: break;
        }
        master_.write(bell, 1, [this](unsigned resp, uint32_t) {
            core_.demand(resp == OKAY, "a doorbell of a free section is refused");
            state_ = POLLING;
            rung_at_ = core_.now;
        });
        counts_["writes"]++;
    }
    // The bytes that a write leaves alone hold anything.
    uint32_t garbled(uint32_t data, unsigned strobes) {
        uint32_t mask = 0;
        for (unsigned byte = 0; byte < 4; byte++) mask |= (strobes >> byte & 1) * 0xFFu << 8 * byte;
        return (data & mask) | (random_.word() & ~mask);
    }
    void write(uint32_t address, uint32_t data, unsigned strobes, unsigned wanted) {
        counts_["writes"]++;
        refused += wanted == SLVERR;
        master_.write(address, data, [this, wanted](unsigned resp, uint32_t) {
            core_.demand(resp == wanted, wanted ? "a write is not refused" : "a write is refused");
        }, strobes);
    }

    // ---- waiting and reading

    void poll() {
        asked_ = true;
        auto before = std::make_shared<uint32_t>(0);
        uint32_t offset = random_.one_of(outcome());
        master_.read(at(offset), [before](unsigned, uint32_t data) { *before = data; });
        auto looked = [this, before, offset](unsigned, uint32_t data) {
            asked_ = false;
            if (!data) return read_outcome();
            // Cores write result words while their task runs.
            if (offset < 0x20) core_.demand(*before == 0, "an outcome of a command that runs");
            else own_result(*before);
        };
        master_.read(at(WARPLOOM_SECTION_DOORBELL_OFFSET), looked);
    }
    static const std::vector<uint32_t>& outcome() {
        static const std::vector<uint32_t> offsets = CommandLoops::with_results(
            {WARPLOOM_SECTION_STATUS_OFFSET, WARPLOOM_SECTION_ASSIGNED_OFFSET,
             WARPLOOM_SECTION_ERROR_OFFSET, WARPLOOM_SECTION_RESULT0_OFFSET,
             WARPLOOM_SECTION_RESULT1_OFFSET, 0x20, 0x24, 0x28, 0x2C, 0x30, 0x34, 0x38, 0x3C});
        return offsets;
    }
    void read_outcome() {
        state_ = READING;
        left_ = outcome().size();
        auto order = outcome();
        for (size_t k = order.size(); k > 1; k--)
            std::swap(order[k - 1], order[random_.below(static_cast<uint32_t>(k))]);
        for (uint32_t offset : order) {
            master_.read(at(offset), [this, offset](unsigned resp, uint32_t data) {
                core_.demand(resp == OKAY, "a read of an outcome is refused");
                found_[offset] = data;
                if (--left_) return;
                check();
                state_ = RESTING;
                wait_ = random_.chance(0.5) ? 0 : random_.below(150);
            });
        }
    }
    // Nothing may be written late into an outcome: two words are read again.
    void look_again() {
        state_ = LOOKING;
        left_ = 2;
        for (int k = 0; k < 2; k++) {
            uint32_t offset = random_.one_of(outcome());
            master_.read(at(offset), [this, offset](unsigned, uint32_t data) {
                core_.demand(data == found_[offset], "an outcome changed after its command");
                if (!--left_) mend();
            });
        }
    }
    // After some refusals of a disconnected section its unit is reset.
    void mend() {
        state_ = IDLE;
        wait_ = random_.below(20);
        if (!disconnected_ || random_.chance(0.5)) return;
        state_ = MENDING;
        master_.write(WARPLOOM_UNIT_RESET_ADDRESS, 1u << section_, [this](unsigned resp, uint32_t) {
            core_.demand(resp == OKAY, "a reset of a unit is refused");
            disconnected_ = timed_out_ = false;
            state_ = IDLE;
        });
    }

    // ---- checking

    // A core takes a part: it must be the next one of a task that this section asked for. A start
    // that stood at a time-out is taken late, when the section's next command is there.
    void part(unsigned core, uint32_t first, uint32_t count) {
        const Run& run = unit_->run;
        auto id = static_cast<uint32_t>(run.code);
        auto found = tasks_.find(id);
        core_.demand(found != tasks_.end(), "a part of a task that nobody asked for");
        Command& c = found->second;
        core_.demand(run.code == (uint64_t(~id) << 32 | id), "a part has another task's code");
        uint64_t arguments = uint64_t(id ^ 0x5A5A5A5Au) << 32 | id * 2654435761u;
        core_.demand(run.arguments == arguments, "a part has another task's arguments");
        uint32_t k = c.started++;
        core_.demand(k < c.parts, "a task has too many parts");
        uint32_t begin = c.first + k * c.small + std::min(k, c.larger);
        core_.demand(core == k + c.skip, "a part goes to another core");
        uint32_t size = c.small + (k < c.larger);
        core_.demand(first == begin && count == size, "a part is another one");
    }
    void check() {
        Command& c = command_;
        uint32_t error = found_[WARPLOOM_SECTION_ERROR_OFFSET];
        unsigned code = error & 0xFF;
        counts_["code " + std::to_string(code)]++;
        launches_.loops -= c.loops;
        bool misses = timed_out_ && code == WARPLOOM_ERROR_CORE_MISSING;
        if (c.kind == RUN && misses) return check_missing();
        if (c.kind == RUN && !c.code && c.parts) return check_run(code);
        uint32_t wanted = c.code | c.argument << 16;
        uint32_t ticket = 0, number = 0, finished = 0;
        // The mailbox looks for room before LaunchCheck looks at what the launch asks for.
        bool unchecked = c.kind == LAUNCH && !c.loops && c.code != WARPLOOM_ERROR_DISCONNECTED &&
                         !(c.code == WARPLOOM_ERROR_FIELD_RANGE &&
                           c.argument != WARPLOOM_LAUNCH_MODE_WORD);
        bool no_room = code == WARPLOOM_ERROR_QUEUE_FULL || code == WARPLOOM_ERROR_COMPLETION_FULL;
        if (unchecked && c.code && no_room) wanted = code;
        if (c.kind == LAUNCH && !c.code) {
            ticket = found_[WARPLOOM_SECTION_RESULT0_OFFSET];
            // A loop waits for room.
            bool full = no_room && !c.loops;
            // Whether it may be so is known with the last record.
            bool fails = code == WARPLOOM_ERROR_STREAM_BROKEN || code == WARPLOOM_ERROR_NO_SM;
            if (fails) launches_.refused(c.id, code);
            bool failed = c.loops && loops_.failed(code);
            if (full || fails || failed) wanted = error & 0xFF;
            counts_["LOOPs whose launch has failed"] += failed;
            counts_["LOOPs whose launch has finished"] += c.loops && !code;
            finished = c.loops && ticket && !failed;
            bool ahead = c.ahead && code == WARPLOOM_ERROR_WAIT_AHEAD;
            unsigned pair = error >> 16;
            if (ahead && pair >= WAIT_WORD && pair < WAIT_WORD + LAUNCH_WAITS) wanted = error;
            bool refused = full || fails || ahead;
            if (!ticket) launches_.gone(c.id);
            core_.demand(refused == !ticket, "a launch has neither a ticket nor a reason, or both");
            number = found_[WARPLOOM_SECTION_RESULT1_OFFSET] >> 16;
            if (ticket) accepted(ticket, number);
        }
        if (c.mask && !c.code) wanted = launch_commands_.answered(c, code);
        if (c.kind == ABORT && !c.code) {
            if (code == WARPLOOM_ERROR_TICKET_UNKNOWN) wanted = code;
            launches_.aborted(c.ticket, code == 0, c.found, counts_);
        }
        if (c.kind == DISCONNECT && !c.code) disconnected_ = true;
        core_.demand(error == wanted, "ERROR is " + std::to_string(error) + ", not " +
                                          std::to_string(wanted));
        for (uint32_t offset : outcome()) {
            if (offset == WARPLOOM_SECTION_ERROR_OFFSET) continue;
            uint32_t data = offset == WARPLOOM_SECTION_RESULT0_OFFSET             ? ticket
                            : offset == WARPLOOM_SECTION_RESULT1_OFFSET && ticket ? number << 16
                            : offset == FINISHED_OFFSET                           ? finished
                            : offset == ACCEPTED_OFFSET ? c.loops && ticket
                                                        : 0;
            core_.demand(found_[offset] == data, "a word of an outcome is another command's");
        }
    }
    void accepted(uint32_t ticket, uint32_t number) {
        launches_.accepted(command_.id, ticket, number);
        uint32_t priority = launches_.stream(ticket) % PRIORITIES;
        counts_[launches_of(priority, section_)]++;
    }
    // The unit misses a core since a task's time-out: the command did nothing.
    void check_missing() {
        tasks_.erase(static_cast<uint32_t>(command_.id));
        for (uint32_t offset : outcome()) {
            bool is_error = offset == WARPLOOM_SECTION_ERROR_OFFSET;
            uint32_t wanted = is_error ? WARPLOOM_ERROR_CORE_MISSING : 0;
            core_.demand(found_[offset] == wanted, "CORE_MISSING, and more");
        }
    }
    void check_run(unsigned code) {
        Command& c = tasks_.at(static_cast<uint32_t>(command_.id));
        const Run& run = unit_->run;
        uint32_t mask = ((1u << c.parts) - 1) << c.skip;
        uint32_t status = found_[WARPLOOM_SECTION_STATUS_OFFSET];
        uint32_t error = found_[WARPLOOM_SECTION_ERROR_OFFSET];
        task_ = (task_ + 1) % 256;
        core_.demand(found_[WARPLOOM_SECTION_RESULT1_OFFSET] == task_, "the task number is wrong");
        core_.demand(found_[WARPLOOM_SECTION_RESULT0_OFFSET] == 0, "a task has a ticket");
        if (code == WARPLOOM_ERROR_CORE_TIMEOUT) {
            unsigned missing = error >> 8 & 0xFF;
            core_.demand(core_.now - begun_at_ > CORE_TIMEOUT, "a time-out too early");
            bool late = (status >> missing & 1) || (status & ~run.good);
            core_.demand(!late, "a late core succeeded");
            for (unsigned k = 0; k < 8; k++) own_result(found_[0x20 + 4 * k]);
            timed_out_ = true;
            return;
        }
        timed_out_ = false;
        core_.demand(c.started == c.parts, "a task did not run whole");
        core_.demand(found_[WARPLOOM_SECTION_ASSIGNED_OFFSET] == mask, "ASSIGNED is wrong");
        core_.demand((run.good | run.failed) == mask, "the doorbell fell before the last arrival");
        core_.demand(status == run.good, "STATUS is wrong");
        uint32_t wanted = 0;
        if (run.some_failed)
            wanted = WARPLOOM_ERROR_CORE_FAILED | run.first_failed << 8 | run.failure << 16;
        core_.demand(error == wanted, "ERROR of a task is wrong");
        for (unsigned k = 0; k < 8; k++)
            core_.demand(found_[0x20 + 4 * k] == run.results[k], "a result word is wrong");
        counts_["tasks run"]++;
    }
    // A result word of a task that runs or timed out is 0 or its own.
    void own_result(uint32_t data) {
        bool own = data >> 8 == (static_cast<uint32_t>(command_.id) & 0xFFFFFF);
        core_.demand(!data || own, "a result word is another task's");
    }

    Core& core_;
    Random& random_;
    Master& master_;
    Launches& launches_;
    Counts& counts_;
    unsigned section_;
    Unit* unit_;
    LaunchCommands launch_commands_;
    CommandLoops loops_;
    State state_ = IDLE;
    Command command_;
    std::map<uint32_t, uint32_t> found_;
    size_t left_ = 0;
    uint32_t wait_ = 0;
    uint64_t begun_at_ = 0, rung_at_ = 0;
    // Tasks that were handed on; a part of any other task is wrong.
    std::map<uint32_t, Command> tasks_;
    unsigned task_ = 0;
    bool asked_ = false, disconnected_ = false, timed_out_ = false;

  public:
    // Accesses of this worker that must be refused.
    uint64_t refused = 0;
};

#endif
