/** One target of the Dockerfile. */
export interface ServiceImage {
  /** Name of the target, and of the image after `reprise/`. */
  readonly name: string;
  /** Its program, and the commands beside it, without `.ts`: the first is what the image starts. */
  readonly entries: readonly string[];
}

const service = (name: string, more: readonly string[] = []): ServiceImage => ({
  name,
  entries: [`services/${name}/src/main`, ...more.map((entry) => `services/${name}/src/${entry}`)],
});

export const IMAGES: readonly ServiceImage[] = [
  service("delivery", ["cli/main"]),
  service("inference-worker"),
  service("moderation", ["cli/main"]),
  service("audit-log", ["cli/main"]),
  service("analytics", ["cli/main"]),
  service("witness"),
  {
    name: "set-up",
    entries: ["infra/nats/main", "infra/containers/main"],
  },
];
