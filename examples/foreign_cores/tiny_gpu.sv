// tiny-gpu's cores behind FrontEnd: SM n's port, BlockAtATime, and one `core` of the user's own
// checkout. The host launches over AXI4-Lite; docs/sm_side/which_adapter.md says what is where.
//
//   +program=FILE +image=FILE  program and data memory before the launch, in hexadecimal
//   +memory=FILE               where the data memory goes afterwards
//   +blocks=N                  blocks of the grid, of THREADS threads each
//   +abort=N                   abort the launch N cycles after its doorbell, then launch it again
module tiny_gpu_bench;
  import warploom_pkg::*;
  localparam THREADS = 4;  // of one core, and of one block
  localparam REPORT = $bits(block_report_t);
  localparam LIMIT = 100_000;

  logic clk = 0, rst = 1;
  always #5 clk = ~clk;
  int cycle = 0;
  always @(posedge clk) begin
    cycle <= cycle + 1;
    if (cycle == LIMIT) $fatal(1, "no record in %0d cycles", LIMIT);
  end

  // The bus: one access at a time.
  logic [15:0] address = 0;
  logic [31:0] data = 0, read_data, rdata;
  logic awvalid = 0, wvalid = 0, arvalid = 0;
  logic bvalid, rvalid, irq;
  logic [1:0] bresp, rresp;

  task automatic write(input logic [15:0] to, input logic [31:0] value);
    // The queues of a bus that waits for each answer are never full.
    @(negedge clk) address = to; data = value; awvalid = 1; wvalid = 1;
    @(negedge clk) awvalid = 0; wvalid = 0;
    while (!bvalid) @(negedge clk);
    if (bresp != 0) $fatal(1, "the core refused a write of %h", to);
  endtask

  task automatic read(input logic [15:0] from);
    @(negedge clk) address = from; arvalid = 1;
    @(negedge clk) arvalid = 0;
    while (!rvalid) @(negedge clk);
    if (rresp != 0) $fatal(1, "the core refused a read of %h", from);
    read_data = rdata;
  endtask

  // The memories: each request is answered in its own cycle, so a core's stores are always made.
  logic [15:0] program_memory [0:255];
  logic [7:0] memory [0:255];

  resident_block_t block;
  launch_words_t words;
  logic [SMS*REPORT-1:0] report;
  logic [SMS-1:0] offer, report_valid, report_ready;
  logic [(1<<STREAM_BITS)-1:0] kill;
  logic [SMS*THREADS-1:0] store_valid;
  logic [7:0] store_address [SMS*THREADS-1:0], store_data [SMS*THREADS-1:0];

  always @(posedge clk)
    for (int k = 0; k < SMS * THREADS; k++)
      if (store_valid[k]) memory[store_address[k]] <= store_data[k];

  genvar n, t;
  generate
    for (n = 0; n < SMS; n = n + 1) begin : sm
      logic core_reset, start, done, fetch;
      resident_block_t running;
      launch_words_t running_words;
      logic [7:0] pc;
      logic [THREADS-1:0] load, store;
      logic [7:0] load_address [THREADS-1:0], loaded [THREADS-1:0];
      logic [7:0] to [THREADS-1:0], value [THREADS-1:0];

      for (t = 0; t < THREADS; t = t + 1) begin : thread
        assign loaded[t] = memory[load_address[t]];
        assign store_valid[n*THREADS + t] = store[t];
        assign store_address[n*THREADS + t] = to[t];
        assign store_data[n*THREADS + t] = value[t];
      end

      warploom_block_at_a_time adapter (
        .clk(clk), .rst(rst),
        .offer(offer[n]), .block(block), .words(words), .kill(kill),
        .report__payload(report[n*REPORT +: REPORT]), .report__valid(report_valid[n]),
        .report__ready(report_ready[n]), .core_reset(core_reset), .start(start),
        .running(running), .running_words(running_words),
        .done(done), .fault(1'b0)  // this core cannot fail
      );
      core #(.THREADS_PER_BLOCK(THREADS)) foreign (
        .clk(clk), .reset(core_reset), .start(start), .done(done),
        .block_id(running.bx[7:0]),
        .thread_count(running_words.threads[$clog2(THREADS):0]),
        .program_mem_read_valid(fetch), .program_mem_read_address(pc),
        .program_mem_read_ready(fetch), .program_mem_read_data(program_memory[pc]),
        .data_mem_read_valid(load), .data_mem_read_address(load_address),
        .data_mem_read_ready(load), .data_mem_read_data(loaded),
        .data_mem_write_valid(store), .data_mem_write_address(to), .data_mem_write_data(value),
        .data_mem_write_ready(store)
      );
    end
  endgenerate

  warploom_front_end_packed front_end (
    .clk(clk), .rst(rst), .irq(irq), .s_axil_awaddr(address), .s_axil_awprot(3'd0),
    .s_axil_awvalid(awvalid), .s_axil_awready(), .s_axil_wdata(data), .s_axil_wstrb(4'hf),
    .s_axil_wvalid(wvalid), .s_axil_wready(), .s_axil_bresp(bresp), .s_axil_bvalid(bvalid),
    .s_axil_bready(1'b1), .s_axil_araddr(address), .s_axil_arprot(3'd0),
    .s_axil_arvalid(arvalid), .s_axil_arready(), .s_axil_rdata(rdata), .s_axil_rresp(rresp),
    .s_axil_rvalid(rvalid), .s_axil_rready(1'b1), .block(block), .words(words),
    .offer(offer), .kill(kill), .report(report), .report_valid(report_valid),
    .report_ready(report_ready),
    // Nothing reads packed indices, and no execution unit has work.
    .read('0), .read_valid('0), .read_ready(), .data(), .data_valid(), .cores_start(),
    .cores_start_valid(), .cores_start_ready('0), .cores_code(), .cores_arguments(),
    .cores_arrived('0), .cores_failed('0), .cores_failure('0), .cores_result('0),
    .cores_result_valid('0), .cores_result_ready(), .cores_barrier_open(), .cores_cancel()
  );

  // A command's words go into the task register of section 0; the answer is in ERROR.
  task automatic command(input logic [1023:0] command_words);
    for (int k = 0; k < 32; k++)
      write(SECTION_BASE + SECTION_T0 + 16'(4 * k), command_words[32*k +: 32]);
    write(SECTION_BASE + SECTION_DOORBELL, 1);
    do read(SECTION_BASE + SECTION_DOORBELL); while (read_data[0]);
    read(SECTION_BASE + SECTION_ERROR);
    if (read_data != 0) $fatal(1, "the core refused a command: %h", read_data);
  endtask

  // The oldest record; its launch ended so.
  task automatic record(input logic [31:0] ticket, input final_fate_e fate);
    while (!irq) @(negedge clk);
    read(ADDRESS_RECORD0);
    if (read_data != ticket) $fatal(1, "a record of ticket %0d", read_data);
    read(ADDRESS_RECORD1);
    if (read_data[10:8] != fate) $fatal(1, "fate %0d, code %0d", read_data[10:8], read_data[7:0]);
    read(ADDRESS_RECORD2);
    $display("ticket %0d: fate %0d, %0d cycles", ticket, fate, read_data);
    write(ADDRESS_RECORD_POP, 1);
  endtask

  string program_file, image, result;
  int blocks, wait_cycles;
  launch_command_t launch = '0;
  abort_command_t stop = '0;
  initial begin
    if (!$value$plusargs("program=%s", program_file) || !$value$plusargs("image=%s", image)
        || !$value$plusargs("memory=%s", result) || !$value$plusargs("blocks=%d", blocks))
      $fatal(1, "a plus argument is missing");
    $readmemh(program_file, program_memory);
    $readmemh(image, memory);
    repeat (4) @(negedge clk);
    rst = 0;
    write(ADDRESS_IRQ_ENABLE, 1);  // a record raises irq
    launch.opcode = OPCODE_LAUNCH;
    launch.gx = blocks; launch.gy = 1; launch.gz = 1;
    launch.dx = THREADS; launch.dy = 1; launch.dz = 1;
    command(launch);
    if ($value$plusargs("abort=%d", wait_cycles)) begin
      repeat (wait_cycles) @(negedge clk);
      stop.opcode = OPCODE_ABORT;
      stop.ticket = 1;
      command(stop);
      record(1, FINAL_FATE_ABORTED);
      $readmemh(image, memory);
      command(launch);
      record(2, FINAL_FATE_FINISHED);
    end else record(1, FINAL_FATE_FINISHED);
    $writememh(result, memory);
    $finish(0);
  end
endmodule
