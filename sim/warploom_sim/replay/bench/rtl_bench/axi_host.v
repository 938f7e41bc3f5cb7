// A host on AXI4-Lite that launches what a file holds, one launch after the other, and reads what
// the core tells it. All that it reads goes into an event file. docs/replay/replay.md has the
// sequence. Outputs are registers; B and R are always taken.
// A line, hexadecimal: number of holds; of each hold a stream and a count; section; the words of the
// task register.
module axi_host #(
    // Words of the task register, and those that it writes of every launch, from T0 on.
    parameter TASK_WORDS = 32,
    parameter WORDS = 20,
    // Words of pairs: the first one, how many, and the flag in T0 that says that the first counts.
    parameter FIRST_PAIR = 28,
    parameter PAIRS = 4,
    parameter FLAGS = 8,
    // Where a launch has its priority, and a record's word 1 its stream.
    parameter PRIORITY = 184,
    parameter PRIORITY_BITS = 4,
    parameter STREAM = 18,
    parameter STREAM_BITS = 6,
    parameter STREAMS = 16,
    // Byte addresses: of section 0, between sections, within a section, of registers.
    parameter SECTION_BASE = 0,
    parameter SECTION_BYTES = 0,
    parameter TASK = 0,
    parameter DOORBELL = 0,
    parameter ERROR = 0,
    parameter RESULT = 0,
    parameter RESULT_COUNT = 0,
    parameter ID = 0,
    parameter IRQ_ENABLE = 0,
    parameter IRQ_STATUS = 0,
    parameter IRQ_THRESHOLD = 0,
    parameter RECORDS = 0,
    parameter RECORD_POP = 0,
    parameter RECORD = 0,
    parameter REFUSED = 0,
    parameter ROOM = 0,
    // Codes after which the doorbell is rung again.
    parameter QUEUE_FULL = 0,
    parameter COMPLETION_FULL = 0,
    // Records that raise the interrupt while launches are sent; then one does.
    parameter THRESHOLD = 3,
    // Cycles before it looks again, and before `irq` shows what was popped.
    parameter PAUSE = 64,
    parameter SETTLE = 8,
    // Kinds of what it reads.
    parameter ANSWER = 0,
    parameter POPPED = 0,
    parameter LOOKED = 0,
    parameter TRESPASS = 0,
    parameter ASKED = 0
) (
    input clk,
    input rst,
    input [63:0] cycle,
    // File descriptor of the event file.
    input [31:0] heard,
    input irq,
    output reg awvalid,
    input awready,
    output reg [15:0] awaddr,
    output reg wvalid,
    input wready,
    output reg [31:0] wdata,
    input bvalid,
    input [1:0] bresp,
    output reg arvalid,
    input arready,
    output reg [15:0] araddr,
    input rvalid,
    input [31:0] rdata,
    input [1:0] rresp,
    // Every launch was accepted, or refused for good, and every record was popped.
    output reg done,
    output reg [31:0] launches,
    // Records of the event file.
    output reg [63:0] count
);
  localparam ENABLE = 0, FETCH = 1, WRITE = 2, RING = 3, RUNG = 4, POLL = 5, LOOK = 6, TICKET = 7;
  localparam SETTLED = 8, COUNT = 9, STATUS = 10, READ = 11, POP = 12, WAIT = 13, IRQ = 14;
  localparam BEFORE = 15, STRAY = 16, AFTER = 17, DONE = 18, STUCK = 19, HOLD = 20, NUMBER = 21;
  localparam ASK = 22;

  reg [4:0] state;
  reg [32767:0] name;
  reg [32*TASK_WORDS-1:0] line;
  reg [15:0] number;
  // Writes without a response, records to pop, cycles to wait.
  integer pending, records, left, next, word, found, file, fault, holds, k;
  // Records that will come, and that were popped.
  integer accepted, popped;
  // Records that were popped, by their stream; the launch's holds.
  reg [31:0] taken[0:STREAMS-1];
  reg [31:0] hold_stream[0:63];
  reg [31:0] hold_count[0:63];
  // The launch was refused because a queue is full; it is held; all launches were sent.
  reg again, held, sent;
  // What was read: words, the interrupt when RECORDS was asked for, the threshold.
  reg [31:0] read_0, read_1, read_2, read_3, read_4, read_5, read_6, threshold;
  reg irq_before;
  wire [PRIORITY_BITS-1:0] priority_bits = line[PRIORITY +: PRIORITY_BITS];
  wire [15:0] section = SECTION_BASE + SECTION_BYTES * number;
  // The next write may stand in the next cycle.
  wire free = (!awvalid | awready) & (!wvalid | wready);
  // The access outside the map is to be refused; no other.
  wire refused = (bvalid & bresp != 0 & state != STRAY) | (rvalid & rresp != 0);

  task write(input [15:0] address, input [31:0] value);
    begin
      awaddr <= address;
      awvalid <= 1;
      wdata <= value;
      wvalid <= 1;
      pending = pending + 1;
    end
  endtask

  task read(input [15:0] address);
    begin
      araddr <= address;
      arvalid <= 1;
    end
  endtask

  task hear(input [15:0] kind, input [31:0] w0, input [31:0] w1, input [31:0] w2,
            input [31:0] w3, input [31:0] w4, input [31:0] w5, input [31:0] w6, input [31:0] w7);
    begin
      $fwrite(heard, "%u", {48'd0, w7, w6, w5, w4, w3, w2, w1, w0, kind, cycle});
      count = count + 1;
    end
  endtask

  initial begin
    state = ENABLE;
    {awvalid, wvalid, arvalid, done, again, held, sent, irq_before} = 0;
    {awaddr, wdata, araddr, number, line} = 0;
    {read_0, read_1, read_2, read_3, read_4, read_5, read_6} = 0;
    threshold = THRESHOLD;
    pending = 0;
    records = 0;
    left = 0;
    next = 0;
    word = 0;
    accepted = 0;
    popped = 0;
    holds = 0;
    count = 0;
    for (k = 0; k < STREAMS; k = k + 1) taken[k] = 0;
    if (!$value$plusargs("host_fault=%d", fault)) fault = 0;
    if (!$value$plusargs("launches=%d", launches)) launches = 0;
    file = 0;
    if ($value$plusargs("launch_file=%s", name)) file = $fopen(name, "r");
  end

  always @(posedge clk)
    if (!rst) begin
      if (awready) awvalid <= 0;
      if (wready) wvalid <= 0;
      if (arready) arvalid <= 0;
      if (bvalid) pending = pending - 1;
      case (state)
        ENABLE:
          if (free) begin
            write(word == 0 ? IRQ_THRESHOLD : IRQ_ENABLE, word == 0 ? threshold : 1);
            word = word + 1;
            if (word == 2) state <= sent ? SETTLED : FETCH;
            left = SETTLE;
          end
        FETCH: begin
          found = next < launches ? $fscanf(file, "%h", holds) : 0;
          if (found == 1) begin
            for (k = 0; k < holds; k = k + 1)
              found = $fscanf(file, "%h %h", hold_stream[k], hold_count[k]);
            found = $fscanf(file, "%h %h", number, line);
          end
          next = next + 1;
          word = 0;
          sent = found != 2;
          threshold = sent ? 1 : THRESHOLD;
          state <= sent ? ENABLE : HOLD;
        end
        // The records of all that the launch is held for were popped, or there may be new ones.
        HOLD: begin
          held = 0;
          for (k = 0; k < holds; k = k + 1)
            if (taken[hold_stream[k]] < hold_count[k]) held = 1;
          word = 0;
          left = 1;
          state <= held ? SETTLED : WRITE;
        end
        WRITE:
          if (free) begin
            // Planted fault 1: the block's shape stays that of the launch before.
            if ((fault != 1 || word != 8) && (word < WORDS || line[FLAGS+word-FIRST_PAIR]))
              write(section + TASK + 4 * word, line[32*word +: 32]);
            word = word + 1;
            if (word == WORDS) word = FIRST_PAIR;
            if (word == FIRST_PAIR + PAIRS) state <= RING;
          end
        RING:
          if (free) begin
            write(section + DOORBELL, 1);
            state <= RUNG;
          end
        RUNG:
          if (free & pending == 0) begin
            read(section + DOORBELL);
            state <= POLL;
          end
        POLL:
          if (rvalid) begin
            read(section + (rdata == 0 ? ERROR : DOORBELL));
            if (rdata == 0) state <= LOOK;
          end
        LOOK:
          if (rvalid) begin
            read_0 = rdata;
            again = rdata[7:0] == QUEUE_FULL || rdata[7:0] == COMPLETION_FULL;
            // Planted fault 2: a launch that was refused is forgotten.
            if (fault == 2) again = 0;
            read(section + RESULT);
            state <= TICKET;
          end
        TICKET:
          if (rvalid) begin
            read_1 = rdata;
            read(section + RESULT_COUNT);
            state <= NUMBER;
          end
        NUMBER:
          if (rvalid) begin
            hear(ANSWER, read_0, read_1, rdata, 0, 0, 0, 0, 0);
            if (read_0[7:0] == 0) accepted = accepted + 1;
            left = 1;
            state <= SETTLED;
          end
        // `irq` shows what was popped before; RECORDS may be asked for.
        SETTLED:
          if (free & pending == 0) begin
            left = left - 1;
            if (left <= 0) begin
              irq_before = irq;
              read(RECORDS);
              state <= COUNT;
            end
          end
        COUNT:
          if (rvalid) begin
            read_0 = rdata;
            records = rdata;
            read(IRQ_STATUS);
            state <= STATUS;
          end
        STATUS:
          if (rvalid) begin
            hear(LOOKED, read_0, rdata, threshold, irq_before, irq, 0, 0, 0);
            word = 0;
            if (records != 0) begin
              read(RECORD);
              state <= READ;
            end else begin
              left = PAUSE;
              state <= again | held ? WAIT : !sent ? FETCH : IRQ;
            end
          end
        READ:
          if (rvalid) begin
            case (word)
              0: read_0 = rdata;
              1: read_1 = rdata;
              2: read_2 = rdata;
              3: read_3 = rdata;
              4: read_4 = rdata;
              5: read_5 = rdata;
              6: read_6 = rdata;
              default: begin
                hear(POPPED, read_0, read_1, read_2, read_3, read_4, read_5, read_6, rdata);
                k = read_1[STREAM +: STREAM_BITS];
                taken[k] = taken[k] + 1;
                write(RECORD_POP, 1);
                popped = popped + 1;
                records = records - 1;
                state <= POP;
              end
            endcase
            word = word + 1;
            if (word != 8) read(RECORD + 4 * word);
          end
        POP:
          if (free & pending == 0) begin
            word = 0;
            left = PAUSE;
            if (records != 0) begin
              read(RECORD);
              state <= READ;
            end else state <= again | held ? WAIT : !sent ? FETCH : IRQ;
          end
        WAIT: begin
          left = left - 1;
          if (left == 0) begin
            if (again) read(ROOM);
            state <= again ? ASK : HOLD;
          end
        end
        // The launch's priority has room, or there may be new records.
        ASK:
          if (rvalid) begin
            hear(ASKED, rdata, priority_bits, 0, 0, 0, 0, 0, 0);
            left = 1;
            state <= rdata[priority_bits] ? RING : SETTLED;
          end
        // All launches were sent: the interrupt tells of the records that are left.
        IRQ: begin
          left = SETTLE;
          if (popped == accepted) begin
            read(REFUSED);
            state <= BEFORE;
          end else if (irq) state <= SETTLED;
        end
        BEFORE:
          if (rvalid) begin
            read_0 = rdata;
            write(ID, 0);
            state <= STRAY;
          end
        STRAY:
          if (bvalid) begin
            read_1 = bresp;
            read(REFUSED);
            state <= AFTER;
          end
        AFTER:
          if (rvalid) begin
            hear(TRESPASS, read_0, read_1, rdata, irq, 0, 0, 0, 0);
            state <= DONE;
          end
        DONE: done <= 1;
        default: ;
      endcase
      if (refused) begin
        $display("the core refused an access in state %0d of the host", state);
        state <= STUCK;
      end
    end
endmodule
