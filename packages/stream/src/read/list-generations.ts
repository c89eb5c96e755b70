import type { NatsConnection } from "@nats-io/transport-node";
import {
  generationsStream,
  type GenerationRef,
  parseLogSubject,
  type TenantId,
  tenantLogSubjects,
} from "@reprise/protocol";
import { getStreamInfo } from "@reprise/broker";

/**
 * Every generation of a tenant whose log is kept, shard by shard. Expensive for the broker: for tools, not for services.
 * @throws RepriseError `broker_unavailable`
 */
export async function* listGenerations(
  connection: NatsConnection,
  tenant: TenantId,
  shards: number,
): AsyncGenerator<GenerationRef> {
  for (let shard = 0; shard < shards; shard++) {
    const filter = { subjects_filter: tenantLogSubjects(shard, tenant) };
    for (let offset = 0, total = 1; offset < total;) {
      const info = await getStreamInfo(connection, generationsStream(shard), { ...filter, offset });
      const subjects = Object.keys(info.state.subjects ?? {});
      yield* subjects.map(parseLogSubject);
      total = subjects.length === 0 ? 0 : info.total;
      offset += subjects.length;
    }
  }
}
