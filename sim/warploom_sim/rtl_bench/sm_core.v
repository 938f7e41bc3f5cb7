// Stand-in for the cores of one SM: takes every offer at once, holds the block for its length, then
// reports it; at most one report a cycle, the smallest due cycle first, then the lowest slot.
// It records what it takes and what it reports. docs/replay/replay.md defines it.
//
// Work is done on events alone: the earliest due block is kept in registers, and the slots are
// searched only when it leaves.
module sm_core #(
    parameter SM = 0,
    parameter SLOTS = 32,
    parameter SLOT_BITS = 5,
    parameter GRID_X = 31,
    parameter GRID_Y = 16,
    parameter GRID_Z = 16,
    parameter OFFER_BITS = 96,
    parameter OFFER_RECORD_BITS = 256,
    parameter REPORT_BITS = 10,
    parameter REPORT_RECORD_BITS = 128
) (
    input clk,
    input rst,
    input [63:0] cycle,
    input [31:0] seed,
    // File descriptors of the two event files.
    input [31:0] offers,
    input [31:0] reports,
    // Of each resident place's launch words: ticket, launch number, base length.
    input [31:0] ticket_0,
    input [31:0] ticket_1,
    input [31:0] launch_0,
    input [31:0] launch_1,
    input [31:0] base_0,
    input [31:0] base_1,
    input offer_valid,
    input [OFFER_BITS-1:0] offer,
    output reg report_valid,
    output reg [REPORT_BITS-1:0] report
);
  // Fields of the packet block_offer: place, slot, bx, by, bz, lowest bits first.
  wire place = offer[0];
  wire [SLOT_BITS-1:0] slot = offer[1 +: SLOT_BITS];
  wire [GRID_X-1:0] bx = offer[1 + SLOT_BITS +: GRID_X];
  wire [GRID_Y-1:0] by = offer[1 + SLOT_BITS + GRID_X +: GRID_Y];
  wire [GRID_Z-1:0] bz = offer[1 + SLOT_BITS + GRID_X + GRID_Y +: GRID_Z];
  wire [15:0] number = SM;

  reg [63:0] due [0:SLOTS-1];
  reg [SLOTS-1:0] busy;
  reg [63:0] first_due;
  reg [SLOT_BITS-1:0] first_slot;
  reg [OFFER_RECORD_BITS-1:0] offer_record;
  reg [REPORT_RECORD_BITS-1:0] report_record;
  reg [63:0] taken_due;
  integer k;

  function [31:0] mix(input [31:0] word);
    reg [31:0] x;
    begin
      x = word ^ (word >> 16);
      x = x * 32'h7feb352d;
      x = x ^ (x >> 15);
      x = x * 32'h846ca68b;
      mix = x ^ (x >> 16);
    end
  endfunction

  function [31:0] length(input [31:0] launch, input [31:0] base, input [31:0] x, input [31:0] y,
                         input [31:0] z);
    reg [31:0] hash, jitter, sum;
    begin
      hash = mix(mix(mix(mix(seed ^ launch) ^ x) ^ y) ^ z);
      jitter = (base >> 2) * (hash >> 24);
      sum = base - (base >> 3) + (jitter >> 8);
      length = sum < 4 ? 4 : sum;
    end
  endfunction

  initial begin
    busy = 0;
    report_valid = 0;
    report = 0;
    first_due = 0;
    first_slot = 0;
  end

  always @(posedge clk) begin
    report_valid <= 0;
    if (rst) begin
      busy = 0;
    end else begin
      if (offer_valid) begin
        offer_record = {offer, place ? ticket_1 : ticket_0, number, cycle};
        $fwrite(offers, "%u", offer_record);
        taken_due = cycle + length(place ? launch_1 : launch_0, place ? base_1 : base_0, bx, by, bz);
        if (busy == 0 || taken_due < first_due || (taken_due == first_due && slot < first_slot))
        begin
          first_due = taken_due;
          first_slot = slot;
        end
        due[slot] = taken_due;
        busy[slot] = 1;
      end
      // What is sent in the next cycle.
      if (busy != 0 && first_due <= cycle + 1) begin
        report_valid <= 1;
        report <= first_slot;
        report_record = {{{(REPORT_BITS - SLOT_BITS){1'b0}}, first_slot}, number,
                             cycle + 64'd1};
        $fwrite(reports, "%u", report_record);
        busy[first_slot] = 0;
        first_due = {64{1'b1}};
        for (k = 0; k < SLOTS; k = k + 1)
          if (busy[k] && due[k] < first_due) begin
            first_due = due[k];
            first_slot = k;
          end
      end
    end
  end
endmodule
