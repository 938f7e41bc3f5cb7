// Stops each launch whose number is a multiple of `every` (but 0) by a kill. The stop is valid in
// the cycle after the launch's k-th offer was taken; of two the older launch's comes first.
// docs/replay/replay.md defines k.
module launch_killer (
    input clk,
    input rst,
    input [31:0] seed,
    // Offers that are taken in this cycle, of each place.
    input [15:0] taken_0,
    input [15:0] taken_1,
    // Of each place's launch words: ticket, launch number, blocks.
    input [31:0] ticket_0,
    input [31:0] ticket_1,
    input [31:0] launch_0,
    input [31:0] launch_1,
    input [63:0] blocks_0,
    input [63:0] blocks_1,
    output valid,
    input ready,
    // LaunchPath's stop: ticket, and 0 for a kill.
    output [32:0] stop
);
  reg [31:0] every;
  reg [31:0] seen_0, seen_1;
  reg [63:0] count_0, count_1;
  reg [1:0] waits;
  // A stop that was refused stands.
  reg refused, stood;
  wire second = refused ? stood : waits == 2'b11 ? seen_1 < seen_0 : waits[1];

  assign valid = waits != 0;
  assign stop = {1'b0, second ? seen_1 : seen_0};

  function automatic [63:0] last(input [31:0] launch, input [63:0] blocks);
    reg [63:0] product;
    begin
      product = {32'd0, replay_hash::mix(replay_hash::mix(seed ^ launch))} * blocks;
      last = 1 + (product >> 32);
    end
  endfunction

  function automatic killed(input [31:0] launch, input [63:0] blocks, input [63:0] count,
                            input [15:0] taken);
    // Whether the k-th offer is among those that are taken now.
    killed = every != 0 && launch != 0 && launch % every == 0
             && count < last(launch, blocks) && count + taken >= last(launch, blocks);
  endfunction

  initial begin
    seen_0 = 0;
    seen_1 = 0;
    count_0 = 0;
    count_1 = 0;
    waits = 0;
    refused = 0;
    stood = 0;
    if (!$value$plusargs("kill_every=%d", every)) every = 0;
  end

  always @(posedge clk)
    if (!rst && every != 0) begin
      refused <= valid && !ready;
      stood <= second;
      if (valid && ready) waits[second] <= 0;
      if (taken_0 != 0) begin
        seen_0 <= ticket_0;
        count_0 <= (ticket_0 == seen_0 ? count_0 : 0) + taken_0;
        if (killed(launch_0, blocks_0, ticket_0 == seen_0 ? count_0 : 0, taken_0)) waits[0] <= 1;
      end
      if (taken_1 != 0) begin
        seen_1 <= ticket_1;
        count_1 <= (ticket_1 == seen_1 ? count_1 : 0) + taken_1;
        if (killed(launch_1, blocks_1, ticket_1 == seen_1 ? count_1 : 0, taken_1)) waits[1] <= 1;
      end
    end
endmodule
