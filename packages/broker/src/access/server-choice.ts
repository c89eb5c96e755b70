import type { ConnectionOptions } from "@nats-io/transport-node";
import { unixNow } from "@reprise/protocol";

type Handler = NonNullable<ConnectionOptions["reconnectToServer"]>;
type Server = Parameters<Handler>[0][number];

/** A server is dialled again before others only so long after it was lost: one that is frozen takes the connection, and says nothing. */
const AVOIDED_MS = 60_000;
const REDIAL_MS = 250;

/**
 * Says which of the broker's servers a process dials, so that its connections are spread: first one that none of its connections has lost of
 * late, then one that has the fewest of them, else by chance. The server that a connection was made to first is its home: it returns
 * there. So a server that was away gets back what it had.
 */
export class ServerChoice {
  readonly #random: () => number;
  /** By their addresses. */
  readonly #lostAtMs = new Map<string, number>();
  /** By the names of connections. */
  readonly #present = new Map<string, string>();
  readonly #homes = new Map<string, string>();
  readonly #returning = new Set<string>();

  /** @param random from 0 to 1 */
  constructor(random: () => number = Math.random) {
    this.#random = random;
  }

  /** Called for each try: a connection that tries again has lost its server, or did not get in. */
  choose(connection: string, servers: readonly Server[], nowMs: number): ReturnType<Handler> {
    const home = this.#homes.get(connection);
    const present = this.#present.get(connection);
    const isReturning = this.#returning.delete(connection);
    if (!isReturning && present !== undefined) this.#lostAtMs.set(present, nowMs);
    this.#present.delete(connection);
    const chosen = servers.find(({ listen }) => isReturning && listen === home) ?? this.#best(servers, nowMs);
    if (!chosen) return null;
    this.#present.set(connection, chosen.listen);
    const delay = chosen.lastConnect + REDIAL_MS - unixNow();
    return chosen.lastConnect > 0 && delay > 0 ? { server: chosen, delay } : chosen;
  }

  /** The connection is established. */
  made(connection: string): void {
    const present = this.#present.get(connection);
    if (present !== undefined && !this.#homes.has(connection)) this.#homes.set(connection, present);
  }

  /** The address of its home, if it is elsewhere. */
  awayFrom(connection: string): string | undefined {
    const home = this.#homes.get(connection);
    return home === this.#present.get(connection) ? undefined : home;
  }

  /** Its home is there again: its next try is that, and its server now is not lost. */
  returns(connection: string): void {
    this.#lostAtMs.delete(this.#homes.get(connection) ?? "");
    this.#returning.add(connection);
  }

  #best(servers: readonly Server[], nowMs: number): Server | undefined {
    const lost = ({ listen }: Server) => {
      const atMs = this.#lostAtMs.get(listen) ?? Number.NEGATIVE_INFINITY;
      return nowMs - atMs < AVOIDED_MS ? atMs : Number.NEGATIVE_INFINITY;
    };
    const used = ({ listen }: Server) => [...this.#present.values()].filter((one) => one === listen).length;
    const ranked = servers.map((server) => ({
      server,
      lost: lost(server),
      used: used(server),
      chance: this.#random(),
    }));
    // Infinities can't be subtracted.
    const compare = (a: number, b: number) => (a === b ? 0 : a < b ? -1 : 1);
    ranked.sort((a, b) => compare(a.lost, b.lost) || a.used - b.used || a.chance - b.chance);
    return ranked[0]?.server;
  }
}
