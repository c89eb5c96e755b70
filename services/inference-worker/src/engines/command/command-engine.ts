import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Writable } from "node:stream";
import { raceAbort } from "@reprise/async";
import { type Capability, type InputEntry, type InputRecord, REQUEST_SEQ, textsOf } from "@reprise/protocol";
import { spawnSupervised, type SupervisedProcess } from "@reprise/runtime";
import type { Engine, EngineEvent, EngineRequest, GenerateOptions, TextEvent } from "../engine.ts";
import { EngineError } from "../engine-error.ts";
import { Feed } from "../feed.ts";

export interface CommandEngineOptions {
  /** The program and its arguments. No shell reads them. */
  readonly command: readonly [string, ...string[]];
  /** All of the program's environment. */
  readonly environment: Readonly<Record<string, string>>;
  /** Address space of each of the program's processes. Absent: not limited. */
  readonly maxMemoryMb?: number | undefined;
  /** More output is cut off, with the finish reason `length`. */
  readonly maxOutputBytes: number;
  readonly capabilities: ReadonlySet<Capability>;
}

const STOP_GRACE_S = 2;
/** Programs don't count tokens: so much output is taken for one. */
const BYTES_PER_TOKEN = 4;
/** Statuses by which a shell, and so the supervisor, says that a program can't be run. */
const CANT_RUN: ReadonlySet<number> = new Set([126, 127]);
const FIRST_SIGNAL_STATUS = 128;
const LAST_SIGNAL = 64;

/** Runs an operator's program for each generation: input is its stdin, output its stdout in UTF-8. It can't continue: a takeover runs the program again. */
export function createCommandEngine(options: CommandEngineOptions): Engine {
  const running = new Set<SupervisedProcess>();
  const ending = new Set<Promise<void>>();
  return {
    name: "command",
    capabilities: options.capabilities,
    canContinue: () => false,
    async *generate(request, generate) {
      generate.signal.throwIfAborted();
      const directory = await mkdtemp(join(tmpdir(), "reprise-command-"));
      const program = await start(options, directory);
      running.add(program);
      try {
        yield* run(program, request, generate, options.maxOutputBytes);
      } finally {
        const ended = stop(program, directory).finally(() => ending.delete(ended));
        ending.add(ended);
        running.delete(program);
      }
    },
    async close() {
      await Promise.all([...running].map((program) => program.stop()));
      await Promise.all(ending);
    },
  };
}

async function start(options: CommandEngineOptions, directory: string): Promise<SupervisedProcess> {
  try {
    return await spawnSupervised(limited(options), {
      stopGraceS: STOP_GRACE_S,
      input: "pipe",
      output: "pipe",
      directory,
      environment: options.environment,
      inherit: false,
    });
  } catch {
    await remove(directory);
    // The system lacks processes, descriptors or memory, or a change of the configuration is needed: it does not tell which reliably.
    throw new EngineError("engine_unavailable", "The model's program can't be started.", { retry: "broken" });
  }
}

/** Returns why the system can't limit the program's memory so; undefined if it can. */
export async function findLimitProblem(options: CommandEngineOptions): Promise<string | undefined> {
  const { exited } = await spawnSupervised(limited({ ...options, command: ["true"] }), {
    environment: options.environment,
    inherit: false,
  });
  const { code } = await exited;
  return code === 0 ? undefined : `this system can't limit a program to ${options.maxMemoryMb} MB`;
}

function limited({
  command,
  maxMemoryMb,
}: Pick<CommandEngineOptions, "command" | "maxMemoryMb">): readonly [string, ...string[]] {
  if (maxMemoryMb === undefined) return command;
  // The limit outlives the shell that sets it; the command is its arguments, which it does not read.
  return ["/bin/sh", "-c", 'ulimit -v "$0" && exec "$@"', String(maxMemoryMb * 1_024), ...command];
}

async function stop(program: SupervisedProcess, directory: string): Promise<void> {
  program.stdin?.destroy();
  program.stdout?.destroy();
  await program.stop();
  program.stderr?.destroy();
  await remove(directory);
}

/** A folder that can't be removed is left: the program may have taken its own rights away, or a child that has left the process group may still write. */
async function remove(directory: string): Promise<void> {
  await rm(directory, { recursive: true, force: true }).catch(() => {});
}

async function* run(
  program: SupervisedProcess,
  request: EngineRequest,
  { signal, input }: GenerateOptions,
  maxOutputBytes: number,
): AsyncGenerator<EngineEvent> {
  // They are pipes, by the options of the spawn.
  const write = createWriter(program.stdin!);
  const feed = new Feed(({ entry }) => write(toBytes(entry)));
  void feed.run(input ?? recordsOf(request)).then(() => program.stdin!.end());
  let complaintBytes = 0;
  program.stderr!.on("data", (bytes: Buffer) => (complaintBytes += bytes.length));

  const { max_output_tokens: maxTokens = Number.POSITIVE_INFINITY } = request;
  const mostBytes = Math.min(maxOutputBytes, maxTokens * BYTES_PER_TOKEN);
  const decoder = new TextDecoder();
  let bytes = 0;
  let counted = 0;
  const toEvent = (text: string): TextEvent => {
    const tokens = text === "" ? 0 : Math.ceil(bytes / BYTES_PER_TOKEN) - counted;
    counted += tokens;
    const consumed = feed.takeConsumed();
    return { type: "text", text, tokens, ...(input && consumed !== undefined && { consumed }) };
  };
  const chunks: AsyncIterator<Buffer> = program.stdout![Symbol.asyncIterator]();
  for (let next = chunks.next(); ;) {
    const read = await raceAbort(Promise.race([next, feed.moved]), signal);
    if (read?.done) break;
    const chunk = read?.value ?? Buffer.alloc(0);
    const taken = chunk.subarray(0, mostBytes - bytes);
    bytes += taken.length;
    const event = toEvent(decoder.decode(taken, { stream: true }));
    if (event.text !== "" || event.consumed !== undefined) yield event;
    signal.throwIfAborted();
    if (taken.length < chunk.length) {
      yield { type: "finish", reason: "length" };
      return;
    }
    if (read) next = chunks.next();
  }
  const rest = decoder.decode();
  if (rest !== "") yield toEvent(rest);
  const { code } = await raceAbort(program.exited, signal);
  if (code !== 0) throw toError(code, complaintBytes);
  yield { type: "finish", reason: "stop" };
}

/** Writes bytes no faster than a program reads them. Resolves with false if it reads no more, which is no failure: its end tells how it went. */
function createWriter(stdin: Writable): (bytes: string | Uint8Array) => Promise<boolean> {
  stdin.on("error", () => {});
  return (bytes) => new Promise((resolve) => stdin.write(bytes, (error) => resolve(!error)));
}

function toBytes(entry: InputEntry): string | Uint8Array {
  switch (entry.type) {
    case "input.delta":
      return entry.text;
    case "input.audio":
      return entry.audio;
    case "input.commit":
      return "\n";
    case "input.clear":
    case "input.end":
      return "";
  }
}

async function* recordsOf({ input }: EngineRequest): AsyncGenerator<Pick<InputRecord, "seq" | "entry">> {
  const text = typeof input === "string" ? input : input.flatMap(textsOf).join("\n");
  yield { seq: REQUEST_SEQ, entry: { type: "input.delta", text } };
}

function toError(status: number, complaintBytes: number): EngineError {
  if (CANT_RUN.has(status))
    return new EngineError("engine_unavailable", "The model's program can't be run.", { retry: "never" });
  const number = status - FIRST_SIGNAL_STATUS;
  const signal = number > 0 && number <= LAST_SIGNAL;
  const how = signal ? `by signal ${number}` : `with status ${status}`;
  return new EngineError("engine_failed", `The model's program ended ${how}.`, {
    retry: signal ? "broken" : "never",
    said: `${complaintBytes} bytes on stderr`,
  });
}
