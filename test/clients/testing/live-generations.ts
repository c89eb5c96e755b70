import { type Broker, getStreamInfo } from "@reprise/broker";
import {
  decodeEvent,
  generationsStream,
  isTerminal,
  LIVE_LOG_SUBJECTS,
  type TenantId,
  tenantLogSubjects,
} from "@reprise/protocol";

/** The view of generations at the broker, past all nodes. */
export interface LiveGenerations {
  /** Resolves with the id of a generation of the tenant that runs and has that many deltas. */
  untilSaid(deltas: number, tenant: string): Promise<string>;
  /** The ids of all that exist. */
  list(tenant: string): Promise<string[]>;
  stop(): void;
}

interface Seen {
  readonly tenant: string;
  readonly id: string;
  deltas: number;
  ended: boolean;
}

/** Sees what is appended from now on. */
export async function watchGenerations({ main }: Broker, shards: number): Promise<LiveGenerations> {
  const seen = new Map<string, Seen>();
  let grown = Promise.withResolvers<void>();
  const live = main.subscribe(LIVE_LOG_SUBJECTS, {
    callback(_error, { subject, data }) {
      const [tenant = "", id = ""] = subject.split(".").slice(-2);
      const one = seen.get(id) ?? { tenant, id, deltas: 0, ended: false };
      seen.set(id, one);
      const { type } = decodeEvent(data);
      if (type === "output.delta") one.deltas++;
      if (isTerminal(type)) one.ended = true;
      grown.resolve();
      grown = Promise.withResolvers();
    },
  });
  await main.flush();
  return {
    async untilSaid(deltas, tenant) {
      for (;;) {
        const more = grown.promise;
        const one = [...seen.values()].find((s) => s.tenant === tenant && !s.ended && s.deltas >= deltas);
        if (one) return one.id;
        await more;
      }
    },
    async list(tenant) {
      const logs = Array.from({ length: shards }, async (_, shard) => {
        const filter = { subjects_filter: tenantLogSubjects(shard, tenant as TenantId) };
        const { state } = await getStreamInfo(main, generationsStream(shard), filter);
        return Object.keys(state.subjects ?? {}).map((subject) =>
          subject.slice(subject.lastIndexOf(".") + 1),
        );
      });
      return (await Promise.all(logs)).flat();
    },
    stop: () => live.unsubscribe(),
  };
}
