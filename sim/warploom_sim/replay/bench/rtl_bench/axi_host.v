// A host on AXI4-Lite that launches what a file holds (section and words of the task register a
// line, hexadecimal), one launch after the other: docs/replay/replay.md has the sequence. Outputs
// are registers; B and R are always taken.
module axi_host #(
    // Words of the task register that it writes, from T0 on.
    parameter WORDS = 20,
    // Byte addresses: of section 0, between sections, within a section, of registers.
    parameter SECTION_BASE = 0,
    parameter SECTION_BYTES = 0,
    parameter TASK = 0,
    parameter DOORBELL = 0,
    parameter ERROR = 0,
    parameter RECORDS = 0,
    parameter RECORD_POP = 0,
    // Codes after which the doorbell is rung again.
    parameter QUEUE_FULL = 0,
    parameter COMPLETION_FULL = 0,
    // Cycles before it is rung again.
    parameter PAUSE = 64
) (
    input clk,
    input rst,
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
    // Every launch was accepted, or refused for good.
    output reg done,
    output reg [31:0] launches
);
  localparam FETCH = 0, WRITE = 1, RING = 2, RUNG = 3, POLL = 4, LOOK = 5, COUNT = 6, POP = 7;
  localparam WAIT = 8, DONE = 9, STUCK = 10;

  reg [3:0] state;
  reg [32767:0] name;
  reg [32*WORDS-1:0] line;
  reg [15:0] number;
  // Writes without a response, records to pop, cycles to wait.
  integer pending, records, left, next, word, found, file, fault;
  // The launch was refused because a queue is full.
  reg again;
  wire [15:0] section = SECTION_BASE + SECTION_BYTES * number;
  // The next write may stand in the next cycle.
  wire free = (!awvalid | awready) & (!wvalid | wready);
  wire refused = (bvalid & bresp != 0) | (rvalid & rresp != 0);

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

  initial begin
    state = FETCH;
    {awvalid, wvalid, arvalid, done, again} = 0;
    {awaddr, wdata, araddr, number, line} = 0;
    pending = 0;
    records = 0;
    left = 0;
    next = 0;
    word = 0;
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
        FETCH: begin
          found = next < launches ? $fscanf(file, "%h %h", number, line) : 0;
          next = next + 1;
          word = 0;
          state <= found == 2 ? WRITE : DONE;
        end
        WRITE:
          if (free) begin
            // Planted fault 1: the block's shape stays that of the launch before.
            if (fault != 1 || word != 8) write(section + TASK + 4 * word, line[32*word +: 32]);
            word = word + 1;
            if (word == WORDS) state <= RING;
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
            again = rdata[7:0] == QUEUE_FULL || rdata[7:0] == COMPLETION_FULL;
            // Planted fault 2: a launch that was refused is forgotten.
            if (fault == 2) again = 0;
            read(RECORDS);
            state <= COUNT;
          end
        COUNT:
          if (rvalid) begin
            records = rdata;
            state <= POP;
          end
        POP:
          if (free & records != 0) begin
            write(RECORD_POP, 1);
            records = records - 1;
          end else if (free & pending == 0) begin
            left = PAUSE;
            state <= again ? WAIT : FETCH;
          end
        WAIT: begin
          left = left - 1;
          if (left == 0) state <= RING;
        end
        DONE: done <= next > launches;
        default: ;
      endcase
      if (refused) begin
        $display("the core refused an access in state %0d of the host", state);
        state <= STUCK;
      end
    end
endmodule
