// Aborts each launch whose number is a multiple of `every` (but 0): from the cycle after the offer
// of one of its blocks on, which docs/replay/replay.md says, in the order of these offers.
module launch_aborter (
    input clk,
    input rst,
    input [31:0] seed,
    // Whether a block is offered in this cycle, its position, and its launch: ticket, launch number,
    // grid.
    input offered,
    input [63:0] block_bx,
    input [63:0] block_by,
    input [63:0] block_bz,
    input [31:0] of,
    input [31:0] launch,
    input [63:0] gx,
    input [63:0] gy,
    input [63:0] gz,
    output valid,
    input ready,
    output [31:0] ticket
);
  reg [31:0] every;
  // A ring of tickets: far more launches than can wait.
  reg [31:0] ring[0:255];
  reg [7:0] first, next;

  assign valid = first != next;
  assign ticket = ring[first];

  wire [63:0] block = block_bx + gx * (block_by + gy * block_bz);
  wire [63:0] product = {32'd0, replay_hash::mix(replay_hash::mix(seed ^ launch))} * (gx * gy * gz);

  initial begin
    first = 0;
    next = 0;
    if (!$value$plusargs("kill_every=%d", every)) every = 0;
  end

  always @(posedge clk)
    if (!rst && every != 0) begin
      if (valid && ready) first <= first + 1;
      // One block is offered in a cycle at most.
      if (offered && launch != 0 && launch % every == 0 && block == product >> 32) begin
        ring[next] <= of;
        next <= next + 1;
      end
    end
endmodule
