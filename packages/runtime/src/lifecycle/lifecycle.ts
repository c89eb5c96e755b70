import { constants } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { pause } from "@reprise/async";
import { RepriseError } from "@reprise/protocol";
import { type Logger, redactCredentials } from "./logger.ts";
import { serviceLinksIn } from "../environment/service-links.ts";

/** A running service, as seen by its process. */
export interface RunningService {
  readonly logger: Logger;
  /** Maximum time for `stop`, and for open handles after it, in milliseconds. */
  readonly drainMs: number;
  /** Reports from now on that the service is not ready; the service keeps serving for `noticeMs`. Called once, before `stop`. */
  announceStop?(): void;
  /** Time for load balancers to notice that, in milliseconds. Default 0. */
  readonly noticeMs?: number;
  /** Takes nothing new, finishes or hands over what runs, and closes what keeps the process alive. Called once. */
  stop(): Promise<void>;
  /** Rejects when the service can't continue, for example after its broker's end; the process then ends with a failure. */
  readonly failed?: Promise<never>;
  /** Reads the configuration files again, on SIGHUP, until it is to stop. What it throws is logged, and the old configuration stays. */
  reload?(): Promise<void>;
}

/** True if this is the first process of a container. */
const IS_FIRST = process.pid === 1;
const SIGNALLED = 128;

type StopSignal = "SIGTERM" | "SIGINT";

/**
 * Runs one service as a process: creates it, waits for SIGTERM or SIGINT, stops it, and resolves.
 *
 * - A start that fails is reported on stderr in plain words, a defect with its stack. Both set exit code 1.
 * - Before the stop the service is not ready for `noticeMs` but keeps serving, if it has a readiness endpoint.
 * - SIGHUP never ends it: during the start it is kept until that is done, and after the stop signal it does nothing.
 * - A second signal, during the start, the notice or the stop, ends the process at once, as it would any program.
 * - After a first signal a start continues to its end, for 10 s at most: then the process ends by the signal, with a line on stderr.
 * - A service whose broker is gone (`failed` rejects with `broker_unavailable`) has 2 s at most to stop: its remaining work needs the broker.
 * - A stop that exceeds `drainMs`, or that leaves something open, ends the process by the same signal, with a line that says so.
 *
 * The process is never exited during its work: it ends when nothing is left to do.
 * @param env tells which of its variables are Kubernetes' and not the platform's
 */
export async function runService(
  name: string,
  create: () => Promise<RunningService>,
  env: Readonly<Record<string, string | undefined>> = {},
): Promise<void> {
  countBuffersInHeapLimit();
  const stopSignal = nextStopSignal();
  const reloads = listenForReloads();
  const started = new AbortController();
  void stopSignal.arrived.then((signal) => endStartBySignal(name, signal, started.signal));
  let service: RunningService;
  try {
    service = await create().finally(() => started.abort());
  } catch (error) {
    stopSignal.forget();
    process.exitCode = 1;
    process.stderr.write(`${name}: ${redactCredentials(describeFailure(error))}\n`);
    return;
  }

  const { logger, drainMs, noticeMs = 0 } = service;
  const links = serviceLinksIn(env);
  if (links.length > 0)
    logger.info({ variables: links }, "variables that Kubernetes or Docker has made are ignored");
  reloads.answer(() => reload(service));
  const end = await Promise.race([stopSignal.arrived, failureOf(service)]);
  stopSignal.forget();
  reloads.answer(() => logger.info("stopping: the configuration is not read again"));

  const signal = end instanceof Failure ? "SIGTERM" : end;
  if (end instanceof Failure) {
    process.exitCode = 1;
    logger.fatal({ err: end.cause }, "can't continue");
  } else {
    logger.info({ signal, noticeMs }, "stopping");
    service.announceStop?.();
    if (noticeMs > 0) await delay(noticeMs);
  }
  if (end instanceof Failure)
    endAfter(end.isBrokerGone ? Math.min(drainMs, BROKERLESS_MS) : drainMs, logger, endByFailure);
  else endAfter(drainMs, logger, () => endBySignal(signal));
  try {
    await service.stop();
    logger.info("stopped");
  } catch (error) {
    process.exitCode = 1;
    logger.error({ err: error }, "did not stop cleanly");
  }
}

class Failure {
  readonly cause: unknown;
  constructor(cause: unknown) {
    this.cause = cause;
  }

  get isBrokerGone(): boolean {
    return this.cause instanceof RepriseError && this.cause.code === "broker_unavailable";
  }
}

async function failureOf({ failed }: RunningService): Promise<Failure> {
  try {
    return await (failed ?? new Promise<never>(() => {}));
  } catch (error) {
    return new Failure(error);
  }
}

function nextStopSignal(): { arrived: Promise<StopSignal>; forget(): void } {
  const { promise: arrived, resolve } = Promise.withResolvers<StopSignal>();
  // Without a listener a signal does what it always does: that makes the second one final.
  const forget = (): void => {
    process.off("SIGTERM", onSignal).off("SIGINT", onSignal);
    if (IS_FIRST) process.on("SIGTERM", endBySignal).on("SIGINT", endBySignal);
  };
  const onSignal = (signal: NodeJS.Signals): void => {
    forget();
    resolve(signal as StopSignal);
  };
  process.on("SIGTERM", onSignal).on("SIGINT", onSignal);
  return { arrived, forget };
}

/**
 * Ends this process as a signal does that it does not listen for. The kernel keeps such signals from the first process of a container, which
 * exits with the code that shells give for them.
 */
function endBySignal(signal: NodeJS.Signals): void {
  // oxlint-disable-next-line unicorn/no-process-exit -- no signal would end it.
  if (IS_FIRST) process.exit(SIGNALLED + constants.signals[signal]);
  process.kill(process.pid, signal);
}

/** SIGHUP, which would end a process that does not listen for it. One that comes before there is an answer gets the first. */
function listenForReloads(): { answer(next: () => void): void } {
  let isMissed = false;
  let answer = (): void => void (isMissed = true);
  process.on("SIGHUP", () => answer());
  return {
    answer(next) {
      answer = next;
      if (isMissed) next();
      isMissed = false;
    },
  };
}

function reload(service: RunningService): void {
  const { logger } = service;
  if (!service.reload) return logger.info("there is no configuration to read again");
  service.reload().then(
    () => logger.info("configuration read again"),
    (error: unknown) =>
      logger.error({ problem: describeFailure(error) }, "configuration not read again; the old one stays"),
  );
}

const STOPPED_START_MS = 10_000;
const BROKERLESS_MS = 2_000;

async function endStartBySignal(name: string, signal: StopSignal, started: AbortSignal): Promise<void> {
  await pause(STOPPED_START_MS, started);
  if (started.aborted) return;
  process.stderr.write(
    `${name}: ${signal} has come while it starts, and the start does not end; ending now\n`,
  );
  endBySignal(signal);
}

/** By a signal it would look as if it had been asked to end, and a supervisor might not start it again. */
function endByFailure(): void {
  // oxlint-disable-next-line unicorn/no-process-exit -- something keeps the process alive.
  process.exit(1);
}

/** The timer does not keep the process alive: it fires only where something else does. */
function endAfter(ms: number, logger: Logger, end: () => void): void {
  void delay(ms, undefined, { ref: false }).then(() => {
    logger.error({ drainMs: ms, open: process.getActiveResourcesInfo() }, "not stopped in time; ending now");
    end();
  });
}

/**
 * By default V8 collects the whole heap for every 64 MB of Buffers that were allocated since the last time, however short they lived. A
 * request of 1 MB makes 15 MB of them on its way through a worker, and the collector took more CPU than the request. With this flag
 * Buffers count towards the limit that V8 sets for the heap, in proportion to what is alive: those that die young are left to the short
 * collections, and up to about 130 MB more of them wait for one. `docs/benchmarks.md` has the figures.
 *
 * V8 reads this flag whenever it compares with the limit, so that it can be set in a process that runs. It is not among those that
 * `NODE_OPTIONS` takes.
 */
function countBuffersInHeapLimit(): void {
  setFlagsFromString("--external-memory-accounted-in-global-limit");
}

/**
 * Why a process does not start, for stderr: what the platform or the system refuses in its own words, without a stack; a defect with
 * its stack.
 */
function describeFailure(error: unknown): string {
  if (error instanceof RepriseError && error.code !== "internal") return error.message;
  if (isSystemError(error)) return error.message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** A port that is taken, a folder that can't be written: Node names the system call. */
function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && typeof (error as NodeJS.ErrnoException).syscall === "string";
}
