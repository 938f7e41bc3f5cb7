// The host of docs/preemption/preemption.md: it keeps the low priority filled, and sends urgent
// launches one at a time, each a distance after the pop of the record of the one before. A record
// is popped in the cycle after its last word: the bench's `pop` is always 1. The host sees the ports
// of the hardware alone.
//
// Launches are read from two files one by one, a line each; at its end a file begins again. Each
// urgent launch takes a distance from a third one. A line of low launches, hexadecimal: the launch
// with the pairs of the first repetition; number of holds; of each hold a stream and a count. In a
// later repetition the launches of the stream in those before it are added to each count. A low
// launch is held until so many records of each of these streams were popped.
module preempt_host #(
    parameter BITS = 512,
    // Where a launch has its stream, and its pairs: valid, stream and count of one after the other.
    parameter STREAM = 0,
    parameter STREAM_BITS = 4,
    parameter PAIRS = 2,
    parameter FIRST_PAIR = 0,
    parameter PAIR_BITS = 21,
    parameter COUNT_BITS = 16,
    // Launches that were sent and whose records were not popped: log2 of more than there can be.
    parameter OPEN_BITS = 9
) (
    input clk,
    input rst,
    input [63:0] cycle,
    // Of each side's priority: a launch that is sent in this cycle finds room.
    input low_room,
    input urgent_room,
    input records_left,
    // A word of a record.
    input word_valid,
    input word_last,
    input [2:0] word_word,
    input [31:0] word_data,
    input ready,
    output valid,
    // The launch that is sent is an urgent one.
    output urgent,
    output [BITS-1:0] payload,
    // A record is popped, and its ticket.
    output reg pop,
    output reg [31:0] ticket,
    // All urgent launches have ended, and all other launches that were sent.
    output done
);
  localparam [63:0] NEVER = {64{1'b1}};
  localparam STREAMS = 1 << STREAM_BITS;

  reg [BITS-1:0] low_launch, urgent_launch;
  integer low_file, urgent_file, distances, found, holds, k, pair;
  // Of low launches, by stream: how many were sent in the repetitions before this one, were sent,
  // and had their records popped.
  reg [31:0] past[0:STREAMS-1];
  reg [31:0] sent_in[0:STREAMS-1];
  reg [31:0] popped_in[0:STREAMS-1];
  // Their tickets, in a ring for each stream, by their numbers in it. Their records come in order.
  reg [31:0] tickets[0:(STREAMS << OPEN_BITS)-1];
  // What the next low launch is held for.
  reg [31:0] hold_stream[0:63];
  reg [31:0] hold_count[0:63];
  reg held, still;
  reg [STREAM_BITS-1:0] stream;
  reg [31:0] count, ended, sent, records, awaited;
  reg [63:0] arrives, distance;

  wire urgent_ends = pop && ticket == awaited;
  wire due = arrives <= cycle;
  wire over = ended + urgent_ends == count;
  assign urgent = due;
  assign valid = !rst && records_left && (due ? urgent_room : low_room && !over && !held);
  assign payload = due ? urgent_launch : low_launch;
  assign done = ended == count && records == sent;

  task next_low;
    begin
      found = $fscanf(low_file, "%h %h", low_launch, holds);
      if (found != 2) begin
        found = $rewind(low_file);
        found = $fscanf(low_file, "%h %h", low_launch, holds);
        for (k = 0; k < STREAMS; k = k + 1) past[k] = sent_in[k];
      end
      for (k = 0; k < holds; k = k + 1) begin
        found = $fscanf(low_file, "%h %h", hold_stream[k], hold_count[k]);
        hold_count[k] = hold_count[k] + past[hold_stream[k][STREAM_BITS-1:0]];
      end
      for (k = 0; k < PAIRS; k = k + 1) begin
        pair = FIRST_PAIR + k * PAIR_BITS;
        stream = low_launch[pair+1+:STREAM_BITS];
        if (low_launch[pair])
          low_launch[pair+1+STREAM_BITS+:COUNT_BITS] =
              low_launch[pair+1+STREAM_BITS+:COUNT_BITS] + past[stream][COUNT_BITS-1:0];
      end
    end
  endtask

  // Is a record missing that the next low launch is held for?
  task look;
    begin
      still = 0;
      for (k = 0; k < holds; k = k + 1)
        if (popped_in[hold_stream[k][STREAM_BITS-1:0]] < hold_count[k]) still = 1;
      held <= still;
    end
  endtask

  task next_urgent;
    begin
      found = $fscanf(urgent_file, "%h", urgent_launch);
      if (found != 1) begin
        found = $rewind(urgent_file);
        found = $fscanf(urgent_file, "%h", urgent_launch);
      end
    end
  endtask

  initial begin
    {ended, sent, records, awaited, pop, ticket, held} = 0;
    for (k = 0; k < STREAMS; k = k + 1) {past[k], sent_in[k], popped_in[k]} = 0;
    if (!$value$plusargs("arrivals=%d", count)) count = 0;
    low_file = $fopen("low.hex", "r");
    urgent_file = $fopen("urgent.hex", "r");
    distances = $fopen("distances.txt", "r");
    next_low;
    next_urgent;
    found = $fscanf(distances, "%d", distance);
    arrives = 1 + distance;
  end

  always @(posedge clk)
    if (!rst) begin
      pop <= word_valid && word_last;
      if (word_valid && word_word == 0) ticket <= word_data;
      records <= records + pop;
      for (k = 0; k < STREAMS; k = k + 1)
        if (pop && popped_in[k] != sent_in[k]
            && tickets[{k[STREAM_BITS-1:0], popped_in[k][OPEN_BITS-1:0]}] == ticket)
          popped_in[k] = popped_in[k] + 1;
      if (urgent_ends) begin
        ended <= ended + 1;
        awaited <= 0;
        // After the last one there is no distance any more.
        found = $fscanf(distances, "%d", distance);
        arrives <= found == 1 ? cycle + 1 + distance : NEVER;
      end
      if (valid && ready) begin
        sent <= sent + 1;
        if (urgent) begin
          awaited <= sent + 1;
          arrives <= NEVER;
          next_urgent;
        end else begin
          stream = low_launch[STREAM+:STREAM_BITS];
          tickets[{stream, sent_in[stream][OPEN_BITS-1:0]}] = sent + 1;
          sent_in[stream] = sent_in[stream] + 1;
          next_low;
        end
      end
      look;
    end
endmodule
