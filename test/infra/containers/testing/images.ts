import { IMAGES } from "../../../../infra/containers/images.ts";
import { run } from "../../../../scripts/pack/run.ts";
import { type BaseImages, ensureBaseImages } from "./base-images.ts";
import { docker, ROOT } from "./docker.ts";

export const TAG = "test";

export const imageName = (name: string): string => `localhost/reprise/${name}:${TAG}`;

export interface BuiltImages {
  readonly base: BaseImages;
  readonly revision: string;
}

/** Builds every target of the Dockerfile. The engine does again what has changed only. */
export async function buildImages(): Promise<BuiltImages> {
  const base = await ensureBaseImages();
  const revision = (await run("git", ["rev-parse", "HEAD"], { cwd: ROOT })).stdout.trim();
  const args = [`NODE_IMAGE=${base.NODE_IMAGE}`, `REVISION=${revision}`].flatMap((arg) => [
    "--build-arg",
    arg,
  ]);
  // One after the other: they share all but their last step.
  for (const { name } of IMAGES)
    await docker(["build", "--quiet", ...args, "--target", name, "--tag", imageName(name), "."]);
  return { base, revision };
}
