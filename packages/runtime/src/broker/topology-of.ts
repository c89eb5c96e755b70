interface TopologyEnvironment {
  readonly REPRISE_SHARDS: number;
  readonly REPRISE_REPLICAS: number;
  readonly REPRISE_RETENTION_HOURS: number;
}

/** Returns the topology of the broker's streams from the environment, as `packages/stream` takes it. */
export function topologyOf(env: TopologyEnvironment): {
  shards: number;
  replicas: number;
  retentionMs: number;
} {
  return {
    shards: env.REPRISE_SHARDS,
    replicas: env.REPRISE_REPLICAS,
    retentionMs: Math.round(env.REPRISE_RETENTION_HOURS * 3_600_000),
  };
}
