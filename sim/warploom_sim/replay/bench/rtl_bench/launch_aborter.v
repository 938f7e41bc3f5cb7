// Aborts each launch whose number is a multiple of `every` (but 0): from the cycle after the offer
// of one of its blocks on, which docs/replay/replay.md says, in the order of these offers.
module launch_aborter (
    input clk,
    input rst,
    input [31:0] seed,
    // Whether a block of each place is offered in this cycle, and its number in the grid.
    input taken_0,
    input taken_1,
    input [63:0] block_0,
    input [63:0] block_1,
    // Of each place's launch words: ticket, launch number, blocks.
    input [31:0] ticket_0,
    input [31:0] ticket_1,
    input [31:0] launch_0,
    input [31:0] launch_1,
    input [63:0] blocks_0,
    input [63:0] blocks_1,
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

  function automatic [63:0] last(input [31:0] launch, input [63:0] blocks);
    reg [63:0] product;
    begin
      product = {32'd0, replay_hash::mix(replay_hash::mix(seed ^ launch))} * blocks;
      last = product >> 32;
    end
  endfunction

  function automatic aborted(input [31:0] launch, input [63:0] blocks, input [63:0] block);
    aborted = every != 0 && launch != 0 && launch % every == 0 && block == last(launch, blocks);
  endfunction

  initial begin
    first = 0;
    next = 0;
    if (!$value$plusargs("kill_every=%d", every)) every = 0;
  end

  always @(posedge clk)
    if (!rst && every != 0) begin
      if (valid && ready) first <= first + 1;
      // One block is offered in a cycle at most.
      if (taken_0 && aborted(launch_0, blocks_0, block_0)) begin
        ring[next] <= ticket_0;
        next <= next + 1;
      end else if (taken_1 && aborted(launch_1, blocks_1, block_1)) begin
        ring[next] <= ticket_1;
        next <= next + 1;
      end
    end
endmodule
