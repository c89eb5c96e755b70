import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/** Below what systems give to outgoing connections: from 32,768 on Linux, from 49,152 elsewhere. */
const FIRST = 10_000;
const LAST = 32_767;
const TRIES = 100;
/**
 * Processes that follow one another draw from different slices: what one of them has killed and will restart, another does not find
 * free meanwhile.
 */
const SLICES = 32;
const SLICE = Math.floor((LAST + 1 - FIRST) / SLICES);
const SLICE_FIRST = FIRST + (process.pid % SLICES) * SLICE;

const STARTS = 5;
/** Error text of nats-server and Redis. */
const IS_TAKEN = /address already in use/i;

/** Ports given to this process: a server that is down keeps its port. */
const given = new Set<number>();

/**
 * A port on 127.0.0.1 without a listener at this moment, and that no outgoing connection takes: a server that is restarted finds it
 * free. Another server may take it before the caller does: see `startOnFreePorts`. A server that is never restarted and can say its own port
 * needs neither (port 0).
 * @throws Error when a hundred ports are all taken
 */
export async function findFreePort(): Promise<number> {
  for (let tries = 0; tries < TRIES; tries++) {
    const port = SLICE_FIRST + randomInt(SLICE);
    if (given.size >= SLICE / 2) given.clear();
    if (given.has(port)) continue;
    given.add(port);
    if (await isFree(port)) return port;
  }
  throw new Error(`${TRIES} ports from ${SLICE_FIRST} on are all taken.`);
}

/** Starts servers on free ports, and again when another process took one of them meanwhile: `start` asks for other ports then. */
export async function startOnFreePorts<T>(start: () => Promise<T>): Promise<T> {
  for (let starts = 1; ; starts++) {
    try {
      return await start();
    } catch (error) {
      if (starts === STARTS || !IS_TAKEN.test(String(error))) throw error;
    }
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    await once(server.listen(port, "127.0.0.1"), "listening");
  } catch {
    return false;
  }
  server.close();
  await once(server, "close");
  return true;
}
