import { type LogLine, type ServiceProcess, startService, type TcpProxy } from "@reprise/testkit";
import { isAlive } from "./is-alive.ts";

export interface SlotOptions {
  /** `worker-1`, `delivery-2`, `moderation-1`, … */
  readonly name: string;
  readonly service: "delivery" | "inference-worker" | "moderation";
  readonly env: Readonly<Record<string, string>>;
  /** What the process logs once it does its work. */
  readonly readyMessage: string;
  /** Between it and the broker, where the row has asked for one. */
  readonly toBroker: TcpProxy | undefined;
}

/** One place in the platform, in which one process after another lives: each has the addresses of the one before it. */
export class ServiceSlot implements AsyncDisposable {
  readonly name: string;
  readonly toBroker: TcpProxy | undefined;
  readonly #options: SlotOptions;
  #process: ServiceProcess | undefined;
  #ready: LogLine | undefined;
  #isPaused = false;

  constructor(options: SlotOptions) {
    this.#options = options;
    this.name = options.name;
    this.toBroker = options.toBroker;
  }

  get pid(): number {
    return this.#living().pid;
  }

  /** What the process said when it was ready. */
  get ready(): LogLine {
    if (!this.#ready) throw new Error(`${this.name} has not started.`);
    return this.#ready;
  }

  /** Everything that the present process, or the last one, has logged. */
  get lines(): readonly LogLine[] {
    return this.#process?.lines ?? [];
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
    living.kill("SIGKILL");
    await living.exited;
  }

  /** SIGSTOP. Resolves when the process stands still. */
  async pause(): Promise<void> {
    this.#isPaused = true;
    await this.#living().pause();
  }

  /** SIGCONT. */
  resume(): void {
    this.#isPaused = false;
    this.#living().resume();
  }

  /** SIGTERM. Resolves when the process has ended. */
  async stop(): Promise<void> {
    await this.#living().stop();
  }

  /** Whatever a trial has done to it: afterwards there is a process, and it runs. */
  async heal(): Promise<void> {
    this.toBroker?.setFaults({});
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
