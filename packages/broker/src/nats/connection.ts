import { connect, type ConnectionOptions, errors, type NatsConnection } from "@nats-io/transport-node";
import { retryRejected } from "@reprise/async";
import { RepriseError } from "@reprise/protocol";
import { type AccessOptions, type BrokerAddress, hostsOf, toAccessOptions } from "./broker-access.ts";
import { describeConnectFailure, isLate } from "./describe-connect-failure.ts";
import { type BrokerUser, inboxPrefixOf } from "../access/broker-user.ts";
import type { Forbidden } from "../access/forbidden.ts";
import { ServerChoice } from "../access/server-choice.ts";
import { setInboxPrefix } from "../access/inbox-prefix.ts";
import { watchConnection } from "./watch-connection.ts";
import { inboxOf } from "./reply-inbox.ts";

export interface BrokerOptions extends BrokerAddress {
  /** Shown in the broker's connection list. */
  name: string;
  /** Called for defects inside callbacks of requests, and when the server forbids replies. Default: neither is reported. */
  onError?: ((error: unknown) => void) | undefined;
  /** Whose credentials these are: answers come to this user's inbox. Default: to the client's own, where a broker without users lets every client listen. */
  user?: BrokerUser | undefined;
  /** Interval at which a connection that has left its first server checks whether that is back. Default 30 s. */
  returnEveryMs?: number | undefined;
}

/**
 * The connections of a process. Appends and the live feed share `main`. History is read, and checkpoints are written, over `reads`: nats-server
 * answers a direct get inside the read loop of the connection that asked, and a large message delays later messages on it. On a shared connection one
 * reader that catches up would delay every append. Bulk traffic, jobs and large publishes, has `bulk` for the same reason: megabytes of requests do
 * not delay a token of a running generation.
 */
export interface Broker extends AsyncDisposable {
  readonly main: NatsConnection;
  readonly reads: NatsConnection;
  readonly bulk: NatsConnection;
  /**
   * Dials once more, and closes that connection again: the client redials a lost connection for ever, and does not report the results.
   * @returns why the server refuses this process; undefined if it accepts it, or nothing listens at its address
   */
  whyRefused(): Promise<string | undefined>;
  /** Calls back for everything that the broker refuses to this process's user. */
  onForbidden(listener: (forbidden: Forbidden) => void): void;
  close(): Promise<void>;
}

/**
 * Connects, and stays connected: a lost connection is dialled again for ever, four times a second.
 * @throws RepriseError `config_invalid` when it is not clear how to get in, or the credentials are another user's; `broker_unavailable` when the first connection can't be
 *   made within 15 s, with the cause in its message
 */
export async function connectBroker({
  name,
  user,
  onError,
  returnEveryMs = RETURN_EVERY_MS,
  ...address
}: BrokerOptions): Promise<Broker> {
  const access = await toAccessOptions(address);
  const options = user === undefined ? access : { ...access, inboxPrefix: inboxPrefixOf(user) };
  const open: NatsConnection[] = [];
  const choice = new ServerChoice();
  try {
    // If a cluster refuses the credentials, the other dials would continue for ever: every refusal names all servers again.
    await unlessLate(() => dialOnce(options, `${name}:dial`));
    const main = await unlessLate(() => dial(options, name, choice, onError));
    open.push(main);
    const reads = await unlessLate(() => dial(options, `${name}:reads`, choice, onError));
    open.push(reads);
    const bulk = await unlessLate(() => dial(options, `${name}:bulk`, choice, onError));
    open.push(bulk);
    const stopReturning = returnHome([main, reads, bulk], [name, `${name}:reads`, `${name}:bulk`], {
      options,
      choice,
      everyMs: returnEveryMs,
    });
    const close = async () => {
      stopReturning();
      await Promise.all(open.map((connection) => connection.close()));
    };
    const whyRefused = () => askWhyRefused(options, `${name}:dial`);
    const onForbidden: Broker["onForbidden"] = (listener) => {
      for (const connection of open) watchConnection(connection, { onForbidden: listener });
    };
    return { main, reads, bulk, whyRefused, onForbidden, close, [Symbol.asyncDispose]: close };
  } catch (cause) {
    await Promise.allSettled(open.map((connection) => connection.close()));
    if (cause instanceof RepriseError) throw cause;
    const why = describeConnectFailure(cause);
    throw new RepriseError("broker_unavailable", `No connection to NATS at ${hostsOf(address.url)}: ${why}`, {
      cause,
    });
  }
}

/**
 * Waits until the broker has taken in everything that was sent, subscriptions too.
 * @throws RepriseError `broker_unavailable` when it does not say so within 5 s: the client itself would wait for ever
 */
export async function flushConnection(connection: NatsConnection): Promise<void> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error("no answer within 5 s")), TIMEOUT_MS);
  try {
    await Promise.race([connection.flush(), late]);
  } catch (cause) {
    throw new RepriseError("broker_unavailable", "The broker does not answer.", {
      cause,
      retryAfterMs: 1_000,
    });
  } finally {
    clearTimeout(timer);
  }
}

/**
 * A server that has waited 2 s for a client's credentials closes the connection. A process may be that slow while it loads its modules on a busy machine:
 * it dials again, 5 times in all.
 */
function unlessLate<T>(dialling: () => Promise<T>): Promise<T> {
  return retryRejected(dialling, isLate, { pauseMs: LATE_PAUSE_MS, maxAttempts: 5 });
}

/** Tries every server that is configured once, and none that those name. */
async function dialOnce(options: DialOptions, name: string, timeout = DIAL_TIMEOUT_MS): Promise<void> {
  const once = { timeout, reconnect: false, ignoreClusterUpdates: true };
  const connection = await connect({ ...options, ...once, name });
  try {
    if (options.inboxPrefix !== undefined) await assertAnswersArrive(connection, options.inboxPrefix);
  } finally {
    await connection.close();
  }
}

/** Without this each request of a process with another service's credentials would fail, and none would say why. */
async function assertAnswersArrive(connection: NatsConnection, inboxPrefix: string): Promise<void> {
  let isRefused = false;
  const callback = (error: Error | null) => void (isRefused ||= error !== null);
  connection.subscribe(`${inboxPrefix}.dial`, { callback });
  await flushConnection(connection);
  if (isRefused)
    throw new RepriseError(
      "config_invalid",
      `The broker does not let this process listen under ${inboxPrefix}: it has another user's credentials, or the broker lacks this version's permissions.`,
    );
}

async function askWhyRefused(options: DialOptions, name: string): Promise<string | undefined> {
  try {
    await unlessLate(() => dialOnce(options, name));
    return undefined;
  } catch (error) {
    // Its message is the whole of what there is to say: a server that is down.
    return error instanceof errors.ConnectionError ? undefined : describeConnectFailure(error);
  }
}

type DialOptions = AccessOptions & Pick<ConnectionOptions, "inboxPrefix">;

async function dial(
  options: DialOptions,
  name: string,
  choice: ServerChoice,
  onError: BrokerOptions["onError"],
): Promise<NatsConnection> {
  const connection = await connect({
    ...options,
    name,
    timeout: DIAL_TIMEOUT_MS,
    reconnectToServer: (servers) => choice.choose(name, servers, performance.now()),
    // The defaults close the connection for good after 10 tries, and notice a dead peer after four minutes.
    maxReconnectAttempts: -1,
    // So does the second refusal of the password in a row, though the cause may be a broker that is being set up again.
    ignoreAuthErrorAbort: true,
    reconnectTimeWait: 250,
    reconnectJitter: 50,
    // A server that is frozen keeps the connection: readers wait for as long as that is not noticed, which is 6 s.
    pingInterval: 2_000,
    maxPingOut: 2,
    // A stack trace per request halves the rate of publishes.
    noAsyncTraces: true,
  });
  choice.made(name);
  if (options.inboxPrefix !== undefined) setInboxPrefix(connection, options.inboxPrefix);
  // Made now, it knows from the beginning whether the connection is up.
  inboxOf(connection, onError);
  return connection;
}

interface Returning {
  readonly options: DialOptions;
  readonly choice: ServerChoice;
  readonly everyMs: number;
}

/**
 * Brings connections back to the servers that they were made to, once those let this process in again; one at a time. What is under way on a
 * connection is as after any loss of it. @returns how to stop that
 */
function returnHome(
  connections: readonly NatsConnection[],
  names: readonly string[],
  { options, choice, everyMs }: Returning,
): () => void {
  let isLooking = false;
  const look = async () => {
    for (const [index, name] of names.entries()) {
      const home = choice.awayFrom(name);
      const connection = connections[index];
      if (home === undefined || !connection || connection.isClosed()) continue;
      const reached = dialOnce({ ...options, servers: [home] }, `${name}:home`, RETURN_TIMEOUT_MS);
      if (
        !(await reached.then(
          () => true,
          () => false,
        ))
      )
        continue;
      choice.returns(name);
      return connection.reconnect();
    }
  };
  const timer = setInterval(() => {
    if (isLooking) return;
    isLooking = true;
    // A connection that closes meanwhile needs no return.
    void look()
      .catch(() => {})
      .finally(() => void (isLooking = false));
  }, everyMs).unref();
  return () => clearInterval(timer);
}

const RETURN_EVERY_MS = 30_000;
/** A server that is slower than this is none to return to. */
const RETURN_TIMEOUT_MS = 5_000;
const TIMEOUT_MS = 5_000;
const LATE_PAUSE_MS = 100;
/** A server that is there answers at once, and a starved machine within seconds. */
const DIAL_TIMEOUT_MS = 15_000;
