import { randomUUID } from "node:crypto";
import { type Client, createClient, type Generations } from "@reprise/client";
import {
  type FinishReason,
  type GenerationRequest,
  parseGenerationId,
  type Policy,
  type TerminalType,
} from "@reprise/protocol";
import type { SeededRandom } from "@reprise/testkit";
import { followRaw } from "../readers/raw-reader.ts";
import { type Reader, ReaderRecord } from "../readers/reader-record.ts";
import { BALANCED_URL, balancedFetch, followWithSdk } from "../readers/sdk-reader.ts";
import type { FaultWorld } from "../world/fault-world.ts";
import type { Tenant } from "../world/tenant.ts";
import type { TestedGeneration } from "./tested-generation.ts";
import type { Violation, ViolationKind } from "./violation.ts";
import { runUndisturbed, type Undisturbed } from "./undisturbed.ts";

export interface GenerationOptions {
  /** Default: each in turn. */
  readonly tenant?: Tenant;
  /** The words of a streamed input, which the simulator echoes. Who creates it sends them. Default: a prompt. */
  readonly typed?: readonly string[];
  /** Default `sim`; `upstream` says the same. */
  readonly model?: "sim" | "upstream";
  /** Default: one of its own. */
  readonly idempotencyKey?: string;
  /** Default 100. */
  readonly tokens?: number;
  /** Default 100. */
  readonly tokensPerSecond?: number;
  /** Further options of the simulator. */
  readonly simulator?: Readonly<Record<string, unknown>>;
  readonly policy?: Policy;
  /** Returns what moderation leaves of a text. Default: all. */
  readonly shown?: (text: string) => string;
  /** Called with the request before it is sent. */
  readonly prepare?: (request: GenerationRequest) => void;
  /** Default: `generation.completed` only. */
  readonly mayEnd?: readonly TerminalType[];
  /** Default: the undisturbed run's finish reason only. */
  readonly mayFinish?: FinishReason;
}

const TYPED = { format: "text" } as const;

export type ReaderKind = "raw" | "sdk";

/** One run of one fault: the load that it makes, what it saw, and what it found wrong before the judge runs. */
export class Trial {
  readonly world: FaultWorld;
  readonly random: SeededRandom;
  readonly generations: TestedGeneration[] = [];
  readonly readers: Reader[] = [];
  /** Readers whose row judges them itself. */
  readonly disowned: Reader[] = [];
  /** Logs that the row has read to their ends itself, by their generations. */
  readonly sealed = new Map<TestedGeneration, readonly string[]>();
  readonly violations: Violation[] = [];
  /** From a fault to the first event that could only come after it was overcome, in milliseconds, for each one affected. */
  readonly recoveriesMs: number[] = [];
  /** By `performance.now()`. */
  readonly startedAt = performance.now();
  #hits = 0;

  constructor(world: FaultWorld, random: SeededRandom) {
    this.world = world;
    this.random = random;
  }

  /** Something that the row itself has found. */
  blame(kind: ViolationKind, what: string): void {
    this.violations.push({ kind, what });
  }

  /** Counts what the fault hit, by the row's `proof`. A trial without a hit is a violation. */
  hit(count = 1): void {
    this.#hits += count;
  }

  get hits(): number {
    return this.#hits;
  }

  recovered(ms: number): void {
    this.recoveriesMs.push(ms);
  }

  /** The SDK of a tenant, over all nodes in turn. */
  clientOf(tenant: Tenant): Generations {
    return this.sdkOf(tenant).generations;
  }

  /** The same, with its transport. @param onBroken called for each request that gets no answer */
  sdkOf(tenant: Tenant, onBroken: () => void = () => {}): Client {
    const urls = this.world.deliveries.map(({ url }) => url);
    const balanced = balancedFetch({ urls, first: this.#drawNode() });
    return createClient({
      url: BALANCED_URL,
      apiKey: tenant.key,
      async fetch(url, init) {
        try {
          return await balanced(url, init);
        } catch (error) {
          onBroken();
          throw error;
        }
      },
    });
  }

  /** Creates a generation whose text is known beforehand. From its answer on it counts. */
  async create(options: GenerationOptions = {}): Promise<TestedGeneration> {
    const { model = "sim", tokens = 100, tokensPerSecond = 100, simulator, policy } = options;
    const { typed } = options;
    const { shown = (text: string) => text, mayEnd, mayFinish } = options;
    const { tenants } = this.world;
    const tenant = options.tenant ?? tenants[this.generations.length % tenants.length]!;
    const request: GenerationRequest = {
      model,
      input: "Go on.",
      seed: this.random.integer(0, 2 ** 31 - 1),
      options: typed ? {} : { tokens, tokens_per_second: tokensPerSecond, ...simulator },
      ...(typed && { input: [], input_stream: TYPED }),
      ...(policy && { policy }),
    };
    options.prepare?.(request);
    const undisturbed: Undisturbed = typed
      ? { tokens: typed, finishReason: "stop" }
      : await runUndisturbed(request);
    const { input_stream: stream, ...fields } = request;
    const { id } = await this.clientOf(tenant).create(stream ? { ...fields, input: { stream } } : fields, {
      idempotencyKey: options.idempotencyKey ?? randomUUID(),
    });
    const generation: TestedGeneration = {
      id,
      ref: { tenant: tenant.id, generation: parseGenerationId(id) },
      tenant,
      request,
      undisturbed,
      wholeText: shown(undisturbed.tokens.join("")),
      mayFinish,
      mayEnd: mayEnd ?? ["generation.completed"],
    };
    this.generations.push(generation);
    return generation;
  }

  /** Begins to read. The trial waits for it in the end, unless it leaves. */
  read(generation: TestedGeneration, kind: ReaderKind): Reader {
    const index = this.readers.length + this.disowned.length;
    const record = new ReaderRecord(`${kind}-reader ${index}`, generation);
    const urls = this.world.deliveries.map(({ url }) => url);
    const options = { urls, first: this.#drawNode() };
    const reader =
      kind === "raw"
        ? followRaw(record, { ...options, random: this.random.next, isExcused: this.#isExcused })
        : followWithSdk(record, options);
    this.readers.push(reader);
    return reader;
  }

  /** Takes a reader from the judge, who holds against any reader what only some faults permit. The row judges it. */
  disown(reader: Reader): void {
    this.readers.splice(this.readers.indexOf(reader), 1);
    this.disowned.push(reader);
  }

  /** Hands the judge a whole log, its seq 0 included, that the broker will not keep for as long as the trial takes. */
  seal(generation: TestedGeneration, payloads: readonly string[]): void {
    this.sealed.set(generation, payloads);
  }

  /** Nothing is left of a generation, as the fault permits: the judge does not ask for its log. */
  forget(generation: TestedGeneration): void {
    this.generations.splice(this.generations.indexOf(generation), 1);
  }

  /** Ends the generations that may end so, at once: nothing more is to be learnt from them. */
  async cancelAll(): Promise<void> {
    const cancellable = this.generations.filter(({ mayEnd }) => mayEnd.includes("generation.cancelled"));
    await Promise.all(cancellable.map(({ id, tenant }) => this.clientOf(tenant).cancel(id)));
  }

  /** Resolves when every reading is over. */
  async ended(): Promise<void> {
    await Promise.all(this.readers.map(({ record }) => record.done));
  }

  /** True if this trial's fault may have broken a response of a node, to this port of ours. */
  readonly #isExcused = (node: number, port: number): boolean => {
    const { deliveries } = this.world;
    const isCut = deliveries[node]!.toClients?.hasCut(port) ?? false;
    return isCut || this.world.isDisturbed(node, this.startedAt);
  };

  #drawNode(): number {
    return this.random.integer(0, this.world.deliveries.length - 1);
  }
}
