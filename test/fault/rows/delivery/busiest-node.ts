import type { Reader } from "../../readers/reader-record.ts";
import type { Trial } from "../../trial/trial.ts";

/** Those who read from a delivery node at this moment. */
export function readingFrom(readers: readonly Reader[], node: number): Reader[] {
  return readers.filter(({ record }) => !record.isDone && record.node === node);
}

/** The delivery node from which most of these read at this moment; where several do, a drawn one. */
export function busiestNode({ random, world }: Trial, readers: readonly Reader[]): number {
  const first = random.integer(0, world.deliveries.length - 1);
  const nodes = world.deliveries.map((_, index) => (first + index) % world.deliveries.length);
  return nodes.reduce((best, node) =>
    readingFrom(readers, node).length > readingFrom(readers, best).length ? node : best,
  );
}
