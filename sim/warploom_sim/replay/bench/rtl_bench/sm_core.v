// Stand-in for the cores of one SM: takes every offer at once, holds the block for its length, then
// reports it; at most one report a cycle, the smallest target first, then the lowest slot. A report
// that is not taken stays. While a stream is killed, its blocks are due `report_time` cycles (a plus
// argument, 0 if not given) after the kill. It records what it takes and what it reports.
// docs/replay/replay.md and contention.md define it; without contention the knee is above every
// number of warps, and all rates are ONE.
//
// It acts at the clock's falling edge, when the ports show the cycle's values: what it reports in a
// cycle depends on the offer and on `kill` of the same cycle. `report_ready` is a register's.
//
// Work is done on events alone: the block with the smallest target is kept in registers, and the
// slots are searched only when it leaves, or blocks are killed. Division is for the table of rates,
// and once for a block that is taken.
module sm_core #(
    parameter SM = 0,
    parameter SLOTS = 32,
    parameter SLOT_BITS = 5,
    parameter WARPS = 64,
    parameter WARPS_BITS = 7,
    parameter STREAM_BITS = 4,
    parameter BLOCK_BITS = 128,
    parameter OFFER_RECORD_BITS = 256,
    parameter REPORT_BITS = 10,
    parameter REPORT_RECORD_BITS = 128
) (
    input clk,
    input rst,
    input [63:0] cycle,
    input [31:0] seed,
    // Warps that an SM runs at full speed.
    input [31:0] knee,
    // File descriptors of the two event files.
    input [31:0] offers,
    input [31:0] reports,
    // Whether it is offered a block; the block, and fields of it.
    input offer,
    input [BLOCK_BITS-1:0] block,
    input [STREAM_BITS-1:0] stream,
    input [SLOT_BITS-1:0] slot,
    input [31:0] bx,
    input [31:0] by,
    input [31:0] bz,
    // Of the launch words: ticket, launch number, base length, recorded load, and a block's warps.
    input [31:0] ticket,
    input [31:0] launch,
    input [31:0] base,
    input [15:0] recorded,
    input [WARPS_BITS-1:0] warps_taken,
    input [(1<<STREAM_BITS)-1:0] kill,
    output reg report_valid,
    input report_ready,
    output reg [REPORT_BITS-1:0] report
);
  wire [15:0] number = SM;

  // What a report says.
  localparam [1:0] OK = 0, KILLED = 2;

  // Full speed.
  localparam [63:0] ONE = 65536;

  reg [63:0] target [0:SLOTS-1];
  reg [15:0] warps [0:SLOTS-1];
  // Of each slot: a block holds it, whether it was killed, and whether the time until its report
  // still runs; `left` is the rest of that. The block's stream.
  reg [SLOTS-1:0] busy, killed, ending;
  reg [STREAM_BITS-1:0] streams [0:SLOTS-1];
  reg [31:0] left [0:SLOTS-1];
  reg [31:0] report_time;
  // V, n and the rates by n of the rule.
  reg [63:0] progress;
  reg [15:0] load;
  reg [63:0] rates [0:WARPS];
  reg [63:0] first_target;
  reg [SLOT_BITS-1:0] first_slot;
  reg [OFFER_RECORD_BITS-1:0] offer_record;
  reg [REPORT_RECORD_BITS-1:0] report_record;
  reg [63:0] taken_target;
  integer k;

  function [31:0] length(input [31:0] launch, input [31:0] base, input [31:0] x, input [31:0] y,
                         input [31:0] z);
    reg [31:0] hash, jitter, sum;
    begin
      hash = replay_hash::mix(seed ^ launch);
      hash = replay_hash::mix(replay_hash::mix(replay_hash::mix(hash ^ x) ^ y) ^ z);
      jitter = (base >> 2) * (hash >> 24);
      sum = base - (base >> 3) + (jitter >> 8);
      length = sum < 4 ? 4 : sum;
    end
  endfunction

  function [63:0] rate_of(input [63:0] count);
    rate_of = count > knee ? ONE * knee / count : ONE;
  endfunction

  function [63:0] work(input [63:0] cycles, input [15:0] recorded);
    reg [63:0] product;
    begin
      product = cycles * rate_of(recorded);
      work = product < 4 * ONE ? 4 * ONE : product;
    end
  endfunction

  initial begin
    busy = 0;
    progress = 0;
    load = 0;
    killed = 0;
    ending = 0;
    if (!$value$plusargs("report_time=%d", report_time)) report_time = 0;
    report_valid = 0;
    report = 0;
    first_target = 0;
    first_slot = 0;
  end

  // Find the block with the smallest target, of several the lowest slot.
  task find_first;
    begin
      first_target = {64{1'b1}};
      for (k = 0; k < SLOTS; k = k + 1)
        if (busy[k] && !ending[k] && target[k] < first_target) begin
          first_target = target[k];
          first_slot = k;
        end
    end
  endtask

  always @(negedge clk) begin
    report_valid <= 0;
    if (rst) begin
      busy = 0;
      progress = 0;
      load = 0;
      // `knee` stands by now.
      for (k = 0; k <= WARPS; k = k + 1) rates[k] = rate_of(k);
    end else begin
      if (ending != 0) begin
        for (k = 0; k < SLOTS; k = k + 1)
          if (ending[k]) begin
            left[k] = left[k] - 1;
            if (left[k] == 0) begin
              ending[k] = 0;
              target[k] = progress;
            end
          end
        find_first;
      end
      if (offer) begin
        offer_record = {block, ticket, number, cycle};
        $fwrite(offers, "%u", offer_record);
        taken_target = progress + work(length(launch, base, bx, by, bz), recorded);
        if (busy == 0 || taken_target < first_target
            || (taken_target == first_target && slot < first_slot)) begin
          first_target = taken_target;
          first_slot = slot;
        end
        // A faulty dispatcher may offer a slot twice.
        if (busy[slot]) load = load - warps[slot];
        target[slot] = taken_target;
        warps[slot] = warps_taken;
        busy[slot] = 1;
        streams[slot] = stream;
        killed[slot] = 0;
        ending[slot] = 0;
      end
      if (kill != 0 && busy != 0) begin
        for (k = 0; k < SLOTS; k = k + 1)
          if (busy[k] && kill[streams[k]] && !ending[k] && target[k] > progress) begin
            killed[k] = 1;
            left[k] = report_time;
            if (report_time == 0) target[k] = progress;
            else ending[k] = 1;
          end
        find_first;
      end
      if (busy != 0 && first_target <= progress) begin
        report_valid <= 1;
        report <= {killed[first_slot] ? KILLED : OK, first_slot};
        if (report_ready) begin
          report_record = {killed[first_slot] ? KILLED : OK, first_slot, number, cycle};
          $fwrite(reports, "%u", report_record);
          busy[first_slot] = 0;
          // A block that was taken in this cycle does not count yet.
          if (!offer || first_slot != slot) load = load - warps[first_slot];
          find_first;
        end
      end
      // A faulty dispatcher may offer more warps than there are.
      progress = progress + (load > WARPS ? rate_of(load) : rates[load]);
      if (offer && busy[slot]) load = load + warps[slot];
    end
  end
endmodule
