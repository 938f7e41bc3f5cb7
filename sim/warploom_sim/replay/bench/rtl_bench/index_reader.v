// Reads the packed indices of a seeded share of the blocks of one SM, every warp of such a block,
// and records what comes. docs/replay/replay.md says which blocks, and what is compared.
//
// A block that has been reported is read no more: its region may get other indices. So reads never
// delay a report. What comes after the report is not recorded, and a block that stood longer than
// PATIENCE cycles without all its warps is recorded as one that lacks a warp.
module index_reader #(
    parameter SM = 0,
    parameter SLOT_BITS = 5,
    parameter WARPS_BITS = 7,
    parameter ADDRESS_BITS = 8,
    parameter DATA_BITS = 544,
    parameter RECORD_BITS = 704,
    // Cycles in which a block's warps are read, whatever other SMs read.
    parameter PATIENCE = 1024,
    // What is wrong: a block lacks a warp; data came that was not asked for.
    parameter LACKS = 1,
    parameter UNASKED = 2
) (
    input clk,
    input rst,
    input [63:0] cycle,
    input [31:0] seed,
    // One block in so many is read; 0: none.
    input [31:0] share,
    // File descriptor of the event file.
    input [31:0] file,
    // Of the offered block's launch: ticket and number.
    input [31:0] ticket,
    input [31:0] launch,
    input offer_valid,
    input [SLOT_BITS-1:0] slot,
    input [31:0] bx,
    input [31:0] by,
    input [31:0] bz,
    input [ADDRESS_BITS-1:0] index_address,
    input [WARPS_BITS-1:0] index_warps,
    input report_valid,
    input [SLOT_BITS-1:0] report_slot,
    // The stream of requests, fields of the packet index_read.
    output reg valid,
    input ready,
    output reg [ADDRESS_BITS-1:0] address,
    output reg [WARPS_BITS-1:0] warp,
    output reg [WARPS_BITS-1:0] warps,
    // The answers, in order of the requests; taken at once.
    input data_valid,
    input [DATA_BITS-1:0] data,
    // Records written.
    output reg [63:0] count
);
  // Blocks to read at once, and requests without an answer.
  localparam BLOCKS = 2, FLYING = 8;

  // Of each block: next warp to ask for, warps that came, and the cycle of its offer. A block that
  // is not `held` leaves its place free; `dead` blocks wait for nothing but their last answers.
  reg [BLOCKS-1:0] held, dead;
  reg [31:0] tickets [0:BLOCKS-1];
  reg [SLOT_BITS-1:0] slots [0:BLOCKS-1];
  reg [ADDRESS_BITS-1:0] addresses [0:BLOCKS-1];
  reg [WARPS_BITS-1:0] sizes [0:BLOCKS-1], asked [0:BLOCKS-1], came [0:BLOCKS-1];
  reg [63:0] since [0:BLOCKS-1];
  // Requests without an answer, the oldest first: block and warp.
  reg flying_block [0:FLYING-1];
  reg [WARPS_BITS-1:0] flying_warp [0:FLYING-1];
  // The block of the request that stands.
  reg asking;
  integer flying, k;
  reg [15:0] number;
  reg found;

  function [31:0] hash(input [31:0] x, input [31:0] y, input [31:0] z);
    hash = replay_hash::mix(replay_hash::mix(replay_hash::mix(
        replay_hash::mix(seed ^ launch) ^ x) ^ y) ^ z);
  endfunction

  task write(input integer block, input [15:0] wrong, input [WARPS_BITS-1:0] which,
             input [DATA_BITS-1:0] what);
    reg [RECORD_BITS-1:0] record;
    reg [15:0] warp_number;
    begin
      warp_number = which;
      record = {what, wrong, warp_number, tickets[block], number, cycle};
      $fwrite(file, "%u", record);
      count = count + 1;
    end
  endtask

  initial begin
    {valid, held, dead, asking, address, warp, warps} = 0;
    flying = 0;
    count = 0;
    number = SM;
  end

  always @(posedge clk)
    if (!rst) begin
      // The answers of this cycle count before its report.
      if (data_valid && flying == 0) write(0, UNASKED, 0, data);
      else if (data_valid) begin
        k = flying_block[0];
        if (!dead[k]) write(k, 0, flying_warp[0], data);
        came[k] = came[k] + 1;
        flying = flying - 1;
        for (k = 0; k < FLYING - 1; k = k + 1) begin
          flying_block[k] = flying_block[k+1];
          flying_warp[k] = flying_warp[k+1];
        end
      end
      if (valid && ready) begin
        flying_block[flying] = asking;
        flying_warp[flying] = warp;
        flying = flying + 1;
      end
      for (k = 0; k < BLOCKS; k = k + 1) begin
        if (held[k] && !dead[k] && report_valid && report_slot == slots[k]) begin
          if (cycle - since[k] > PATIENCE && came[k] != sizes[k]) write(k, LACKS, came[k], 0);
          dead[k] = 1;
        end
        // Nothing is on its way for a place that gets free.
        if (held[k] && came[k] == asked[k] && (dead[k] || asked[k] == sizes[k])
            && !(valid && !ready && asking == k)) held[k] = 0;
      end
      if (offer_valid && share != 0 && index_warps != 0 && hash(bx, by, bz) % share == 0) begin
        found = 0;
        for (k = 0; k < BLOCKS; k = k + 1)
          if (!held[k] && !found) begin
            found = 1;
            held[k] = 1;
            dead[k] = 0;
            tickets[k] = ticket;
            slots[k] = slot;
            addresses[k] = index_address;
            sizes[k] = index_warps;
            asked[k] = 0;
            came[k] = 0;
            since[k] = cycle;
          end
      end
      if (!valid || ready) begin
        valid <= 0;
        found = 0;
        for (k = 0; k < BLOCKS; k = k + 1)
          if (held[k] && !dead[k] && asked[k] != sizes[k] && flying < FLYING && !found) begin
            found = 1;
            valid <= 1;
            asking <= k;
            address <= addresses[k];
            warp <= asked[k];
            warps <= sizes[k];
            asked[k] = asked[k] + 1;
          end
      end
    end
endmodule
