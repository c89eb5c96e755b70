import { type Command, Redis, type RedisOptions } from "ioredis";

type SendCommand = Parameters<Redis["sendCommand"]>;

/**
 * A connection whose commands are rejected when they have had no answer for some time. The client's own `commandTimeout` runs out while the process computes, or does not run at
 * all, and rejects a command whose answer has long come: timers go before sockets. Here the sockets are read once more before a command counts as not answered.
 */
export class TimedRedis extends Redis {
  readonly #timeoutMs: number;

  constructor(url: string, timeoutMs: number, options: RedisOptions & { replyMapping?: "legacy" }) {
    super(url, options);
    this.#timeoutMs = timeoutMs;
  }

  override sendCommand(...[command, stream]: SendCommand): unknown {
    // The constructor of the client may send before this class has its own fields.
    if (#timeoutMs in this) limitTime(command, this.#timeoutMs);
    return super.sendCommand(command, stream);
  }
}

function limitTime(command: Command, timeoutMs: number): void {
  const expire = () => {
    if (!command.isSettled) command.reject(new Error("Command timed out"));
  };
  const timer = setTimeout(() => setImmediate(expire), timeoutMs);
  const stop = () => clearTimeout(timer);
  void command.promise.then(stop, stop);
}
