import { RepriseError, type StreamSeq } from "@reprise/protocol";

const TRIES = 100;

/** Where a count of one tenant lies that all nodes change. */
export interface Account {
  /** Returns the count (0 if unset) and its stream sequence. */
  read(): Promise<{ readonly count: number; readonly at: StreamSeq }>;
  /** @returns undefined where it has changed since it was read */
  write(count: number, at: StreamSeq): Promise<StreamSeq | undefined>;
}

/**
 * Changes a count by compare-and-set, so that all nodes together keep to a quota. It may fall below 0 where something is given back before it was
 * counted: the two are right together, in either order.
 * @param assertRoom throws where a count must not become so large
 * @throws RepriseError `broker_unavailable`; what `assertRoom` throws
 */
export async function changeAccount(
  account: Account,
  change: number,
  assertRoom: (count: number) => void = () => {},
): Promise<void> {
  if (change === 0) return;
  for (let tries = 0; tries < TRIES; tries++) {
    const { count, at } = await account.read();
    assertRoom(count + change);
    if ((await account.write(count + change, at)) !== undefined) return;
  }
  throw new RepriseError("broker_unavailable", "Too many calls change what this tenant has at once.", {
    retryAfterMs: 1_000,
  });
}
