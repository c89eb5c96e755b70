import { RepriseError } from "@reprise/protocol";

/** The size and the root of a tree: https://c2sp.org/tlog-checkpoint. */
export interface Checkpoint {
  /** Which tree. */
  readonly origin: string;
  readonly size: number;
  /** 32 bytes. */
  readonly root: Uint8Array;
}

/** A note's text: origin, size and root, a line each. */
export function encodeCheckpoint({ origin, size, root }: Checkpoint): string {
  return `${origin}\n${size}\n${Buffer.from(root).toString("base64")}\n`;
}

/** @throws RepriseError `archive_corrupt`; extension lines are not taken */
export function parseCheckpoint(text: string): Checkpoint {
  const [origin, size, root, end, ...rest] = text.split("\n");
  const bytes = Buffer.from(root ?? "", "base64");
  if (
    !origin ||
    !size ||
    !/^(0|[1-9][0-9]{0,15})$/.test(size) ||
    bytes.length !== 32 ||
    bytes.toString("base64") !== root ||
    end !== "" ||
    rest.length > 0
  )
    throw new RepriseError("archive_corrupt", "A checkpoint is malformed.");
  return { origin, size: Number(size), root: bytes };
}
