import { type LogLine, type ServiceProcess, startService } from "@reprise/testkit";
import type { BrokerLink } from "./broker-link.ts";
import type { Disturbance } from "./disturbance.ts";

export interface SlotOptions {
  /** `worker-1`, `delivery-2`, `moderation-1`, … */
  readonly name: string;
  readonly service: "delivery" | "inference-worker" | "moderation" | "audit-log";
  readonly env: Readonly<Record<string, string>>;
  /** The line that the process logs once it does its work. */
  readonly readyMessage: string;
  readonly toBroker: BrokerLink;
  /** Faults of this service, and of its way to the broker. */
  readonly disturbance: Disturbance;
}

/** One place in the platform, in which one process after another lives: each has the addresses of the one before it. */
export class ServiceSlot implements AsyncDisposable {
  readonly name: string;
  readonly toBroker: BrokerLink;
  readonly disturbance: Disturbance;
  readonly #options: SlotOptions;
  #process: ServiceProcess | undefined;
  #ready: LogLine | undefined;
  #isPaused = false;

  constructor(options: SlotOptions) {
    this.#options = options;
    this.name = options.name;
    this.toBroker = options.toBroker;
    this.disturbance = options.disturbance;
  }

  get pid(): number {
    return this.#living().pid;
  }

  /** The line of the process when it was ready. */
  get ready(): LogLine {
    if (!this.#ready) throw new Error(`${this.name} has not started.`);
    return this.#ready;
  }

  /** Everything that the present process, or the last one, has logged. */
  get lines(): readonly LogLine[] {
    return this.#process?.lines ?? [];
  }

  /** Resolves with the first line of this message after the first `from` lines. */
  logged(message: string, from = 0): Promise<LogLine> {
    return this.#living().logged(message, from);
  }

  /** Resolves once it does its work. */
  async start(): Promise<void> {
    const { service, env, readyMessage } = this.#options;
    this.#process = await startService(service, env);
    this.#isPaused = false;
    this.#ready = await this.#process.logged(readyMessage);
  }

  /** SIGKILL. Resolves when the process is gone. */
  async kill(): Promise<void> {
    const living = this.#living();
    this.disturbance.strike();
    living.kill("SIGKILL");
    await living.exited;
  }

  /** SIGSTOP. Resolves when the process is stopped. */
  async pause(): Promise<void> {
    this.#isPaused = true;
    this.disturbance.strike();
    await this.#living().pause();
  }

  /** SIGCONT. */
  resume(): void {
    this.#isPaused = false;
    this.#living().resume();
  }

  /** SIGTERM. Resolves when the process has ended. */
  async stop(): Promise<void> {
    this.disturbance.strike();
    await this.#living().stop();
  }

  /** Takes back what a trial has done to it: afterwards there is a process, and it runs. */
  async heal(): Promise<void> {
    this.toBroker.repair();
    if (this.#process === undefined || !isAlive(this.#process.pid)) await this.start();
    else if (this.#isPaused) this.resume();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process?.[Symbol.asyncDispose]();
  }

  #living(): ServiceProcess {
    if (!this.#process) throw new Error(`${this.name} has not started.`);
    return this.#process;
  }
}

/** True if a process with this id exists, even if it is stopped. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
